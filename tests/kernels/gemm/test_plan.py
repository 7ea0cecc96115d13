"""Contract: a plan follows from the spec, the sizes, the device and what is asked for, without a GPU; what
cannot be done is refused in a sentence.
"""

import dataclasses

import pytest

from fp8core.formats import FORMATS
from fp8core.recipes import RECIPES
from fp8core.rounding import Rounding
from fp8core.scales import E8M0_EVEN, E8M0_ROUND_UP
from fp8core.tiles import WHOLE, TileShape
from kernels.device import ADA, BLACKWELL, BLACKWELL_RTX, HOPPER, INTERPRETER, Unsupported
from kernels.gemm.blocks import Body
from kernels.gemm.meaning import Arithmetic, ScaleAt, Summation
from kernels.gemm.plan import GemmPlan, plan_gemm
from kernels.operand_passes.plan import decode_shift
from kernels.quantize.plan import plan_quantize
from tests.kernels.cases import GEMMS

CUBE = (4096, 4096, 4096)
SCALE_AT = {
    "per_tensor": ScaleAt.EPILOGUE,
    "per_tensor_e4m3": ScaleAt.EPILOGUE,
    "rowwise": ScaleAt.EPILOGUE,
    "deepseek_v3": ScaleAt.K_LOOP,
    "mxfp8": ScaleAt.OPERANDS,
}
TWO_PASS = [(WHOLE, WHOLE), (1, WHOLE), (WHOLE, 1), (96, 80), (3, 7), (512, 512)]
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
    made = plan(recipe.spec(matmul))
    assert made.meaning.scale_at is SCALE_AT[recipe.name]
    assert made.meaning.accumulator == recipe.spec(matmul).accumulator


@by_gemm
def test_a_plan_keeps_the_fp8_tensor_core(recipe, matmul):
    for mnk in (CUBE, (1, 4096, 4096), (65, 10, 10)):
        made = plan(recipe.spec(matmul), mnk=mnk)
        turned = made.blocks.transposed or ((made.body is Body.DECODING) and made.blocks.decoded == "b")
        assert (made.blocks.block_n if turned else made.blocks.block_m) >= 64
        assert made.blocks.warps in (4, 8)
        if made.meaning.promotion is not WHOLE:
            assert made.blocks.block_k % made.meaning.promotion == 0


@by_gemm
def test_the_interpreter_sums_as_hopper_does(recipe, matmul):
    spec, small = recipe.spec(matmul), (512, 512, 512)
    here, there = (plan(spec, device=device, mnk=small) for device in (INTERPRETER, HOPPER))
    assert (here.meaning.arithmetic, here.meaning.scale_at, here.meaning.promotion) == (
        there.meaning.arithmetic,
        there.meaning.scale_at,
        there.meaning.promotion,
    )
    assert here.blocks.block_k == there.blocks.block_k


@pytest.mark.parametrize(
    ("mnk", "fits"),
    [((512, 512, 512), True), ((128, 1024, 1024), True), ((513, 512, 511), False), ((8192, 1, 8192), False)],
    ids=str,
)
def test_the_interpreter_takes_what_it_does_in_seconds(mnk, fits):
    made = plan_gemm(RECIPES["mxfp8"].fprop, mnk, INTERPRETER, Summation.RECIPE)
    assert isinstance(made, GemmPlan) == fits
    if not fits:
        assert f"takes about 512 × 512 × 512 at most, got {mnk[0]} ×" in made.reason


def test_accumulation_is_the_recipes_unless_asked_for():
    fprop = RECIPES["per_tensor"].fprop
    assert plan(fprop).meaning.promotion is WHOLE
    assert plan(fprop, Summation.PROMOTED).meaning.promotion == 128
    assert plan(RECIPES["per_tensor"].dgrad, Summation.FAST).meaning.promotion is WHOLE
    assert plan(RECIPES["deepseek_v3"].fprop, Summation.PROMOTED).meaning.promotion == 128


def test_blackwell_multiplies_mxfp8_natively():
    assert plan(RECIPES["mxfp8"].fprop, device=BLACKWELL).meaning.arithmetic is Arithmetic.NATIVE_MX
    assert plan(RECIPES["mxfp8"].fprop).meaning.arithmetic is Arithmetic.DEQUANTIZED
    newer = dataclasses.replace(BLACKWELL, capability=(12, 0))
    assert plan(RECIPES["mxfp8"].fprop, device=newer).meaning.arithmetic is Arithmetic.DEQUANTIZED


def test_a_gpu_without_tma_is_given_pointers():
    assert plan(RECIPES["rowwise"].fprop, device=BLACKWELL_RTX).blocks.tma
    assert not plan(RECIPES["rowwise"].fprop, device=ADA).blocks.tma


