"""Contract: D is the exact product of the dequantized operands within the bound of exact_product.py, for
every recipe, matmul, shape and sample; every element of D is written; equal inputs give equal bits; what does
not fit is refused in a sentence.
"""

from dataclasses import replace
from itertools import product

import numpy as np
import pytest
import torch

from fp8core.formats import FORMATS
from fp8core.linear import MATMULS, Side
from fp8core.recipes import RECIPES, Operand
from fp8core.tiles import WHOLE, TileGrid, TileShape
from kernels.check.products import multiply
from kernels.device import ADA, BLACKWELL, BLACKWELL_RTX, HOPPER, Unsupported, current_device
from kernels.gemm.blocks import Variant
from kernels.gemm.launch import gemm
from kernels.gemm.numerics import ScaleAt, Summation
from kernels.gemm.passes.dequantize import dequantize
from kernels.gemm.plan import GemmPlan, plan_gemm
from kernels.measure.jobs import MAX_DIM, GemmJob
from kernels.quantize import quantize
from kernels.quantize.tensor import QuantizedTensor, float8
from tests.kernels.cases import GEMMS, MNK, ON_GPU, SPECIAL, WHERE, plan_of, problem, sample
from tests.kernels.from_reference import operands, quantized
from tests.kernels.gemm.exact_product import KIND, assert_within_bound, poisoned
from tests.sweeps import some_cases, some_pairs

TILES = ((2, 64), (96, 1), (256, 100), (WHOLE, 512))
by_gemm = pytest.mark.parametrize(("recipe", "matmul"), GEMMS.values(), ids=GEMMS)


@pytest.mark.gpu
@by_gemm
def test_blocks_change_no_bit(recipe, matmul):
    """The persistent, large and small blocks all sum in the order that BLOCK_K alone decides."""
    mnk = (700, 650, 1100)
    a, b, plan = problem(recipe, matmul, mnk)
    plan = replace(plan, blocks=replace(plan.blocks, split_k=1))
    first = gemm(a, b, plan)
    others = ((128, 128, 8, 0), (128, 128, 8, 7), (64, 128, 4, 0), (128, 64, 4, 9))
    for block_m, block_n, warps, programs in others:
        blocks = replace(
            plan.blocks,
            block_m=block_m,
            block_n=block_n,
            warps=warps,
            stages=2,
            persistent=programs > 0,
            split_k=1,
            variant=Variant.SIMPLE,
        )
        assert torch.equal(first, gemm(a, b, replace(plan, blocks=blocks, sms=programs)))


@pytest.mark.parametrize(
    ("recipe", "matmul", "mnk"), some_pairs(GEMMS, ((1, 33, 129), (70, 50, 300)), every=6)
)
def test_pointers_read_what_descriptors_do(recipe, matmul, mnk):
    """As on a GPU without TMA, also beyond K, M and N."""
    a, b, plan = problem(recipe, matmul, mnk)
    blocks = replace(plan.blocks, persistent=False, stages=2)
    for split_k in (1, 2):
        plans = [replace(plan, blocks=replace(blocks, split_k=split_k, tma=tma)) for tma in (True, False)]
        out = poisoned(plan, *mnk[:2])
        assert torch.equal(gemm(a, b, plans[0]), gemm(a, b, plans[1], out=out))


@pytest.mark.parametrize(
    ("a_mn", "b_mn", "k"), some_pairs({str(pair): pair for pair in TILES}, (64, 128), every=4)
)
def test_a_tile_need_not_fit_a_block(a_mn, b_mn, k):
    """Tiles narrower than a block, across blocks, and wider than one, along M and N."""
    spec = RECIPES["deepseek_v3"].fprop
    spec = replace(
        spec, a=replace(spec.a, tile=TileShape(a_mn, k)), b=replace(spec.b, tile=TileShape(b_mn, k))
    )
    pair = []
    for seed, rows, own in ((1, 300, spec.a), (2, 270, spec.b)):
        x = torch.from_numpy(sample("wide", (rows, 200), seed)).to(WHERE)
        pair.append(quantize(x, TileGrid.over((rows, 200), (own.tile.mn, own.tile.k)), own))
    plan = plan_gemm(spec, (300, 270, 200), current_device(), Summation.RECIPE)
    assert_within_bound(gemm(*pair, plan), *pair, plan)


