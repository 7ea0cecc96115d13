"""Contract: the warp-specialized kernel gives the simple kernel's bits wherever it runs, writes every element
and gives the same bits each time; what it cannot run is said in a sentence, before a launch.
"""

from dataclasses import replace

import pytest
import torch

from fp8core.linear import MATMULS
from fp8core.recipes import RECIPES
from fp8core.tiles import WHOLE, TileShape
from kernels.device import ADA, HOPPER, DeviceKind, current_device
from kernels.gemm.blocks import Body
from kernels.gemm.bodies import refusal
from kernels.gemm.hopper.launch import constants
from kernels.gemm.hopper.refusals import lacking
from kernels.gemm.hopper.sizes import LENT_STAGES, PARTS_UNDER_WAY
from kernels.gemm.launch import as_planned, gemm, launch, torch_dtype
from kernels.gemm.meaning import ScaleAt, Summation
from kernels.gemm.plan import GemmPlan, plan_built_in, plan_gemm
from kernels.quantize import QuantizedTensor
from kernels.tune.candidates import coarse
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
from tests.sweeps import drawn

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


@pytest.mark.parametrize(("recipe", "matmul", "how"), ASKED)
@pytest.mark.parametrize("m", [16, 64, 68, 128, 132, 4096])
def test_every_candidate_fits_shared_memory_with_its_ring_and_its_slabs(recipe, matmul, how, m):
    _, plans = specialized(recipe, matmul, how, (m, 4096, 4096))
    promoted = plans[0].meaning.promotion is not WHOLE
    low = {16: {64}, 64: {64}, 68: {64, 128}, 128: {64, 128}, 132: {64, 128, 192, 256}}
    heights = {plan.blocks.block_m for plan in plans}
    assert heights == low.get(m, {192, 256}) if promoted else {128} <= heights <= {64, 128, 192, 256}
    assert len({plan.blocks for plan in plans}) == len(plans)
    widths = {plan.blocks.block_n for plan in plans}
    assert widths == {128} if promoted else {256} <= widths <= {64, 128, 256}
    for plan in plans:
        assert plan.body is not Body.CHAINED or plan.storage.buffers == PARTS_UNDER_WAY
        assert plan.storage.bytes <= HOPPER.shared_memory_bytes
        assert plan.blocks.stages >= (2 if plan.storage.buffers else LENT_STAGES)
        assert constants(plan, 4096, accumulate=False)["BODY"] == plan.body.value
        assert plan.body.value.startswith("promoted" if promoted else "chained")


@pytest.mark.parametrize(("m", "rows"), [(1, 16), (16, 16), (17, 32), (33, 64), (64, 64), (65, 128)])
def test_a_low_block_loads_the_rows_that_there_are(m, rows):
    _, plans = specialized("rowwise", "fprop", Summation.PROMOTED, (m, 4096, 4096))
    assert max(plan.storage.loaded(m)[0] for plan in plans) == rows
    _, plans = specialized("rowwise", "fprop", Summation.PROMOTED, (300, 4096, 4096))
    boxes = {plan.blocks.block_m: plan.storage.loaded(m)[0] for plan in plans if plan.blocks.block_m > 128}
    assert boxes == {192: 64, 256: 256}, "TMA's boxes are powers of two: three slabs come one by one"


def test_a_promoted_d_of_bf16_takes_no_memory_from_the_ring():
    _, plans = specialized("deepseek_v3", "fprop", Summation.RECIPE, (4096, 4096, 4096))
    two_slabs = [plan for plan in plans if plan.blocks.block_m == 256]
    assert [(p.body, p.storage.buffers, p.blocks.stages) for p in two_slabs] == [
        (Body.PROMOTED_LENT, 0, 4),
        (Body.PROMOTED_LENT, 0, 3),
    ] * 4
    _, plans = specialized("deepseek_v3", "wgrad", Summation.RECIPE, (4096, 4096, 4096))
    assert {plan.body for plan in plans} == {Body.PROMOTED, Body.PROMOTED_THREE}, "fp32, twice as much"
    assert all(plan.storage.buffers for plan in plans)


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


@pytest.mark.parametrize(
    ("recipe", "matmul", "mnk", "word"),
    [
        ("rowwise", "fprop", (512, 100, 512), "100 numbers"),
    ],
)
def test_rows_that_tma_cannot_start_are_refused(recipe, matmul, mnk, word):
    plan, found = specialized(recipe, matmul, Summation.RECIPE, mnk)
    assert word in lacking(plan.meaning, mnk, HOPPER)
    assert found == []


@pytest.mark.parametrize("m", [1, 89, 198, 397])
def test_rows_of_scales_that_tma_cannot_start_rule_nothing_out(m):
    """They are copied first, and the cost model counts the copy."""
    _, found = specialized("deepseek_v3", "fprop", Summation.RECIPE, (m, 512, 512))
    assert found


def test_other_promotions_and_tiles_are_refused():
    mnk = (512, 512, 512)
    made = plan_built_in(RECIPES["deepseek_v3"].fprop, mnk, HOPPER, Summation.RECIPE).meaning
    assert "every 128 products or never" in lacking(replace(made, promotion=64), mnk, HOPPER)
    tall, wide = (
        replace(made.spec, a=replace(made.spec.a, tile=tile))
        for tile in (TileShape(64, 128), TileShape(64, WHOLE))
    )
    assert "no loop for tiles" in lacking(replace(made, spec=tall), mnk, HOPPER)
    at_end = replace(made, spec=wide, scale_at=ScaleAt.EPILOGUE)
    assert "one scale a row" in lacking(at_end, mnk, HOPPER)


