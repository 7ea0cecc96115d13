"""Contract: the warp-specialized kernels give the simple kernel's bits wherever they run: with blocks that
programs share, added into D. They refuse before a launch what they cannot run.
"""

from dataclasses import replace
from itertools import product

import pytest
import torch

from fp8core.formats import FORMATS
from fp8core.linear import MATMULS
from fp8core.recipes import RECIPES
from kernels.device import HOPPER, Unsupported, current_device
from kernels.gemm.blocks import Variant
from kernels.gemm.choose import tries
from kernels.gemm.hopper.blocks import RING_VARIANTS, lacking
from kernels.gemm.launch import gemm
from kernels.gemm.numerics import Summation
from kernels.gemm.plan import plan_built_in, plan_gemm
from kernels.gemm.variants import refusal
from kernels.measure.jobs import GemmJob
from kernels.measure.operands import Operands
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


def specialized(recipe, matmul, how, mnk, device=HOPPER):
    """(the simple plan, plans of every specialized candidate) of a GEMM: none where it is refused."""
    plan = plan_built_in(RECIPES[recipe].spec(MATMULS[matmul]), mnk, device, how)
    if isinstance(plan, Unsupported):
        return plan, []
    every = (blocks for variant in RING_VARIANTS for blocks in tries(variant, plan.numerics, mnk, device))
    return plan, [replace(plan, blocks=blocks) for blocks in every]


def distinct_gemms() -> list:
    """(recipe, matmul, how) of every GEMM that a specialized kernel computes; of those alike, the first."""
    first = {}
    for recipe, matmul, how in product(RECIPES, MATMULS, Summation):
        plan, plans = specialized(recipe, matmul, how, (512, 512, 512))
        if plans:
            name = f"{recipe}-{matmul}-{how.value}"
            first.setdefault(plan.numerics.kernel_key, pytest.param(recipe, matmul, how, id=name))
    return list(first.values())


def with_runs_of(simple, plan):
    """The simple plan with K split as the other has it."""
    return replace(simple, blocks=replace(simple.blocks, split_k=plan.blocks.split_k, persistent=False))


def operands(recipe, matmul, mnk, device):
    m, n, k = mnk
    return Operands.of(GemmJob(recipe=recipe, matmul=matmul, m=m, n=n, k=k), device).quantized()


def bits(out):
    return out.view({2: torch.int16, 4: torch.int32}[out.element_size()])


ASKED = distinct_gemms()


@pytest.mark.parametrize(
    ("recipe", "how"), [("deepseek_v3", Summation.RECIPE), ("rowwise", Summation.PROMOTED)]
)
def test_one_step_along_k_is_left_to_the_simple_kernel(recipe, how):
    spec = RECIPES[recipe].fprop
    plan = plan_gemm(spec, (512, 4096, 128), HOPPER, how)
    assert plan.variant is Variant.SIMPLE
    assert "K has more than one step of 128, and 128 has one" in plan.why
    assert lacking(plan.numerics, (512, 4096, 129), HOPPER) == ""
    assert lacking(plan.numerics, (128, 4096, 128), HOPPER) == "", "a low block"
    for m in (128, 512):
        assert "128 has one" in refusal(Variant.PROMOTED_REUSE, plan.numerics, (m, 4096, 128), HOPPER)


def test_what_would_wait_for_memory_for_ever_is_refused():
    _, plans = specialized("deepseek_v3", "fprop", Summation.RECIPE, (260, 256, 320))
    plan = next(plan for plan in plans if plan.variant is Variant.PROMOTED_REUSE)
    with pytest.raises(ValueError, match="need 3 stages or more, got 2 stages"):
        replace(plan, blocks=replace(plan.blocks, stages=2))


def test_a_plan_of_sums_that_its_body_does_not_make_is_refused():
    chained, (of_chained, *_) = specialized("rowwise", "fprop", Summation.FAST, (512, 512, 512))
    promoted, (of_promoted, *_) = specialized("rowwise", "fprop", Summation.PROMOTED, (512, 512, 512))
    with pytest.raises(ValueError, match=r"chained variant leaves all of a sum .*, got .*block 128×256×128"):
        replace(promoted, blocks=of_chained.blocks)
    with pytest.raises(ValueError, match="the promoted variants do not leave all of a sum"):
        replace(chained, blocks=of_promoted.blocks)
    with pytest.raises(ValueError, match="programs share a block where registers hold its whole sum"):
        replace(of_chained, blocks=replace(of_chained.blocks, split_k=2, persistent=False))


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
    plan, plans = specialized("rowwise", "wgrad", Summation.FAST, (4096, 4096, 4096))
    assert plans == []
    reason = refusal(Variant.CHAINED, plan.numerics, (4096, 4096, 4096), HOPPER)
    assert "keeps half a block as fp32" in reason


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
    "mnk",
    [
        (20, 264, 2000),
        (100, 264, 2000),
        (100, 5136, 2052),
        (200, 264, 2000),
        (300, 264, 2000),
        (2052, 4104, 168),
    ],
)
def test_it_adds_into_d(recipe, how, mnk, request):
    device = current_device()
    simple, plans = specialized(recipe, "wgrad", how, mnk, device)
    assert simple.numerics.spec.out == FORMATS["fp32"]
    a, b = operands(recipe, "wgrad", mnk, device)
    start = torch.randn(mnk[:2], device="cuda")
    for plan in some_values(plans, request):
        truth = gemm(a, b, with_runs_of(simple, plan), out=start.clone(), accumulate=True)
        assert torch.equal(bits(gemm(a, b, plan, out=start.clone(), accumulate=True)), bits(truth)), (
            plan.title
        )


PROMOTED = [
    pytest.param("per_tensor", Summation.PROMOTED, id="per_tensor"),
    pytest.param("rowwise", Summation.PROMOTED, id="rowwise"),
    pytest.param("deepseek_v3", Summation.RECIPE, id="deepseek_v3"),
]
ODD = [
    (20, 264, 4100),
    (100, 5136, 2052),
    (100, 2056, 1664),
    (200, 1032, 4100),
    (256, 264, 8192),
    (33, 1032, 14336),
]
TAKEN = [
    pytest.param(*case.values, mnk, id=f"{case.id}-{mnk}")
    for case, mnk in product(PROMOTED, ODD)
    if case.id != "deepseek_v3" or mnk[0] % 4 == 0  # TMA takes rows of scales that start at 16 bytes
]


@pytest.mark.gpu
@pytest.mark.parametrize(("recipe", "how", "mnk"), TAKEN)
def test_programs_that_share_a_block_give_the_simple_kernel_s_bits_a_hundred_times(recipe, how, mnk, request):
    device = current_device()
    simple, plans = specialized(recipe, "fprop", how, mnk, device)
    a, b = operands(recipe, "fprop", mnk, device)
    shared = [plan for plan in plans if plan.blocks.split_k > 1]
    assert shared
    for plan in some_values(shared, request):
        truth = gemm(a, b, with_runs_of(simple, plan))
        out = torch.empty_like(truth)
        differing = sum(
            not torch.equal(bits(gemm(a, b, plan, out=out.fill_(torch.nan))), bits(truth)) for _ in range(100)
        )
        assert differing == 0, plan.title
