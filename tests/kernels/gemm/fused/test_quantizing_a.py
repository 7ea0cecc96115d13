"""Contract: a GEMM that quantizes its own A gives the bits of gemm(quantize(A), B)."""

from dataclasses import replace
from itertools import product

import pytest
import torch

from fp8core.recipes import RECIPES, Operand
from fp8core.tiles import TileShape
from kernels.device import HOPPER, Unsupported, current_device
from kernels.gemm import gemm
from kernels.gemm.blocks import Body
from kernels.gemm.fused import gemm_quantizing_a
from kernels.gemm.fused.quantizing import candidates, plan_quantizing
from kernels.gemm.hopper.storage import filled, ring
from kernels.gemm.meaning import Summation
from kernels.gemm.plan import plan_gemm
from kernels.quantize import quantize
from tests.kernels.cases import ON_GPU, WHERE, sample

RECIPE = ("deepseek_v3", "mxfp8", "deepseek_v3_pow2", "mxfp8_floor")
MNK = ((70, 136, 200), (128, 256, 256))
PROBLEMS = [("deepseek_v3", MNK[0]), ("deepseek_v3_pow2", MNK[1]), ("mxfp8", MNK[0]), ("mxfp8_floor", MNK[1])]
if ON_GPU:
    MNK += (
        (1, 136, 4096),
        (16, 520, 1024),
        (300, 264, 1000),
        (1028, 2056, 640),
        (2048, 4104, 1664),
        (64, 4096, 4096),
    )
    PROBLEMS += [(recipe, mnk) for recipe, mnk in product(RECIPE[:2], MNK) if (recipe, mnk) not in PROBLEMS]


def problem(recipe: str, mnk: tuple[int, int, int], name: str = "gaussian"):
    """(x in bf16, x quantized, B quantized, spec)."""
    (m, n, k), spec = mnk, RECIPES[recipe].fprop
    x = torch.from_numpy(sample(name, (m, k), 1)).to(WHERE, torch.bfloat16)
    w = torch.from_numpy(sample("gaussian", (n, k), 2)).to(WHERE, torch.bfloat16)
    a, b = (quantize(each, Operand(spec=of, k_is_rows=False)) for each, of in ((x, spec.a), (w, spec.b)))
    return x, a, b, spec


def assert_alike(got: torch.Tensor, wanted: torch.Tensor) -> None:
    assert torch.equal(got.isnan(), wanted.isnan())
    assert torch.equal(got.nan_to_num(0.0).view(torch.int16), wanted.nan_to_num(0.0).view(torch.int16))


def summing_alike(plan):
    """A plan of a plain kernel that sums in the order of one that quantizes."""
    if plan.body.is_simple:
        return plan
    blocks = replace(plan.blocks, block_n=128 if plan.body is Body.PROMOTED_FEW_ROWS else plan.blocks.block_n)
    made = replace(plan, blocks=replace(blocks, stages=3))
    return replace(
        made, blocks=filled(made.blocks, ring(made.meaning, made.blocks), HOPPER.shared_memory_bytes)
    )


@pytest.mark.parametrize(("recipe", "mnk"), PROBLEMS)
def test_the_bits_are_those_of_two_kernels(recipe, mnk):
    x, a, b, spec = problem(recipe, mnk)
    plan = plan_quantizing(spec, mnk, current_device())
    out = torch.full(mnk[:2], torch.nan, dtype=torch.bfloat16, device=WHERE)
    assert gemm_quantizing_a(x, b, plan, out=out) is out
    assert_alike(out, gemm(a, b, summing_alike(plan)))


@pytest.mark.gpu
@pytest.mark.parametrize("mnk", [(520, 1032, 1160), (40, 520, 2048), (100, 4104, 512)], ids=str)
@pytest.mark.parametrize("recipe", RECIPE[:2])
def test_every_block_gives_these_bits(recipe, mnk):
    x, a, b, spec = problem(recipe, mnk)
    plan = plan_quantizing(spec, mnk, current_device())
    for blocks in candidates(plan.meaning, mnk, current_device()):
        one = replace(plan, blocks=blocks)
        for _ in range(3):
            assert_alike(gemm_quantizing_a(x, b, one), gemm(a, b, summing_alike(one)))


@pytest.mark.parametrize("name", ["nan", "inf", "zeros", "wide", "large"] if ON_GPU else ["inf"])
@pytest.mark.parametrize("recipe", RECIPE[:2])
def test_what_is_broken_is_broken_alike(recipe, name):
    mnk = (300, 392, 264) if ON_GPU else (70, 136, 136)
    x, a, b, spec = problem(recipe, mnk, name)
    plan = plan_quantizing(spec, mnk, current_device())
    assert_alike(gemm_quantizing_a(x, b, plan), gemm(a, b, summing_alike(plan)))


def test_an_x_of_any_strides_is_taken():
    x, _, b, spec = problem("deepseek_v3", MNK[0])
    turned = x.T.contiguous().T
    assert_alike(gemm_quantizing_a(turned, b, spec), gemm_quantizing_a(x, b, spec))


@pytest.mark.parametrize("mnk", [(0, 128, 128), (16, 128, 0)], ids=str)
def test_nothing_to_multiply_gives_zeros(mnk):
    x, _, b, spec = problem("deepseek_v3", mnk)
    made = gemm_quantizing_a(x, b, spec)
    assert made.shape == mnk[:2]
    assert not made.any()


def test_what_cannot_be_quantized_on_the_way_is_refused():
    words = {
        "per_tensor": "too little for the amax",
        "rowwise": "too little for the amax",
        "mxfp4": "not to e2m1",
        "mxfp4_train": "nothing to quantize",
    }
    for recipe, said in words.items():
        plan = plan_quantizing(RECIPES[recipe].fprop, (256, 256, 256), HOPPER)
        assert isinstance(plan, Unsupported)
        assert said in plan.reason
    spec = RECIPES["deepseek_v3"].fprop
    lines = replace(spec, b=replace(spec.b, tile=TileShape(1, 128)))
    assert "squares of 128" in plan_quantizing(lines, (256, 256, 256), HOPPER).why
    x, _, b, _ = problem("deepseek_v3", MNK[0])
    with pytest.raises(ValueError, match=r"x is bfloat16 \[M, K\], got float32"):
        gemm_quantizing_a(x.float(), b, spec)
    with pytest.raises(ValueError, match="need one K and one device"):
        gemm_quantizing_a(x[:, :8], b, spec)


def test_a_plain_plan_is_refused():
    x, _, b, spec = problem("deepseek_v3", MNK[0])
    plan = plan_gemm(spec, (4096, 4096, 4096), HOPPER, Summation.RECIPE)
    with pytest.raises(ValueError, match=r"a plan of plan_quantizing is needed, got .*block 256"):
        gemm_quantizing_a(x, b, plan)


@pytest.mark.parametrize("m", [1, 64, 128, 512, 4096])
def test_plans_fit_shared_memory(m):
    for recipe in RECIPE[:2]:
        plan = plan_quantizing(RECIPES[recipe].fprop, (m, 4096, 4096), HOPPER)
        assert not plan.body.is_simple
        assert plan.blocks.stages >= 3
