"""Contract: the warp-specialized kernel gives the simple kernel's bits wherever it runs, writes every element
and gives the same bits each time; what it cannot run is said in a sentence, before a launch.
"""

from dataclasses import replace
from itertools import product
from math import prod

import pytest
import torch

from fp8core.formats import FORMATS
from fp8core.linear import MATMULS
from fp8core.recipes import RECIPES
from fp8core.tiles import WHOLE, TileShape
from kernels.device import ADA, HOPPER, DeviceKind, current_device
from kernels.gemm.blocks import Schedule
from kernels.gemm.hopper.blocks import lacking
from kernels.gemm.hopper.launch import body, constants
from kernels.gemm.hopper.sizes import CONSUMERS, LENT_STAGES, PARTS_UNDER_WAY
from kernels.gemm.hopper.storage import buffers, end_scale_bytes, loaded_rows, out_box, stage_bytes
from kernels.gemm.launch import as_planned, gemm, launch, torch_dtype
from kernels.gemm.meaning import Arithmetic, ScaleAt, Summation
from kernels.gemm.plan import GemmPlan, plan_built_in, plan_gemm
from kernels.tune.candidates import coarse
from tests.kernels.gemm.hopper.launches import (
    Recorded,
    bits,
    operands,
    small_operands,
    specialized,
    with_runs_of,
)

SHAPES = {
    "one step": (64, 128, 128),
    "few": (20, 264, 1000),
    "low": (100, 2056, 1664),
    "odd": (300, 264, 1000),
    "waves": (1028, 2056, 640),
    "turns": (2048, 4104, 1664),
    "deep": (256, 256, 8192),
    "two steps": (1028, 4104, 250),
    "three steps": (2048, 4104, 264),
}


ASKED = [
    pytest.param(recipe, matmul, how, id=f"{recipe}-{matmul}-{how.value}")
    for recipe, matmul, how in product(RECIPES, MATMULS, Summation)
    if specialized(recipe, matmul, how, (512, 512, 512))[1]
]


@pytest.mark.parametrize(("recipe", "matmul", "how"), ASKED)
@pytest.mark.parametrize("m", [16, 64, 68, 128, 132, 4096])
def test_every_candidate_fits_shared_memory_with_its_ring_and_its_slabs(recipe, matmul, how, m):
    _, plans = specialized(recipe, matmul, how, (m, 4096, 4096))
    promoted = plans[0].promotion is not WHOLE
    few = {16: {64}, 64: {64}, 68: {64, 128}, 128: {64, 128}, 132: {64, 128, 256}}
    assert {plan.block_m for plan in plans} == (few.get(m, {256}) if promoted else {128})
    assert len({plan.blocks for plan in plans}) == len(plans)
    assert len([plan for plan in plans if plan.block_m == 256]) in (0, 6, 8)
    assert all(promoted != (plan.block_n == 256) for plan in plans)
    for plan in plans:
        each = stage_bytes(plan.spec, plan.scale_at, plan.block_m, plan.block_n)
        parts = 2 * buffers(plan.spec, plan.scale_at, plan.promotion, plan.blocks, HOPPER.shared_memory_bytes)
        part = prod(out_box(plan.block_m, plan.block_n)) * plan.spec.out.bytes
        assert plan.block_n != 256 or parts == CONSUMERS * PARTS_UNDER_WAY
        scales = end_scale_bytes(plan.scale_at, plan.block_m, plan.block_n)
        used = plan.blocks.stages * each + parts * part + scales
        assert used + 16 * plan.blocks.stages <= HOPPER.shared_memory_bytes
        assert plan.blocks.stages >= (2 if parts else LENT_STAGES)
        assert constants(plan, 4096, accumulate=False)["BODY"] == body(plan)
        assert body(plan).startswith("promoted" if promoted else "chained")


@pytest.mark.parametrize(("m", "rows"), [(1, 16), (16, 16), (17, 32), (33, 64), (64, 64), (65, 128)])
def test_a_low_block_loads_the_rows_that_there_are(m, rows):
    _, plans = specialized("rowwise", "fprop", Summation.PROMOTED, (m, 4096, 4096))
    assert max(loaded_rows(plan.blocks, m) for plan in plans) == rows
    _, (tall, *_) = specialized("rowwise", "fprop", Summation.PROMOTED, (300, 4096, 4096))
    assert loaded_rows(tall.blocks, m) == tall.block_m


