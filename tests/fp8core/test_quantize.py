"""Contract: the quantizer is its definition, tile by tile (an independent loop through ml_dtypes' cast),
over every recipe's operands, odd shapes and every documented edge case."""

from dataclasses import replace

import ml_dtypes
import numpy as np
import pytest

from fp8core.formats import FORMATS
from fp8core.inputs import InputKind, draw
from fp8core.linear import MATMULS, Side
from fp8core.quantize import quantize
from fp8core.recipes import RECIPES, OperandSpec
from fp8core.scales import E8M0_FLOOR, FP32_SCALE, Fit, OuterScale, ScaleRule
from fp8core.tiles import WHOLE, TileGrid, TileShape
from tests.sweeps import distinct

SPECS = distinct(
    {
        f"{recipe.name}-{matmul.name}-{side.value}": (recipe, matmul, side)
        for recipe in RECIPES.values()
        for matmul in MATMULS.values()
        for side in Side
    },
    lambda recipe, matmul, side: (recipe.spec(matmul).operand(side), recipe.operand(matmul, side).tile),
)
by_spec = pytest.mark.parametrize(("recipe", "matmul", "side"), SPECS.values(), ids=SPECS)
FP32_TINY = np.finfo(np.float32).smallest_normal


def by_hand(x: np.ndarray, grid: TileGrid, spec: OperandSpec) -> tuple[np.ndarray, np.ndarray]:
    """Codes and scales, tile by tile, through ml_dtypes' cast after an explicit clamp."""
    codes, scales = np.zeros(x.shape, np.uint8), np.zeros(grid.scale_shape, np.float32)
    top = np.float32(spec.format.max)
    for t in grid.tiles():
        part = np.s_[t.rows.start : t.rows.stop, t.columns.start : t.columns.stop]
        amax = np.abs(x[part]).max()
        if not np.isfinite(amax):
            codes[part], scales[t.row, t.column] = spec.format.nan_code, np.nan
            continue
        if spec.scale_rule is FP32_SCALE:
            scale = max(amax / top, FP32_TINY)
        else:
            exponent = -127
            while float(amax) > spec.format.max * 2.0**exponent:
                exponent += 1
            scale = np.float32(2.0**exponent)
        q = np.clip(x[part] * (np.float32(1) / scale), -top, top)
        codes[part] = q.astype(spec.format.ml_dtype).view(np.uint8)
        scales[t.row, t.column] = scale
    return codes, scales


@by_spec
@pytest.mark.parametrize("kind", InputKind)
def test_codes_and_scales_are_those_of_the_definition(recipe, matmul, side, kind) -> None:
    x = draw(kind, (70, 261), seed=5)
    grid, spec = recipe.grid(matmul, side, x.shape), recipe.spec(matmul).operand(side)
    quantized = quantize(x, grid, spec)
    codes, scales = by_hand(x, grid, spec)
    np.testing.assert_array_equal(quantized.codes, codes)
    np.testing.assert_array_equal(quantized.scale, scales)


@by_spec
@pytest.mark.parametrize("factor", [0.0, 1e-45, 1e-40, 2.0**-120, 1e-30, 3e37], ids=str)
def test_the_definition_holds_from_zero_to_the_largest_float(recipe, matmul, side, factor) -> None:
    x = (np.random.default_rng(0).uniform(-10, 10, (33, 140)) * factor).astype(np.float32)
    grid, spec = recipe.grid(matmul, side, x.shape), recipe.spec(matmul).operand(side)
    codes, scales = by_hand(x, grid, spec)
    quantized = quantize(x, grid, spec)
    np.testing.assert_array_equal(quantized.codes, codes)
    np.testing.assert_array_equal(quantized.scale, scales)
    if factor == 0:
        assert (quantized.codes & 0x7F == 0).all()
        assert (quantized.scale == np.float32(spec.scale_rule.min_scale)).all()


