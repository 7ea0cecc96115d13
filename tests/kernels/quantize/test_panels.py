import numpy as np, torch, pytest
from kernels.quantize import meeting, launch, quantize
from tests.kernels.quantize.same_bits import both, assert_same_bits
from fp8core.recipes import RECIPES
from fp8core.linear import MATMULS, Side
from tests.kernels.cases import sample
def test_it(monkeypatch):
    op=next(o for m in MATMULS.values() for s in Side for o in [RECIPES["rowwise"].operand(m,s)] if o.k_is_rows)
    monkeypatch.setattr(meeting,"PANEL",(64,1024)); meeting.plan_panels.cache_clear(); launch.TAPES.forget()
    for shape in ((600,130),(1000,64),(700,33)):
        for kind in ("nan","normal"):
            own,truth=both(sample(kind,shape),op); 
            assert_same_bits(own,truth)
    from kernels.quantize.work import zeros_of_stream
    assert not zeros_of_stream(torch.device("cpu")).any()
