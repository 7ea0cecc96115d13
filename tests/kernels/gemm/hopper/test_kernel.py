"""Contract: the warp-specialized kernel gives the simple kernel's bits wherever it runs, writes every element
and gives the same bits each time; what it cannot run is said in a sentence, before a launch.
"""

from dataclasses import replace

import pytest
import torch

from fp8core.formats import FORMATS
from fp8core.recipes import RECIPES
from kernels.device import HOPPER, DeviceKind, current_device
from kernels.gemm.blocks import Body
from kernels.gemm.bodies import refusal
from kernels.gemm.hopper.descriptors import into_copy, writable
from kernels.gemm.hopper.refusals import lacking
from kernels.gemm.launch import as_planned, gemm, launch, torch_dtype
from kernels.gemm.meaning import Summation
from kernels.gemm.plan import plan_gemm
from kernels.quantize import QuantizedTensor
from tests.kernels.gemm.hopper.launches import (
    Recorded,
    asked_for,
    bits,
    given_of,
    operands,
    small_operands,
    specialized,
    with_runs_of,
)
from tests.sweeps import some_values

SHAPES = {
    "one step": (64, 128, 128),
    "few": (20, 264, 1000),
    "low": (100, 2056, 1664),
    "odd": (300, 264, 1000),
    "odd rows": (301, 264, 1000),
    "waves": (1028, 2056, 640),
    "turns": (2048, 4104, 1664),
    "deep": (256, 256, 8192),
    "two steps": (1028, 4104, 250),
    "three steps": (2048, 4104, 264),
}


ASKED = asked_for()


@pytest.mark.parametrize(
    ("recipe", "how"), [("deepseek_v3", Summation.RECIPE), ("rowwise", Summation.PROMOTED)]
)
def test_one_step_along_k_is_left_to_the_simple_kernel(recipe, how):
    spec = RECIPES[recipe].fprop
    plan = plan_gemm(spec, (512, 4096, 128), HOPPER, how)
    assert plan.body is Body.SIMPLE
    assert "K has more than one step of 128, and 128 has one" in plan.why
    assert lacking(plan.meaning, (512, 4096, 129), HOPPER) == ""
    assert lacking(plan.meaning, (128, 4096, 128), HOPPER) == "", "a low block"
    for m in (128, 512):
        assert "128 has one" in refusal(Body.PROMOTED_LENT, plan.meaning, (m, 4096, 128), HOPPER)


def test_what_would_wait_for_memory_for_ever_is_refused(monkeypatch):
    _, plans = specialized("deepseek_v3", "fprop", Summation.RECIPE, (260, 256, 320))
    plan = next(plan for plan in plans if plan.body is Body.PROMOTED_LENT)
    with pytest.raises(ValueError, match="need 3 stages or more, got 2 stages"):
        replace(plan, blocks=replace(plan.blocks, stages=2))
    a, b = small_operands("deepseek_v3", "fprop", (260, 256, 128))
    out = torch.zeros(260, 256, dtype=torch.bfloat16, device=a.codes.device)
    monkeypatch.setattr("kernels.gemm.launch.multiplied", lambda operand, *_: operand.operand_codes)
    with pytest.raises(ValueError, match="need K beyond 128, got K = 128"):
        launch(a, b, plan, out, False, DeviceKind.GPU)


def test_a_plan_of_sums_that_its_body_does_not_make_is_refused():
    chained, (of_chained, *_) = specialized("rowwise", "fprop", Summation.FAST, (512, 512, 512))
    promoted, (of_promoted, *_) = specialized("rowwise", "fprop", Summation.PROMOTED, (512, 512, 512))
    with pytest.raises(ValueError, match=r"the chained body leaves all of a sum .*, got .*block 128×256×128"):
        replace(promoted, blocks=of_chained.blocks)
    with pytest.raises(ValueError, match="the promoted bodies do not leave all of a sum"):
        replace(chained, blocks=of_promoted.blocks)
    with pytest.raises(ValueError, match="programs share a block where registers hold its whole sum"):
        replace(of_chained, blocks=replace(of_chained.blocks, split_k=2, persistent=False))


