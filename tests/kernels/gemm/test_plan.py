"""Contract: a plan follows from the spec, the sizes, the device and what is asked for, without a GPU; what
cannot be done is refused in a sentence.
"""

from dataclasses import replace
from types import SimpleNamespace

import pytest

from fp8core.accumulators import ACCUMULATORS
from fp8core.formats import FORMATS
from fp8core.recipes import RECIPES
from fp8core.recipes.short import DEQUANTIZED
from fp8core.tiles import WHOLE, TileShape
from kernels.device import BLACKWELL, HOPPER, INTERPRETER, Unsupported
from kernels.gemm.hopper.items import start_of
from kernels.gemm.numerics import ScaleAt, Summation
from kernels.gemm.plan import GemmPlan, plan_gemm
from tests.kernels.cases import GEMMS

CUBE = (4096, 4096, 4096)
by_gemm = pytest.mark.parametrize(("recipe", "matmul"), GEMMS.values(), ids=GEMMS)


def plan(spec, how=Summation.RECIPE, device=HOPPER, mnk=CUBE) -> GemmPlan:
    result = plan_gemm(spec, mnk, device, how)
    assert isinstance(result, GemmPlan), result
    return result


def refusal(spec, how=Summation.RECIPE, device=HOPPER) -> str:
    result = plan_gemm(spec, CUBE, device, how)
    assert isinstance(result, Unsupported)
    return result.reason


def changed(spec, **change):
    """Both operands changed."""
    return replace(spec, a=replace(spec.a, **change), b=replace(spec.b, **change))


@by_gemm
def test_the_scale_goes_where_the_geometry_puts_it(recipe, matmul):
    spec = recipe.spec(matmul)
    result = plan(spec)
    if not spec.quantized:
        assert result.numerics.accumulator == ACCUMULATORS["hopper_bf16"]
        assert not result.numerics.scales_at_end
        return
    if all(operand.tile.k is WHOLE for operand in spec.quantized):
        expected = ScaleAt.EPILOGUE
    else:
        expected = ScaleAt.OPERANDS if spec.accumulator is DEQUANTIZED else ScaleAt.K_LOOP
    assert result.numerics.scale_at is expected
    assert result.numerics.accumulator == spec.accumulator
    two_levels = any(operand.scale_rule.outer for operand in spec.quantized)
    assert result.numerics.scales_at_end == (two_levels or result.numerics.scale_at is ScaleAt.EPILOGUE)


@by_gemm
def test_the_interpreter_sums_as_hopper_does(recipe, matmul):
    spec, small = recipe.spec(matmul), (512, 512, 512)
    here, there = (plan(spec, device=device, mnk=small) for device in (INTERPRETER, HOPPER))
    assert (here.numerics.arithmetic, here.numerics.scale_at, here.numerics.promotion) == (
        there.numerics.arithmetic,
        there.numerics.scale_at,
        there.numerics.promotion,
    )
    assert there.numerics.promotion is WHOLE or there.blocks.block_k % here.blocks.block_k == 0


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
    result = plan_gemm(RECIPES["mxfp8"].fprop, mnk, INTERPRETER, Summation.RECIPE)
    assert isinstance(result, GemmPlan) == fits
    if not fits:
        sentence = "takes about 1024 × 1024 × 1024 at most, and no matrix larger than 1536 × 1536; got "
        assert f"{sentence}{mnk[0]} ×" in result.reason


def test_what_cannot_be_done_is_said_in_a_sentence():
    mxfp8, deepseek = RECIPES["mxfp8"].fprop, RECIPES["deepseek_v3"].fprop
    ampere = replace(HOPPER, name="NVIDIA A100", capability=(8, 0))
    assert refusal(deepseek, device=ampere) == (
        "NVIDIA A100 has compute capability 8.0; FP8 tensor cores start at 8.9 (Ada), Hopper is 9.0"
    )
    assert "a scale here changes every 128 along K" in refusal(deepseek, Summation.FAST)
    assert "multiplied as bf16" in refusal(mxfp8, Summation.PROMOTED)
    assert "sums them in fp32" in refusal(mxfp8, Summation.PROMOTED, BLACKWELL)
    assert "writes bf16 or fp32, not fp16" in refusal(replace(deepseek, out=FORMATS["fp16"]))
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
    nested = replace(deepseek, a=replace(deepseek.a, tile=TileShape(1, 192)))
    assert "do not nest" in refusal(nested)


SIDES = [(128, 256), (256, 128), (128, 128), (64, 128), (128, 16)]
GRIDS = [(16, 32), (32, 16), (16, 112), (5, 7), (1, 9), (9, 1), (1, 1), (33, 3)]


def order(sides, grid, group, beyond=8, within=False):
    """(first row, first column) of a program's block for each program, as the kernel computes them. beyond:
    rows and columns of the last blocks that D does not have.
    """
    facts = SimpleNamespace(BLOCK_M=sides[0], BLOCK_N=sides[1], GROUP=group, WITHIN_M=within, WITHIN_N=within)
    m, n = (sides[0] * grid[0] - beyond, sides[1] * grid[1] - beyond)
    return [start_of.fn(program, m, n, facts) for program in range(grid[0] * grid[1])]


@pytest.mark.parametrize("group", [1, 2, 8, 16, 32])
@pytest.mark.parametrize("grid", GRIDS, ids=str)
@pytest.mark.parametrize("sides", SIDES, ids=str)
def test_every_block_of_d_has_one_program(sides, grid, group):
    expected = [(row * sides[0], column * sides[1]) for row in range(grid[0]) for column in range(grid[1])]
    assert sorted(order(sides, grid, group)) == expected


@pytest.mark.parametrize("group", [8, 16, 32])
@pytest.mark.parametrize("grid", [(32, 64), (64, 32)], ids=str)
@pytest.mark.parametrize("sides", SIDES, ids=str)
def test_neighbors_share_the_larger_of_the_blocks_that_they_load(sides, grid, group):
    of_a, of_b = (list(places) for places in zip(*order(sides, grid, group), strict=True))
    shared = of_a if sides[0] > sides[1] else of_b
    other = of_b if sides[0] > sides[1] else of_a
    for first in range(0, len(shared), group):
        assert len(set(shared[first : first + group])) == 1
        assert len(set(other[first : first + group])) == group


def persistent(m, n, sms=HOPPER.sms, **sides):
    spec = RECIPES["rowwise"].fprop
    plan = plan_gemm(spec, (m, n, 4096), HOPPER, Summation.RECIPE)
    return replace(plan, blocks=replace(plan.blocks, persistent=True, split_k=1, **sides), sms=sms)


@pytest.mark.parametrize("sms", [1, 7, 108, 132, 148])
@pytest.mark.parametrize("grid", GRIDS, ids=str)
def test_programs_are_as_few_as_are_done_as_soon(grid, sms):
    sides = {"block_m": 512, "block_n": 128}
    m, n = grid[0] * 512, grid[1] * 128
    programs, blocks = persistent(m, n, sms, **sides).programs(m, n), grid[0] * grid[1]
    rounds = -(-blocks // sms)
    assert programs <= min(sms, blocks)
    assert -(-blocks // programs) == rounds
    assert programs == 1 or -(-blocks // (programs - 1)) > rounds


def test_few_rows_have_a_program_on_every_sm():
    """B is read faster so."""
    few, many = (persistent(rows, 25_600, block_m=64, block_n=128) for rows in (64, 1024))
    assert few.programs(64, 25_600) == HOPPER.sms > many.programs(1024, 25_600)
