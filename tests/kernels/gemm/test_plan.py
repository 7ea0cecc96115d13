"""Contract: a plan follows from the spec, the sizes, the device and what is asked for, without a GPU; what
cannot be done is refused in a sentence.
"""

import dataclasses

import pytest

from fp8core.accumulators import ACCUMULATORS
from fp8core.formats import FORMATS
from fp8core.recipes import RECIPES, Family
from fp8core.tiles import WHOLE, TileShape
from kernels.device import BLACKWELL, HOPPER, INTERPRETER, Unsupported
from kernels.gemm.meaning import ScaleAt, Summation
from kernels.gemm.plan import GemmPlan, plan_gemm
from tests.kernels.cases import GEMMS

CUBE = (4096, 4096, 4096)
SCALE_AT = {
    Family.PER_TENSOR: ScaleAt.EPILOGUE,
    Family.PER_ROW: ScaleAt.EPILOGUE,
    Family.BLOCKS: ScaleAt.K_LOOP,
    Family.MX: ScaleAt.OPERANDS,
    Family.TWO_LEVEL: ScaleAt.OPERANDS,
}
by_gemm = pytest.mark.parametrize(("recipe", "matmul"), GEMMS.values(), ids=GEMMS)


def plan(spec, how=Summation.RECIPE, device=HOPPER, mnk=CUBE) -> GemmPlan:
    made = plan_gemm(spec, mnk, device, how)
    assert isinstance(made, GemmPlan), made
    return made


def refusal(spec, how=Summation.RECIPE, device=HOPPER) -> str:
    made = plan_gemm(spec, CUBE, device, how)
    assert isinstance(made, Unsupported)
    return made.reason


def changed(spec, **change):
    """Both operands changed."""
    return dataclasses.replace(
        spec, a=dataclasses.replace(spec.a, **change), b=dataclasses.replace(spec.b, **change)
    )


@by_gemm
def test_the_scale_goes_where_the_geometry_puts_it(recipe, matmul):
    spec = recipe.spec(matmul)
    made = plan(spec)
    if not spec.quantized:
        assert made.meaning.accumulator == ACCUMULATORS["hopper_bf16"]
        assert not made.meaning.scales_at_end
        return
    assert made.meaning.scale_at is SCALE_AT[recipe.family]
    assert made.meaning.accumulator == spec.accumulator
    two_levels = any(operand.scale_rule.outer for operand in spec.quantized)
    assert made.meaning.scales_at_end == (two_levels or made.meaning.scale_at is ScaleAt.EPILOGUE)


@by_gemm
def test_the_interpreter_sums_as_hopper_does(recipe, matmul):
    spec, small = recipe.spec(matmul), (512, 512, 512)
    here, there = (plan(spec, device=device, mnk=small) for device in (INTERPRETER, HOPPER))
    assert (here.meaning.arithmetic, here.meaning.scale_at, here.meaning.promotion) == (
        there.meaning.arithmetic,
        there.meaning.scale_at,
        there.meaning.promotion,
    )
    assert there.meaning.promotion is WHOLE or there.blocks.block_k % here.blocks.block_k == 0


@pytest.mark.parametrize(
    ("mnk", "fits"),
    [
        ((1024, 1024, 1024), True),
        ((384, 1536, 1536), True),
        ((1025, 1024, 1023), False),
        ((8192, 1, 8192), False),
        ((4096, 1, 2048), False),
        ((64, 1536, 1664), False),
    ],
    ids=str,
)
def test_the_interpreter_takes_what_it_does_in_seconds(mnk, fits):
    made = plan_gemm(RECIPES["mxfp8"].fprop, mnk, INTERPRETER, Summation.RECIPE)
    assert isinstance(made, GemmPlan) == fits
    if not fits:
        told = "takes about 1024 × 1024 × 1024 at most, and no matrix larger than 1536 × 1536; got "
        assert f"{told}{mnk[0]} ×" in made.reason


def test_what_cannot_be_done_is_said_in_a_sentence():
    mxfp8, deepseek = RECIPES["mxfp8"].fprop, RECIPES["deepseek_v3"].fprop
    ampere = dataclasses.replace(HOPPER, name="NVIDIA A100", capability=(8, 0))
    assert refusal(deepseek, device=ampere) == (
        "NVIDIA A100 has compute capability 8.0; FP8 tensor cores start at 8.9 (Ada), Hopper is 9.0"
    )
    assert "a scale here changes every 128 along K" in refusal(deepseek, Summation.FAST)
    assert "multiplied as bf16" in refusal(mxfp8, Summation.PROMOTED)
    assert "sums them in fp32" in refusal(mxfp8, Summation.PROMOTED, BLACKWELL)
    assert "writes bf16 or fp32, not fp16" in refusal(dataclasses.replace(deepseek, out=FORMATS["fp16"]))
    assert "codes of at most 8 bits, and A comes as bf16" in refusal(
        changed(deepseek, format=FORMATS["bf16"])
    )
    assert "needs a power of two" in refusal(changed(deepseek, tile=TileShape(1, 96)))
    unsigned = refusal(changed(mxfp8, format=FORMATS["e8m0"]))
    assert "with a sign, not e8m0's" in unsigned, "the quantizer's reason comes before anything runs"
    assert "tiles of 1, 2, 4 … 128 along K, got 96" in refusal(changed(mxfp8, tile=TileShape(1, 96)))
    assert "a scale under an outer one goes onto its codes, and mxint8 times e4m3" in refusal(
        changed(RECIPES["nvfp4_1x16"].fprop, format=FORMATS["mxint8"])
    )
    nested = dataclasses.replace(deepseek, a=dataclasses.replace(deepseek.a, tile=TileShape(1, 192)))
    assert "do not nest" in refusal(nested)