def test_what_cannot_be_done_is_said_in_a_sentence():
    mxfp8, deepseek = RECIPES["mxfp8"].fprop, RECIPES["deepseek_v3"].fprop
    ampere = dataclasses.replace(HOPPER, name="NVIDIA A100", capability=(8, 0))
    assert refusal(deepseek, device=ampere) == (
        "NVIDIA A100 has compute capability 8.0; FP8 tensor cores start at 8.9 (Ada), Hopper is 9.0"
    )
    assert "a scale here changes every 128 along K" in refusal(deepseek, Summation.FAST)
    assert "multiplied as bf16" in refusal(mxfp8, Summation.PROMOTED)
    assert "Blackwell sums them in fp32" in refusal(mxfp8, Summation.PROMOTED, BLACKWELL)
    assert "writes bf16 or fp32, not fp16" in refusal(dataclasses.replace(deepseek, out=FORMATS["fp16"]))
    assert "not to bf16" in refusal(changed(deepseek, format=FORMATS["bf16"]))
    assert "needs a power of two" in refusal(changed(deepseek, tile=TileShape(1, 96)))
    assert "got None and" in refusal(
        dataclasses.replace(mxfp8, a=dataclasses.replace(mxfp8.a, tile=TileShape(1, WHOLE)))
    )
    nested = dataclasses.replace(deepseek, a=dataclasses.replace(deepseek.a, tile=TileShape(1, 192)))
    assert "do not nest" in refusal(nested)


@pytest.mark.parametrize("tile", [(1, 128), (128, 1), (128, 128), (1, 32), (1, 1), (64, 256)], ids=str)
def test_a_tile_that_fits_a_block_takes_one_pass(tile):
    made = plan_quantize(TileShape(*tile))
    assert made.fused
    assert (made.part_mn, made.part_k) == tile
    assert made.block_mn % tile[0] == made.block_k % tile[1] == 0


@pytest.mark.parametrize(
    "tile", [(WHOLE, WHOLE), (1, WHOLE), (WHOLE, 1), (96, 80), (3, 7), (512, 512)], ids=str
)
def test_another_tile_takes_two_passes_of_parts_that_divide_it(tile):
    made = plan_quantize(TileShape(*tile))
    assert not made.fused
    for extent, part, block in zip(
        tile, (made.part_mn, made.part_k), (made.block_mn, made.block_k), strict=True
    ):
        assert block % part == 0
        assert extent is WHOLE or extent % part == 0


def test_shifted_codes_are_bf16_numbers():
    assert decode_shift(FORMATS["e4m3"], FORMATS["bf16"]) == (4, 120)
    assert decode_shift(FORMATS["e5m2"], FORMATS["bf16"]) == (5, 112)


def test_power_of_two_scales_of_any_short_tile_go_to_the_operands():
    spec = changed(RECIPES["mxfp8"].fprop, tile=TileShape(1, 16), scale_rule=E8M0_ROUND_UP)
    assert plan(spec, device=BLACKWELL).meaning.arithmetic is Arithmetic.DEQUANTIZED


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"scale_rule": E8M0_EVEN}, "the kernels have no scale that is the power of two of amax rounded"),
        ({"rounding": Rounding.STOCHASTIC}, "the kernels round to nearest even, not"),
        ({"format": FORMATS["e2m1"]}, "the kernels quantize to e4m3 and e5m2, not to e2m1"),
    ],
    ids=str,
)
def test_an_operand_without_a_kernel_is_refused_before_anything_runs(change, sentence):
    spec = RECIPES["mxfp8"].fprop
    changed = dataclasses.replace(spec, a=dataclasses.replace(spec.a, **change))
    assert sentence in refusal(changed)


def test_a_family_that_no_table_has_runs_the_fast_kernel_where_d_fills_the_gpu(monkeypatch):
    monkeypatch.setattr("kernels.gemm.plan.table", lambda capability: {})
    spec = RECIPES["rowwise"].fprop
    full = plan(spec, mnk=(4096, 4096, 512))
    assert not full.body.is_simple
    assert full.why.startswith("no blocks were measured for this shape, and D has a block of the warp-spec")
    assert full.blocks.count(4096, 4096) >= HOPPER.sms
    promoted = RECIPES["deepseek_v3"].fprop
    for n, block_m in ((20480, 256), (8448, 128), (4608, 64)):
        few = plan(promoted, mnk=(256, n, 512))
        assert (few.blocks.block_m, few.blocks.split_k) == (block_m, 1), (
            "the largest of which every SM has one"
        )
    idle = plan(spec, mnk=(512, 4096, 512))
    assert idle.body is Body.SIMPLE
    assert "none were measured" in idle.why
    assert plan(spec, mnk=(4096, 4100, 512)).body is Body.SIMPLE, "rows of 4100 bf16 numbers start askew"
    assert plan(spec, device=ADA, mnk=(4096, 4096, 512)).body is Body.SIMPLE