def test_a_promoted_d_of_bf16_takes_no_memory_from_the_ring():
    _, plans = specialized("deepseek_v3", "fprop", Summation.RECIPE, (4096, 4096, 4096))
    memory = HOPPER.shared_memory_bytes
    facts = [(buffers(p.spec, p.scale_at, p.promotion, p.blocks, memory), p.blocks.stages) for p in plans]
    assert facts == [(0, 4), (0, 3)] * 3
    _, plans = specialized("deepseek_v3", "wgrad", Summation.RECIPE, (4096, 4096, 4096))
    assert all(buffers(p.spec, p.scale_at, p.promotion, p.blocks, memory) for p in plans), (
        "fp32, twice as much"
    )


@pytest.mark.parametrize(
    ("recipe", "how"), [("deepseek_v3", Summation.RECIPE), ("rowwise", Summation.PROMOTED)]
)
def test_one_step_along_k_is_left_to_the_simple_kernel(recipe, how):
    spec = RECIPES[recipe].fprop
    plan = plan_gemm(spec, (512, 4096, 128), HOPPER, how)
    assert plan.schedule is Schedule.SIMPLE
    assert "K has more than one step of 128, and 128 has one" in plan.why
    assert lacking(spec, plan.kernel, plan.scale_at, plan.promotion, (512, 4096, 129)) == ""
    assert lacking(spec, plan.kernel, plan.scale_at, plan.promotion, (128, 4096, 128)) == "", "a low block"


@pytest.mark.parametrize(("k", "stages"), [(128, 4), (320, 2)])
def test_the_launcher_refuses_what_would_wait_for_memory_for_ever(monkeypatch, k, stages):
    _, plans = specialized("deepseek_v3", "fprop", Summation.RECIPE, (260, 256, 320))
    plan = replace(plans[0], blocks=replace(plans[0].blocks, stages=stages))
    a, b = small_operands("deepseek_v3", "fprop", (260, 256, k))
    monkeypatch.setattr("kernels.gemm.launch._multiplied", lambda operand, *_: operand.operand_codes)
    out = torch.zeros(260, 256, dtype=torch.bfloat16, device=a.codes.device)
    with pytest.raises(ValueError, match=f"got K = {k} and {stages} stages"):
        launch(a, b, plan, out, (260, 256, k), False, DeviceKind.GPU)


@pytest.mark.parametrize(
    ("mnk", "word"), [((512, 100, 512), "100 numbers"), ((510, 512, 512), "510 and 512 scales")]
)
def test_rows_that_tma_cannot_start_are_refused(mnk, word):
    spec = RECIPES["deepseek_v3"].wgrad if word.startswith("510") else RECIPES["rowwise"].fprop
    at = ScaleAt.K_LOOP if word.startswith("510") else ScaleAt.EPILOGUE
    assert word in lacking(spec, Arithmetic.FP8, at, 128, mnk)


def test_a_chained_sum_leaves_as_bf16():
    spec = RECIPES["rowwise"].wgrad
    assert spec.out == FORMATS["fp32"]
    reason = lacking(spec, Arithmetic.FP8, ScaleAt.EPILOGUE, WHOLE, (4096, 4096, 4096))
    assert reason.endswith("as bf16, not fp32")
    plan = plan_gemm(spec, (4096, 4096, 4096), HOPPER, Summation.FAST)
    assert plan.schedule is Schedule.SIMPLE
    assert reason in plan.why


def test_other_promotions_and_tiles_are_refused():
    spec = RECIPES["deepseek_v3"].fprop
    assert "every 128 products or never" in lacking(spec, Arithmetic.FP8, ScaleAt.K_LOOP, 64, (512, 512, 512))
    tall = replace(spec, a=replace(spec.a, tile=TileShape(64, 128)))
    assert "no loop for tiles" in lacking(tall, Arithmetic.FP8, ScaleAt.K_LOOP, 128, (512, 512, 512))
    wide = replace(spec, a=replace(spec.a, tile=TileShape(64, WHOLE)))
    assert "one scale a row" in lacking(wide, Arithmetic.FP8, ScaleAt.EPILOGUE, 128, (512, 512, 512))


def test_a_gpu_without_wgmma_has_no_specialized_candidates():
    plan = plan_built_in(RECIPES["rowwise"].fprop, (4096, 4096, 4096), ADA, Summation.FAST)
    assert {blocks.schedule for blocks in coarse(plan, (4096, 4096, 4096), ADA)} == {Schedule.SIMPLE}