@by_spec
@pytest.mark.parametrize("poison", [np.nan, np.inf, -np.inf], ids=str)
def test_one_broken_value_makes_its_tile_nan_and_no_other(recipe, matmul, side, poison) -> None:
    x = draw(InputKind.GAUSSIAN, (130, 140), seed=6)
    grid, spec = recipe.grid(matmul, side, x.shape), recipe.spec(matmul).operand(side)
    clean = quantize(x, grid, spec)
    x[5, 7] = poison
    quantized = quantize(x, grid, spec)
    hit = np.isnan(quantized.scale)
    assert np.argwhere(hit).tolist() == [list(grid.tile_of(5, 7))]
    inside = grid.expand(hit.astype(np.float32)) == 1
    assert (quantized.codes[inside] == spec.format.nan_code).all()
    np.testing.assert_array_equal(quantized.codes[~inside], clean.codes[~inside])


@by_spec
@pytest.mark.parametrize("shape", [(0, 40), (40, 0), (1, 1), (1, 300)], ids=str)
def test_empty_and_single_row_tensors_are_quantized(recipe, matmul, side, shape) -> None:
    grid, spec = recipe.grid(matmul, side, shape), recipe.spec(matmul).operand(side)
    quantized = quantize(np.ones(shape, np.float32), grid, spec)
    assert quantized.codes.shape == shape
    assert quantized.scale.shape == grid.scale_shape
    np.testing.assert_allclose(quantized.values(), 1.0, rtol=2.0**-4)


@by_spec
def test_values_lie_within_half_a_step_of_x(recipe, matmul, side) -> None:
    x = draw(InputKind.HEAVY_TAIL, (64, 256), seed=7)
    grid, spec = recipe.grid(matmul, side, x.shape), recipe.spec(matmul).operand(side)
    quantized = quantize(x, grid, spec)
    scale = grid.expand(quantized.scale).astype(np.float64)
    step = spec.format.ulp(np.minimum(np.abs(x / scale), spec.format.max))
    slack = 1 + 2.0**-20  # two fp32 roundings in q, each 2**-24 of at most 2**4 steps
    assert (np.abs(quantized.exact_values() - x) <= 0.5 * step * scale * slack).all()


def test_floor_saturates_where_round_up_does_not() -> None:
    x = np.array([[480.0, 1.0]], np.float32)
    spec = OperandSpec(format=FORMATS["e4m3"], tile=TileShape(1, 32), scale_rule=E8M0_FLOOR)
    quantized = quantize(x, TileGrid.over((1, 2), (1, 32)), spec)
    assert quantized.values().tolist() == [[448.0, 1.0]]
    round_up = quantize(x, TileGrid.over((1, 2), (1, 32)), RECIPES["mxfp8"].fprop.a)
    assert round_up.values().tolist() == [[480.0, 1.0]]


def test_half_types_are_taken_and_others_refused() -> None:
    grid, spec = TileGrid.over((2, 3), (WHOLE, WHOLE)), RECIPES["per_tensor"].fprop.a
    x = np.arange(6).reshape(2, 3)
    as_fp32 = quantize(x.astype(np.float32), grid, spec)
    for dtype in (np.float16, ml_dtypes.bfloat16):
        np.testing.assert_array_equal(quantize(x.astype(dtype), grid, spec).codes, as_fp32.codes)
    with pytest.raises(ValueError, match="float32, float16 or bfloat16, got float64"):
        quantize(x.astype(np.float64), grid, spec)
    with pytest.raises(ValueError, match=r"shape \(2, 3\), got \(3, 2\)"):
        quantize(np.zeros((3, 2), np.float32), grid, spec)


def test_the_largest_float_under_mxfp8_rounds_up_to_infinity_without_a_warning() -> None:
    x = np.full((1, 32), np.finfo(np.float32).max, np.float32)
    x[0, 1] = -x[0, 1]
    quantized = quantize(x, TileGrid.over(x.shape, (1, 32)), RECIPES["mxfp8"].fprop.a)
    assert quantized.exact_values()[0, :2].tolist() == [2.0**128, -(2.0**128)]
    assert quantized.values()[0, :2].tolist() == [np.inf, -np.inf]


