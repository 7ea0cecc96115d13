"""Contract: a chained sum also leaves as fp32, added into D or not, with the simple kernel's bits; and bf16
operands are read as they lie, whichever way their memory goes.
"""

import pytest
import torch

from fp8core.formats import FORMATS
from fp8core.recipes import RECIPES
from kernels.device import HOPPER, DeviceKind, current_device
from kernels.gemm.blocks import Body
from kernels.gemm.bodies import refusal
from kernels.gemm.launch import gemm, launch
from kernels.gemm.meaning import Summation
from kernels.gemm.plan import plan_gemm
from tests.kernels.gemm.hopper.launches import Recorded, bits, operands, specialized, with_runs_of
from tests.sweeps import drawn


def test_registers_hold_no_column_scales_beside_half_a_block_of_fp32():
    plan, found = specialized("rowwise", "wgrad", Summation.FAST, (4096, 4096, 4096))
    assert found == []
    reason = refusal(Body.CHAINED, plan.meaning, (4096, 4096, 4096), HOPPER)
    assert "keeps half a block as fp32" in reason
    assert reason in plan_gemm(RECIPES["rowwise"].wgrad, (4096, 4096, 4096), HOPPER, Summation.FAST).why


def test_bf16_operands_of_a_wgrad_are_read_as_they_lie(monkeypatch):
    """Both are stored with K down their rows. TMA reads 128 bytes of a row, so blocks come turned."""
    from kernels.gemm.hopper import kernel as specialized_kernel

    stand_in = Recorded()
    monkeypatch.setattr(specialized_kernel, "specialized_gemm_kernel", stand_in)
    mnk = (264, 512, 320)
    _, (plan, *_) = specialized("rowwise_hp_wgrad", "wgrad", Summation.RECIPE, mnk)
    dy, x = (torch.zeros(320, columns, dtype=torch.bfloat16) for columns in mnk[:2])
    askew = torch.zeros(320, 513, dtype=torch.bfloat16)[:, 1:]
    out = torch.zeros(mnk[:2])
    for b, turned in ((x.T, True), (torch.zeros(512, 320, dtype=torch.bfloat16), False), (askew.T, False)):
        launch(dy.T, b, plan, out, False, DeviceKind.GPU)
        a_desc, b_desc = stand_in.arguments[:2]
        assert (stand_in.constants["A_TURNED"], stand_in.constants["B_TURNED"]) == (True, turned)
        assert (a_desc.base.data_ptr(), a_desc.block_shape) == (dy.data_ptr(), [64, 128])
        assert b_desc.block_shape == ([64, 256] if turned else [256, 64])
        assert (b_desc.base.data_ptr() == b.data_ptr()) == (b.data_ptr() % 16 == 0)


@pytest.mark.gpu
@pytest.mark.parametrize(
    ("recipe", "how"),
    [
        ("per_tensor", Summation.RECIPE),
        ("rowwise", Summation.RECIPE),
        ("deepseek_v3", Summation.RECIPE),
        ("per_tensor", Summation.FAST),
        ("mxfp8", Summation.RECIPE),
        ("rowwise_hp_wgrad", Summation.RECIPE),
    ],
)
@pytest.mark.parametrize(
    "mnk", [(20, 264, 2000), (100, 264, 2000), (200, 264, 2000), (300, 264, 2000), (2052, 4104, 168)]
)
def test_it_adds_into_d(recipe, how, mnk, request):
    device = current_device()
    simple, plans = specialized(recipe, "wgrad", how, mnk, device)
    assert simple.meaning.spec.out == FORMATS["fp32"]
    a, b = operands(recipe, "wgrad", mnk, device)
    start = torch.randn(mnk[:2], device="cuda")
    for plan in drawn(plans, request):
        truth = gemm(a, b, with_runs_of(simple, plan), out=start.clone(), accumulate=True)
        assert torch.equal(bits(gemm(a, b, plan, out=start.clone(), accumulate=True)), bits(truth)), (
            plan.title
        )