@pytest.mark.parametrize("exponents", [(120, -120), (-120, 120)])
@pytest.mark.parametrize("name", ["per_tensor-fprop", "nvfp4-wgrad"])
def test_a_large_scale_of_one_operand_and_a_small_one_of_the_other_cancel(name, exponents):
    """The sum times the large scale alone would be infinite."""
    recipe, matmul = GEMMS[name]
    pair = []
    for side, exponent in zip(Side, exponents, strict=True):
        shape = matmul.layer(70, 50, 200).of(matmul.operand(side))
        x = torch.from_numpy(sample("gaussian", shape, abs(exponent)) * np.float32(2.0**exponent)).to(WHERE)
        own = recipe.operand(matmul, side)
        pair.append(quantize(x, own, seed=1) if own.spec.is_random else quantize(x, own))
    plan = plan_of(recipe, matmul, (70, 50, 200))
    assert plan.numerics.has_two_scales
    out = gemm(*pair, plan)
    assert out.isfinite().all()
    assert_within_bound(out, *pair, plan)


def test_a_strided_out_is_written_and_nothing_beside_it():
    a, b, plan = problem(RECIPES["per_tensor"], MATMULS["fprop"], (70, 50, 200))
    wide = torch.full((140, 150), 7.0, dtype=torch.bfloat16, device=WHERE)
    gemm(a, b, plan, out=wide[::2, ::3])
    assert torch.equal(wide[::2, ::3], gemm(a, b, plan))
    wide[::2, ::3] = 7.0
    assert (wide == 7.0).all()


@pytest.mark.parametrize("name", [name for name in GEMMS if name.endswith("wgrad")])
def test_accumulate_adds_in_fp32(name):
    a, b, plan = problem(*GEMMS[name], (70, 50, 200))
    start = torch.randn(70, 50, device=WHERE)
    out = start.clone()
    gemm(a, b, plan, out=out, accumulate=True)
    assert torch.equal(out, start + gemm(a, b, plan))
    empty_a, empty_b, plan = problem(*GEMMS[name], (16, 16, 0))
    out = torch.ones(16, 16, device=WHERE)
    gemm(empty_a, empty_b, plan, out=out, accumulate=True)
    assert (out == 1).all()


@pytest.mark.parametrize("format_", [FORMATS["e4m3"], FORMATS["e5m2"]], ids=lambda format_: format_.name)
def test_dequantizing_is_exact_where_it_says_so(format_):
    """Every finite code times every power of two for which code · scale is a bf16 number."""
    bf16 = FORMATS["bf16"]
    low = bf16.e_min - bf16.mantissa_bits - (format_.e_min - format_.mantissa_bits)
    exponents = np.arange(low, bf16.e_max - format_.e_max + 1)
    assert (exponents[0], exponents[-1]) == {"e4m3": (-124, 119), "e5m2": (-117, 112)}[format_.name]
    codes = np.tile(np.arange(256, dtype=np.uint8), (exponents.size, 1))
    codes[:, ~np.isfinite(format_.values)] = 0
    scale = np.ldexp(np.float32(1), exponents).astype(np.float32)
    spec = replace(RECIPES["mxfp8"].fprop.a, format=format_)
    grid = TileGrid.over(codes.shape, (1, spec.tile.k))
    steps = grid.scale_shape[1]
    operand = QuantizedTensor(
        operand=Operand(spec=spec, k_is_rows=False),
        shape=codes.shape,
        codes=torch.from_numpy(codes).to(WHERE).view(float8(format_)),
        scale=torch.from_numpy(np.tile(scale, (steps, 1))).to(WHERE).T,
    )
    truth = format_.decode(codes) * scale.astype(np.float64)[:, None]
    np.testing.assert_array_equal(dequantize(operand, KIND).double().cpu().numpy(), truth)


