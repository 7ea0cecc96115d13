"""Contract of what is compiled ahead: every part of every change; on a GPU nothing is left for the run."""

from dataclasses import replace

import pytest
import torch

from fp8core.linear import MATMULS
from kernels.layer import Float8Linear, ops
from kernels.layer.calls import calling
from kernels.train.job import BF16
from kernels.train.place import this_place
from kernels.train.ready import measure as measures
from kernels.train.ready.job import CALLS, PIECES, ready_jobs
from kernels.train.ready.measure import measure, only
from kernels.train.sizes import ON_CPU, TILE
from kernels.train.variants import VARIANTS
from tests.kernels.cases import WHERE
from tests.kernels.train.small import on_cpu, small_text


def test_every_quantized_layer_of_every_change_is_a_part(tmp_path):
    text = small_text(tmp_path)
    parts = {(one.recipe, one.layer, one.call) for one in ready_jobs(ON_CPU)}
    assert (BF16, PIECES, "") in parts
    for variant in VARIANTS.values():
        model = on_cpu().trainer(replace(variant.job, model=ON_CPU), text).model
        names = {name.rpartition(".")[2] for name in model.quantized()}
        assert {(variant.job.recipe, name, call) for name in names for call in CALLS} <= parts


@pytest.mark.parametrize("call", CALLS)
def test_a_part_makes_its_own_call_alone(call, monkeypatch):
    made = []
    for name in ("gemm", "quantize_both"):
        real = getattr(ops, name)

        def noted(*given, name=name, real=real, **named):
            made.append(name)
            return real(*given, **named)

        monkeypatch.setattr(ops, name, noted)
    layer = Float8Linear(TILE, TILE, bias=False, recipe="mxfp8", device=WHERE)
    x, dy = torch.ones(2, 32, TILE, dtype=torch.bfloat16, device=WHERE)
    with calling(only(call)):
        layer(x.requires_grad_()).backward(dy)
    assert made == ["gemm" if call in MATMULS else "quantize_both"]
    assert x.grad.shape == x.shape


@pytest.mark.gpu
@pytest.mark.usefixtures("one_compiler")
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", ["unscaled_gradients", "head_in_four_bits"])
def test_a_run_compiles_no_kernel_that_its_parts_have_not(name, tmp_path, monkeypatch):
    from triton.runtime.jit import JITFunction

    text, variant = small_text(tmp_path), VARIANTS[name]
    monkeypatch.setattr(measures, "installed_text", lambda: text)
    for part in ready_jobs(ON_CPU):
        if part.recipe == variant.job.recipe:
            measure(part, progress=lambda *told: None, stopped=lambda: False)
    compiled, real = [], JITFunction._do_compile

    def counted(function, *given):
        compiled.append(function.fn.__name__)
        return real(function, *given)

    monkeypatch.setattr(JITFunction, "_do_compile", counted)
    trainer = this_place().trainer(replace(variant.job, model=ON_CPU), text)
    trainer.run(0, 1, 1)
    torch.cuda.synchronize()
    assert compiled == []