def test_a_plan_of_sums_that_its_body_does_not_make_is_refused():
    chained, (of_chained, *_) = specialized("rowwise", "fprop", Summation.FAST, (512, 512, 512))
    promoted, (of_promoted, *_) = specialized("rowwise", "fprop", Summation.PROMOTED, (512, 512, 512))
    with pytest.raises(ValueError, match=r"the chained body leaves all of a sum .*, got .*block 128×256×128"):
        replace(promoted, blocks=of_chained.blocks)
    with pytest.raises(ValueError, match="the promoted bodies do not leave all of a sum"):
        replace(chained, blocks=of_promoted.blocks)
    with pytest.raises(ValueError, match="programs share a block where registers hold its whole sum"):
        replace(of_chained, blocks=replace(of_chained.blocks, split_k=2, persistent=False))


def test_a_gpu_without_wgmma_has_no_specialized_candidates():
    plan = plan_built_in(RECIPES["rowwise"].fprop, (4096, 4096, 4096), ADA, Summation.FAST)
    assert {blocks.body for blocks in coarse(plan, (4096, 4096, 4096), ADA)} == {Body.SIMPLE}


def test_the_plan_says_why_the_simple_kernel_runs():
    plan = plan_gemm(RECIPES["rowwise"].fprop, (512, 100, 512), HOPPER, Summation.FAST)
    assert plan.body is Body.SIMPLE
    assert "as TMA needs, so the simple kernel runs" in plan.why


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


@pytest.mark.parametrize("matmul", ["fprop", "wgrad"])
def test_scales_are_copied_where_their_rows_do_not_start_at_16_bytes(monkeypatch, matmul):
    """Scales of squares are not: they are loaded one by one."""
    from kernels.gemm.hopper import kernel as specialized_kernel

    names, stand_in = specialized_kernel.specialized_gemm_kernel.arg_names, Recorded()
    monkeypatch.setattr(specialized_kernel, "specialized_gemm_kernel", stand_in)
    monkeypatch.setattr("kernels.gemm.launch.multiplied", lambda operand, *_: operand.operand_codes)
    mnk = (301, 136, 320)
    _, (plan, *_) = specialized("deepseek_v3", matmul, Summation.RECIPE, mnk)
    a, b = small_operands("deepseek_v3", matmul, mnk)
    out = torch.zeros(mnk[:2], dtype=torch_dtype(plan.meaning.spec.out), device=a.codes.device)
    launch(a, b, plan, out, False, DeviceKind.GPU)
    given = dict(zip(names, stand_in.arguments, strict=False))
    assert given["a_mn_tiles"] == given["a_scale_ptr"].stride(0) == 304
    assert torch.equal(given["a_scale_ptr"], a.operand_scale.T)
    assert given["a_scale_desc"].shape == [2 * 304 + 301]
    assert given["b_mn_tiles"] == b.operand_scale.shape[0]
    assert given["b_scale_ptr"].data_ptr() == b.scale.data_ptr()


def test_a_contiguous_d_that_starts_askew_is_added_into_by_a_copy(monkeypatch):
    from kernels.gemm.hopper import kernel as specialized_kernel

    class AddsOne:
        def __getitem__(self, grid):
            return lambda *arguments, **constants: arguments[4].base.add_(1.0)

    monkeypatch.setattr(specialized_kernel, "specialized_gemm_kernel", AddsOne())
    mnk = (144, 256, 320)
    _, plans = specialized("rowwise", "wgrad", Summation.RECIPE, mnk)
    a, b = small_operands("rowwise", "wgrad", mnk)
    monkeypatch.setattr("kernels.gemm.launch.multiplied", lambda operand, *_: operand.operand_codes)
    askew = torch.full((144 * 256 + 1,), 2.0, device=a.codes.device)[1:].view(144, 256)
    launch(a, b, plans[0], askew, True, DeviceKind.GPU)
    assert askew.unique().tolist() == [3.0]


@pytest.mark.gpu
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize(("recipe", "matmul", "how"), ASKED)
def test_it_gives_the_simple_kernel_s_bits(recipe, matmul, how, shape, request):
    device = current_device()
    simple, plans = specialized(recipe, matmul, how, SHAPES[shape], device)
    a, b = operands(recipe, matmul, SHAPES[shape], device)
    assert plans
    for plan in drawn(plans, request):
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


@pytest.mark.gpu
@pytest.mark.parametrize("how", [Summation.FAST, Summation.PROMOTED], ids=lambda how: how.value)
@pytest.mark.parametrize("matmul", ["fprop", "wgrad"])
@pytest.mark.parametrize("recipe", ["rowwise", "deepseek_v3", "mxfp8"])
def test_a_hundred_runs_give_the_same_bits(recipe, matmul, how):
    device = current_device()
    mnk = (2048, 4104, 1536)
    if not isinstance(plan_built_in(RECIPES[recipe].spec(MATMULS[matmul]), mnk, device, how), GemmPlan):
        how = Summation.RECIPE
    _, plans = specialized(recipe, matmul, how, mnk, device)
    if not plans:
        pytest.skip("no registers are left for column scales, so the simple kernel runs")
    a, b = operands(recipe, matmul, mnk, device)
    first = gemm(a, b, plans[0])
    out = torch.empty(mnk[:2], dtype=torch_dtype(plans[0].meaning.spec.out), device="cuda")
    differing = sum(
        not torch.equal(bits(gemm(a, b, plans[0], out=out.fill_(torch.nan))), bits(first)) for _ in range(100)
    )
    assert differing == 0
