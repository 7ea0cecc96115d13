"""Contract: the quantizer is its definition, tile by tile (an independent loop through ml_dtypes' cast),
over every recipe's operands, odd shapes and every documented edge case."""

import ml_dtypes
import numpy as np
import pytest

from fp8core.formats import FORMATS
from fp8core.inputs import LAWS, InputKind, draw
from fp8core.linear import MATMULS, Side
from fp8core.quantize import QuantizedTensor, prepared, quantize, quantize_part, quantized_values, scales
from fp8core.recipes import RECIPES, Operand, OperandSpec
from fp8core.recipes.operand import same_copy
from fp8core.rounding import Rounding
from fp8core.scales import FP32_SCALE
from fp8core.tiles import WHOLE, TileGrid, TileShape
from tests.fp8core import by_hand
from tests.sweeps import distinct

OPERANDS = distinct(
    {
        f"{recipe.name}-{matmul.name}-{side.value}": (operand,)
        for recipe in RECIPES.values()
        for matmul in MATMULS.values()
        for side in Side
        if (operand := recipe.operand(matmul, side))
    },
    lambda operand: same_copy(operand),
)
by_operand = pytest.mark.parametrize("operand", [case for (case,) in OPERANDS.values()], ids=OPERANDS)


def bits_for(x: np.ndarray, operand: Operand) -> np.ndarray | None:
    """Random bits where the operand takes some."""
    if not operand.spec.is_random:
        return None
    return np.random.default_rng(x.size).integers(0, 256, x.shape, dtype=np.uint8)


def agree(x: np.ndarray, operand: Operand) -> QuantizedTensor:
    """The reference's result, after it was compared with the one made tile by tile."""
    random = bits_for(x, operand)
    result, expected = quantize(x, operand, random=random), by_hand.quantized(x, operand, random)
    np.testing.assert_array_equal(result.scale, expected.scale)
    np.testing.assert_array_equal(result.scales.effective, expected.effective)
    np.testing.assert_array_equal(result.codes, expected.codes)
    return result


@by_operand
@pytest.mark.parametrize("kind", LAWS)
def test_codes_and_scales_are_those_of_the_definition(operand, kind) -> None:
    agree(draw(kind, (19, 150), seed=5), operand)


@by_operand
@pytest.mark.parametrize("factor", [0.0, 1e-45, 1e-40, 2.0**-120, 1e-30, 3e37], ids=str)
def test_the_definition_holds_from_zero_to_the_largest_float(operand, factor) -> None:
    x = (np.random.default_rng(0).uniform(-10, 10, (17, 50)) * factor).astype(np.float32)
    result = agree(x, operand)
    if factor == 0:
        assert not result.exact_values().any()
        assert (result.scale == np.float32(operand.spec.scale_rule.min_scale)).all()


@by_operand
def test_ties_and_neighbors_of_every_step_go_where_the_definition_says(operand) -> None:
    """The middle of every two values of the format, and the numbers just beside it, under a scale of 1."""
    element = operand.spec.format
    values = np.unique(element.decode(np.arange(1 << element.bits)))
    values = values[np.isfinite(values)]
    middles = ((values[1:] + values[:-1]) / 2).astype(np.float32)
    line = np.concatenate([middles, np.nextafter(middles, np.float32(np.inf)), values.astype(np.float32)])
    extents = [extent or line.size for extent in operand.tile]
    x = np.resize(line, (min(extents[0], 40), max(line.size, extents[1]))).astype(np.float32)
    x[:, 0] = element.max
    agree(x, operand)


@by_operand
def test_amax_at_and_around_powers_of_two_follows_the_definition(operand) -> None:
    powers = np.ldexp(np.float32(1), np.array([-120, -20, -1, 0, 1, 9, 60])).astype(np.float32)
    around = np.concatenate(
        [powers, np.nextafter(powers, np.float32(0)), np.nextafter(powers, np.float32(3e38))]
    )
    top = np.float32(operand.spec.format.max)
    for amax in np.concatenate([around, around * top]).astype(np.float32):
        agree(np.array([[amax, -amax / 3, 0, amax / 2, -0.0]], np.float32), operand)


@by_operand
@pytest.mark.parametrize("poison", [np.nan, np.inf, -np.inf], ids=str)
def test_one_broken_value_makes_its_tile_nan_and_no_other(operand, poison) -> None:
    x = draw(InputKind.GAUSSIAN, (66, 140), seed=6)
    bits = bits_for(x, operand)
    clean = quantize(x, operand, random=bits)
    x[5, 7] = poison
    result, hit = quantize(x, operand, random=bits), ~np.isfinite(prepared(x, operand))
    touched = operand.grid(x.shape).amax(hit.astype(np.float32)) > 0
    outer = operand.outer_grid(x.shape)
    if outer is not None and operand.spec.scale_rule.has_fitted_outer:
        touched = np.ones_like(touched)  # one outer scale for all of them
    np.testing.assert_array_equal(np.isnan(result.scale), touched)
    inside = operand.grid(x.shape).expand(touched.astype(np.float32)) == 1
    assert (result.codes[inside] == (operand.spec.format.nan_code or 0)).all()
    assert np.isnan(result.exact_values()[inside]).all()
    np.testing.assert_array_equal(result.codes[~inside], clean.codes[~inside])


@by_operand
@pytest.mark.parametrize("shape", [(0, 40), (40, 0), (1, 1), (1, 300)], ids=str)
def test_empty_and_single_row_tensors_are_quantized(operand, shape) -> None:
    x = np.ones(shape, np.float32)
    result = agree(x, operand)
    assert result.codes.shape == shape
    assert result.scale.shape == operand.grid(shape).scale_shape


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


@by_operand
def test_values_without_codes_are_those_of_the_codes(operand) -> None:
    x = draw(InputKind.OUTLIER_CHANNELS, (70, 261), seed=6)
    x[3, 5], x[40, 200], x[60] = np.nan, np.inf, 0.0
    if operand.spec.is_random:
        with pytest.raises(ValueError, match="rounded to nearest"):
            quantized_values(x, operand)
        return
    quantized = quantize(x, operand)
    values, scale = quantized_values(x, operand)
    np.testing.assert_array_equal(values, quantized.exact_values())
    np.testing.assert_array_equal(scale, quantized.scales.effective)


@by_operand
def test_a_part_has_the_codes_and_scales_of_the_whole(operand) -> None:
    x = draw(InputKind.HEAVY_TAIL, (130, 70), 3)
    bits = bits_for(x, operand)
    whole, all_scales, numbers = quantize(x, operand, random=bits), scales(x, operand), prepared(x, operand)
    np.testing.assert_array_equal(all_scales.stored, whole.scale)
    for part in (np.s_[5:8, :], np.s_[127:, 9:10], np.s_[:, :], np.s_[3:3, 1:4]):
        codes = quantize_part(numbers, operand, all_scales.effective, *part, random=bits)
        np.testing.assert_array_equal(codes, whole.codes[part])


def test_stochastic_rounding_needs_random_bits() -> None:
    spec = OperandSpec(
        format=FORMATS["e4m3"], tile=TileShape(1, 4), scale_rule=FP32_SCALE, rounding=Rounding.STOCHASTIC
    )
    with pytest.raises(ValueError, match="needs random bits"):
        quantize(np.ones((1, 4), np.float32), TileGrid.over((1, 4), (1, 4)), spec)