def test_what_does_not_fit_is_said_in_a_sentence():
    a, b, plan = problem(RECIPES["deepseek_v3"], MATMULS["wgrad"], (16, 16, 64))
    longer, _, _ = problem(RECIPES["deepseek_v3"], MATMULS["wgrad"], (16, 16, 96))
    wrong, _, _ = problem(RECIPES["mxfp8"], MATMULS["wgrad"], (16, 16, 64))
    with pytest.raises(ValueError, match=r"need one K, got A 16 × 96 and B 16 × 64"):
        gemm(longer, b, plan)
    with pytest.raises(ValueError, match="A was quantized as e4m3 TileShape"):
        gemm(wrong, b, plan)
    with pytest.raises(ValueError, match=r"out needs to be torch.float32 of shape \(16, 16\)"):
        gemm(a, b, plan, out=torch.empty(16, 16, dtype=torch.bfloat16, device=WHERE))
    with pytest.raises(ValueError, match="adds into out, and none was given"):
        gemm(a, b, plan, accumulate=True)
    away = replace(a, codes=a.codes.to("meta"))
    with pytest.raises(ValueError, match="A lies on meta, and the kernels here run on"):
        gemm(away, b, plan)
    a, b, plan = problem(RECIPES["deepseek_v3"], MATMULS["fprop"], (16, 16, 64))
    out = torch.empty(16, 16, dtype=torch.bfloat16, device=WHERE)
    with pytest.raises(ValueError, match="accumulate needs an fp32 out, and this plan writes bf16"):
        gemm(a, b, plan, out=out, accumulate=True)


def test_a_spec_stands_for_its_fastest_plan_or_says_why_there_is_none():
    recipe, matmul = RECIPES["deepseek_v3"], MATMULS["dgrad"]
    a, b, plan = problem(recipe, matmul, (16, 16, 64))
    assert torch.equal(gemm(a, b, recipe.spec(matmul)), gemm(a, b, plan))
    with pytest.raises(Unsupported, match="the GEMM writes bf16 or fp32, not fp16"):
        gemm(a, b, replace(recipe.spec(matmul), out=FORMATS["fp16"]))


ODD = (33, 20, 141)


def multiplied(recipe, matmul, mnk, name="gaussian") -> None:
    a, b = operands(recipe, matmul, mnk, name)
    plan = plan_of(recipe, matmul, mnk)
    out = poisoned(plan, *mnk[:2])
    assert gemm(a, b, plan, out=out) is out
    assert_within_bound(out, a, b, plan)


@pytest.mark.parametrize(("recipe", "matmul"), GEMMS.values(), ids=GEMMS)
def test_d_is_the_exact_product_of_what_the_reference_quantized(recipe, matmul):
    for mnk in (ODD, (1, 33, 129)):
        multiplied(recipe, matmul, mnk)


@pytest.mark.parametrize(("recipe", "matmul"), some_cases(3, GEMMS))
def test_an_empty_matmul_has_no_numbers_or_zeros(recipe, matmul):
    for mnk in ((0, 16, 64), (16, 0, 64), (16, 16, 0)):
        a, b = operands(recipe, matmul, mnk)
        plan = plan_of(recipe, matmul, mnk)
        out = gemm(a, b, plan, out=poisoned(plan, *mnk[:2]))
        assert torch.equal(out, torch.zeros_like(out))


@pytest.mark.parametrize(("recipe", "matmul"), some_cases(7, GEMMS))
def test_samples_made_to_be_hard_are_within_the_bound(recipe, matmul):
    for name in SPECIAL:
        multiplied(recipe, matmul, (17, 16, 70), name)


LINE, TENSOR, ROW = RECIPES["deepseek_v3"].fprop.a, RECIPES["per_tensor"].fprop.a, RECIPES["rowwise"].fprop.a
MIXED = {
    "bf16 and 4 bits": (None, RECIPES["mxfp4"].fprop.b, ScaleAt.OPERANDS),
    "two levels and bf16": (RECIPES["nvfp4"].fprop.b, None, ScaleAt.OPERANDS),
    "a scale a row and 6 bits": (ROW, RECIPES["mxfp6_e3m2"].fprop.b, ScaleAt.OPERANDS),
    "bf16 and fp32 scales along K": (None, LINE, ScaleAt.K_LOOP),
    "integers under fp32 scales along K": (
        replace(LINE, format=FORMATS["mxint8"]),
        replace(LINE, format=FORMATS["uniform4"]),
        ScaleAt.K_LOOP,
    ),
    "one scale and HiF8": (TENSOR, RECIPES["per_tensor_hifloat8"].fprop.b, ScaleAt.EPILOGUE),
    "a delayed scale and bf16": (RECIPES["per_tensor_delayed"].fprop.a, None, ScaleAt.EPILOGUE),
}
"""Operands that no published recipe multiplies by each other, and where their scales come in."""