def test_the_plan_says_why_the_simple_kernel_runs():
    plan = plan_gemm(RECIPES["rowwise"].fprop, (512, 100, 512), HOPPER, Summation.FAST)
    assert plan.schedule is Schedule.SIMPLE
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
    values = {Arithmetic.DEQUANTIZED: torch.bfloat16}
    left, right = (x.operand_codes.to(values.get(plan.kernel, x.codes.dtype)) for x in (a, b))
    monkeypatch.setattr(
        "kernels.gemm.launch._multiplied", lambda operand, *_: left if operand is a else right
    )
    wide = torch.zeros(m, 257 if strided else 256, dtype=torch_dtype(plan.spec.out), device=left.device)
    launch(*given, plan, wide[:, -256:], mnk, False, DeviceKind.GPU)
    assert stand_in.grid == (plan.programs(m, 256),)
    positional = names[: len(stand_in.arguments)]
    assert set(names) - set(positional) == {name for name in stand_in.constants if name.isupper()}
    assert stand_in.constants["GROUP"] == 3
    given = dict(zip(positional, stand_in.arguments, strict=True))
    assert given["a_desc"].block_shape == [loaded_rows(plan.blocks, m), plan.block_k]
    assert given["b_desc"].block_shape == [plan.block_n, plan.block_k]
    assert (given["a_desc"].base is left, given["b_desc"].base is right) == (True, True)
    assert (given["a_scale_ptr"] is a.scale, given["b_scale_ptr"] is b.scale) == (True, True)
    assert (given["m"], given["n"], given["k"]) == mnk
    assert given["out_desc"].block_shape == list(out_box(plan.block_m, plan.block_n))
    written = given["out_desc"].base
    assert written.data_ptr() % 16 == 0
    assert (written.data_ptr() == wide.data_ptr()) == (not strided), "a copy takes what TMA cannot"


def test_a_contiguous_d_that_starts_askew_is_added_into_by_a_copy(monkeypatch):
    from kernels.gemm.hopper import kernel as specialized_kernel

    class AddsOne:
        def __getitem__(self, grid):
            return lambda *arguments, **constants: arguments[4].base.add_(1.0)

    monkeypatch.setattr(specialized_kernel, "specialized_gemm_kernel", AddsOne())
    mnk = (144, 256, 320)
    _, plans = specialized("rowwise", "wgrad", Summation.RECIPE, mnk)
    a, b = small_operands("rowwise", "wgrad", mnk)
    monkeypatch.setattr("kernels.gemm.launch._multiplied", lambda operand, *_: operand.operand_codes)
    askew = torch.full((144 * 256 + 1,), 2.0, device=a.codes.device)[1:].view(144, 256)
    launch(a, b, plans[0], askew, mnk, True, DeviceKind.GPU)
    assert askew.unique().tolist() == [3.0]


@pytest.mark.gpu
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize(("recipe", "matmul", "how"), ASKED)
def test_it_gives_the_simple_kernel_s_bits(recipe, matmul, how, shape):
    device = current_device()
    simple, plans = specialized(recipe, matmul, how, SHAPES[shape], device)
    a, b = operands(recipe, matmul, SHAPES[shape], device)
    assert plans
    for plan in plans:
        truth = gemm(a, b, with_runs_of(simple, plan))
        out = torch.full_like(truth, torch.nan)
        gemm(a, b, plan, out=out)
        assert torch.equal(bits(out), bits(truth)), plan.title


@pytest.mark.gpu
@pytest.mark.parametrize("recipe", ["per_tensor", "rowwise", "deepseek_v3"])
@pytest.mark.parametrize("m", [20, 100, 200, 300])
def test_it_adds_into_d(recipe, m):
    device = current_device()
    mnk = (m, 264, 2000)
    how = Summation.RECIPE
    simple, plans = specialized(recipe, "wgrad", how, mnk, device)
    assert simple.spec.out == FORMATS["fp32"]
    a, b = operands(recipe, "wgrad", mnk, device)
    start = torch.randn(m, 264, device="cuda")
    for plan in plans:
        truth = gemm(a, b, with_runs_of(simple, plan), out=start.clone(), accumulate=True)
        assert torch.equal(bits(gemm(a, b, plan, out=start.clone(), accumulate=True)), bits(truth)), (
            plan.title
        )


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
    a, b = operands(recipe, matmul, mnk, device)
    first = gemm(a, b, plans[0])
    out = torch.empty(mnk[:2], dtype=torch_dtype(plans[0].spec.out), device="cuda")
    differing = sum(
        not torch.equal(bits(gemm(a, b, plans[0], out=out.fill_(torch.nan))), bits(first)) for _ in range(100)
    )
    assert differing == 0