@pytest.mark.parametrize(("m", "strided"), [(20, False), (144, False), (144, True)])
@pytest.mark.parametrize(("recipe", "matmul", "how"), ASKED)
def test_the_launcher_gives_the_kernel_what_its_signature_names(monkeypatch, recipe, matmul, how, m, strided):
    from kernels.gemm.hopper import kernel as specialized_kernel

    names = specialized_kernel.specialized_gemm_kernel.arg_names
    stand_in = Recorded()
    monkeypatch.setattr(specialized_kernel, "specialized_gemm_kernel", stand_in)
    mnk = (m, 256, 320)
    _, plans = specialized(recipe, matmul, how, mnk)
    plan = replace(plans[0], blocks=replace(plans[0].blocks, group=3))
    given = small_operands(recipe, matmul, mnk)
    a, b = as_planned(plan, *given)
    monkeypatch.setattr("kernels.gemm.launch.as_planned", lambda *_: (a, b))
    left, right = (given_of(x, plan) for x in (a, b))
    monkeypatch.setattr("kernels.gemm.launch.multiplied", lambda operand, *_: left if operand is a else right)
    wide = torch.zeros(
        m, 257 if strided else 256, dtype=torch_dtype(plan.meaning.spec.out), device=left.device
    )
    launch(*given, plan, wide[:, -256:], False, DeviceKind.GPU)
    assert stand_in.grid == (plan.programs(m, 256),)
    positional = names[: len(stand_in.arguments)]
    assert set(names) - set(positional) == {name for name in stand_in.constants if name.isupper()}
    given = dict(zip(positional, stand_in.arguments, strict=True))
    assert given["group"] == 3
    assert given["a_desc"].block_shape == list(plan.storage.loaded(m))
    assert given["b_desc"].block_shape == [plan.blocks.block_n, plan.blocks.block_k]
    assert (given["a_desc"].base is left, given["b_desc"].base is right) == (True, True)
    for name, x in (("a_scale_ptr", a), ("b_scale_ptr", b)):
        if isinstance(x, QuantizedTensor) and x.scale.dtype == torch.float32:
            assert given[name].data_ptr() == x.scale.data_ptr()
    assert (given["m"], given["n"], given["k"]) == mnk
    assert given["out_desc"].block_shape == list(plan.storage.out_box)
    written = given["out_desc"].base
    assert written.data_ptr() % 16 == 0
    assert (written.data_ptr() == wide.data_ptr()) == (not strided), "a copy takes what TMA cannot"


@pytest.mark.gpu
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize(("recipe", "matmul", "how"), ASKED)
def test_it_gives_the_simple_kernel_s_bits(recipe, matmul, how, shape, request):
    device = current_device()
    simple, plans = specialized(recipe, matmul, how, SHAPES[shape], device)
    a, b = operands(recipe, matmul, SHAPES[shape], device)
    assert plans
    for plan in some_values(plans, request):
        truth = gemm(a, b, with_runs_of(simple, plan))
        out = torch.full_like(truth, torch.nan)
        gemm(a, b, plan, out=out)
        assert torch.equal(bits(out), bits(truth)), plan.title


@pytest.mark.gpu
@pytest.mark.parametrize("accumulate", [False, True])
def test_d_may_have_any_strides(accumulate):
    device = current_device()
    simple, plans = specialized("deepseek_v3", "wgrad", Summation.RECIPE, (300, 264, 1000), device)
    a, b = operands("deepseek_v3", "wgrad", (300, 264, 1000), device)
    crooked = torch.zeros(300 * 264 + 1, device="cuda")[1:].view(300, 264)  # contiguous, four bytes too far
    for out in (torch.zeros(264, 300, device="cuda").T, torch.zeros(300, 265, device="cuda")[:, 1:], crooked):
        gemm(a, b, plans[0], out=out, accumulate=accumulate)
        assert torch.equal(out.contiguous(), gemm(a, b, simple))


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
    for plan in some_values(plans, request):
        truth = gemm(a, b, with_runs_of(simple, plan), out=start.clone(), accumulate=True)
        assert torch.equal(bits(gemm(a, b, plan, out=start.clone(), accumulate=True)), bits(truth)), (
            plan.title
        )


@pytest.mark.parametrize("accumulate", [False, True], ids=["new", "added"])
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float32], ids=str)
@pytest.mark.parametrize("columns", [1, 7, 16, 1100])
def test_a_d_with_rows_of_any_length_is_written_through_a_copy(columns, dtype, accumulate):
    out = torch.arange(6 * columns, dtype=dtype).reshape(3, 2 * columns)[:, ::2]
    held, given = out.clone(), []

    def launch(copy):
        given.append(copy)
        assert writable(copy)
        assert copy.shape == out.shape
        copy.copy_(copy + 1 if accumulate else torch.full_like(copy, 7))
        return "handle"

    assert not writable(out)
    assert into_copy(launch, out, accumulate) == "handle"
    assert len(given) == 1
    assert torch.equal(out, held + 1 if accumulate else torch.full_like(held, 7))