@pytest.mark.parametrize("name", MIXED)
def test_operands_of_any_two_recipes_are_multiplied(name):
    """A reader's own recipe may say so. bf16 operands come with strides that TMA does not read."""
    *sides, at = MIXED[name]
    mnk = m, n, k = 19, 24, 140
    spec = replace(RECIPES["mxfp8"].fprop, a=sides[0], b=sides[1])
    plan = plan_gemm(spec, mnk, current_device(), Summation.RECIPE)
    assert isinstance(plan, GemmPlan), plan
    assert plan.numerics.scale_at is at
    pair = []
    for seed, (rows, own) in enumerate(((m, sides[0]), (n, sides[1])), 1):
        x = sample("gaussian", (rows, k), seed)
        if own is None:
            wide = torch.zeros(2 * rows, 3 * k, dtype=torch.bfloat16, device=WHERE)
            wide[::2, ::3] = torch.from_numpy(x).bfloat16()
            pair.append(wide[::2, ::3])
        else:
            pair.append(quantized(x, Operand(spec=own, k_is_rows=False)))
    out = poisoned(plan, m, n)
    gemm(*pair, plan, out=out)
    assert_within_bound(out, *pair, plan)


SHAPES = {
    "N": (16, MAX_DIM, 4096),
    "M": (MAX_DIM, 16, 4096),
    "K": (16, 272, MAX_DIM),
    "codes": (48, MAX_DIM, 16_384),
    "D": (16_400, MAX_DIM, 64),
}
"""By what is large: a dim, the codes of B beyond 2**31 bytes, or D beyond 2**31 numbers."""
OUTPUTS = 64
MAX_PROGRAMS = 2**31 - 1


@pytest.mark.parametrize("device", [HOPPER, ADA, BLACKWELL, BLACKWELL_RTX], ids=lambda device: device.name)
def test_a_large_matmul_has_a_plan_of_programs_that_can_be_launched(device):
    for (recipe, matmul), mnk in product(GEMMS.values(), SHAPES.values()):
        plan = plan_gemm(recipe.spec(matmul), mnk, device, Summation.RECIPE)
        assert isinstance(plan, GemmPlan), plan
        assert 0 < plan.programs(*mnk[:2]) <= MAX_PROGRAMS


@pytest.mark.alone
@pytest.mark.gpu
@pytest.mark.parametrize("large", SHAPES)
@pytest.mark.parametrize("recipe", ["per_tensor", "deepseek_v3", "mxfp8", "nvfp4"])
def test_a_large_matmul_is_right_to_its_last_row_and_column(recipe, large):
    m, n, k = SHAPES[large]
    job, device = GemmJob(recipe=recipe, matmul="fprop", m=m, n=n, k=k), current_device()
    plan = plan_gemm(job.recipe_data.spec(job.matmul_data), (m, n, k), device, job.accumulation)
    result = multiply(job, plan, OUTPUTS, device)
    assert result.unwritten == 0
    assert result.worst <= 1, result.place
    assert result.prediction is None or not result.prediction.different, result.prediction
    assert result.repeats


@pytest.mark.parametrize(
    ("recipe", "matmul", "how"), some_pairs(GEMMS, (Summation.FAST, Summation.PROMOTED), every=10)
)
def test_the_accumulation_asked_for_is_within_its_bound(recipe, matmul, how):
    mnk = MNK[0] if ON_GPU else ODD
    a, b, _ = problem(recipe, matmul, mnk)
    plan = plan_gemm(recipe.spec(matmul), mnk, current_device(), how)
    if isinstance(plan, GemmPlan):
        assert_within_bound(gemm(a, b, plan), a, b, plan)
    else:
        assert plan.reason