NVFP4 = OperandSpec(
    format=FORMATS["e2m1"],
    tile=TileShape(1, 16),
    scale_rule=ScaleRule(
        format=FORMATS["e4m3"], fit=Fit.NEAREST, outer=OuterScale(tile=TileShape(WHOLE, WHOLE))
    ),
)


def nvfp4_by_hand(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Codes and scales of 1x16 tiles, tile by tile, in the order of Transformer Engine's reference."""
    f32, top = np.float32, np.finfo(np.float32).max
    amax = np.abs(x).max()
    enc = f32(1) if amax == 0 else min(f32(2688) / amax, top)
    codes, scales = np.zeros(x.shape, np.uint8), np.zeros((x.shape[0], -(-x.shape[1] // 16)), f32)
    for row in range(x.shape[0]):
        for start in range(0, x.shape[1], 16):
            part = np.s_[row, start : start + 16]
            inner = min(np.abs(x[part]).max() * (enc * (f32(1) / f32(6))), f32(448))
            inner = inner.astype(ml_dtypes.float8_e4m3fn).astype(f32)
            scale = inner * (f32(1) / enc)
            reciprocal = min(f32(1) / scale, top) if scale else top
            with np.errstate(over="ignore"):
                q = np.clip(x[part] * reciprocal, f32(-6), f32(6))
            codes[part] = q.astype(ml_dtypes.float4_e2m1fn).view(np.uint8)
            scales[row, start // 16] = scale
    return codes, scales


@pytest.mark.parametrize("size", [1.0, 1e-30, 1e30])
def test_two_levels_of_scales_follow_the_order_of_their_source(size) -> None:
    x = draw(InputKind.OUTLIER_CHANNELS, (7, 70), seed=8) * np.float32(size)
    x[2], x[3, :16] = 0, 0
    x[4] *= np.float32(2.0**-30)  # its scales round to 0
    quantized = quantize(x, TileGrid.over(x.shape, (1, 16)), NVFP4)
    codes, scales = nvfp4_by_hand(x)
    np.testing.assert_array_equal(quantized.codes, codes)
    np.testing.assert_array_equal(quantized.scale, scales)
    assert (scales[4] == 0).all()
    assert not quantized.values()[[2, 4]].any()


def test_a_nan_anywhere_under_an_outer_scale_breaks_all_that_share_it() -> None:
    x = np.ones((2, 32), np.float32)
    x[1, 3] = np.nan
    assert np.isnan(quantize(x, TileGrid.over(x.shape, (1, 16)), NVFP4).values()).all()


def test_an_outer_tile_lies_as_its_tiles_do() -> None:
    """One outer scale for 1 × 32 of [mn, K]: down the rows where K runs there."""
    x = draw(InputKind.OUTLIER_CHANNELS, (64, 64), seed=9)
    rule = replace(NVFP4.scale_rule, outer=OuterScale(tile=TileShape(1, 32)))
    spec = replace(NVFP4, scale_rule=rule)
    along, down = (
        quantize(x.T if turned else x, TileGrid.over((64, 64), tile), spec)
        for turned, tile in ((False, (1, 16)), (True, (16, 1)))
    )
    np.testing.assert_array_equal(along.codes, down.codes.T)
    np.testing.assert_array_equal(along.scale, down.scale.T)


def test_an_amax_floor_holds_the_scale_up() -> None:
    rule = replace(FP32_SCALE, amax_floor=1e-4)
    assert rule.scale([1e-6, 1.0], FORMATS["e4m3"]).tolist() == [
        np.float32(1e-4) / np.float32(448),
        np.float32(1) / np.float32(448),
    ]
