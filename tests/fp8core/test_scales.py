"""Contract: each rule is its definition in exact arithmetic; each edge case is the documented one."""

from dataclasses import replace

import numpy as np
import pytest

from fp8core.formats import FORMATS, FloatFormat, Specials
from fp8core.inputs import InputKind, draw
from fp8core.linear import MATMULS, Side
from fp8core.quantize import QuantizedTensor, quantize, scales
from fp8core.recipes import RECIPES, OperandSpec
from fp8core.scales import (
    E8M0_EVEN,
    E8M0_FLOOR,
    E8M0_ROUND_UP,
    FP32_SCALE,
    SCALE_RULES,
    Fit,
    OuterScale,
    ScaleRule,
    saturated_share,
)
from fp8core.tiles import WHOLE, TileGrid, TileShape

FLT_MAX = np.finfo(np.float32).max
EXTREMES = np.array([0, 2**-149, 2**-127, 2**-126, 1, FLT_MAX / 1.9999, FLT_MAX], np.float32)


@pytest.mark.parametrize("element", FORMATS.values(), ids=FORMATS)
@pytest.mark.parametrize("rule", SCALE_RULES.values(), ids=SCALE_RULES)
def test_every_rule_scales_every_format_from_zero_to_the_largest_float(rule, element) -> None:
    scales = rule.scale(EXTREMES, element)
    assert scales.dtype == np.float32
    assert (scales >= np.float32(rule.min_scale)).all()
    assert (scales <= np.float32(rule.max_scale)).all()
    np.testing.assert_array_equal(rule.format.decode(rule.format.encode(scales)), scales)
    assert np.isnan(rule.scale(np.array([np.inf, np.nan, 1e39]), element)).all()
    assert 0 <= saturated_share(rule, element) <= 1
    if rule is E8M0_ROUND_UP:
        amax, top = EXTREMES.astype(np.float64), element.max * scales.astype(np.float64)
        assert ((amax <= top) | (scales == 2.0**127)).all()
        assert ((amax > top / 2) | (scales == 2.0**-127)).all()


def test_an_element_with_a_largest_value_below_one_never_gets_an_infinite_scale() -> None:
    tiny = FloatFormat(name="tiny", exponent_bits=2, mantissa_bits=1, bias=9, specials=Specials.NONE)
    assert FP32_SCALE.scale(FLT_MAX, tiny) == FLT_MAX
    assert E8M0_FLOOR.scale(FLT_MAX, tiny) == np.float32(2.0**127)
    # The exponent of a subnormal amax is its own: -127, less the -6 of the largest value.
    assert E8M0_FLOOR.scale(np.float32(2.0**-127), tiny) == np.float32(2.0**-121)
    far = FloatFormat(name="far", exponent_bits=4, mantissa_bits=3, bias=-290, specials=Specials.NONE)
    with pytest.raises(ValueError, match=r"far.s largest value, .*, is no normal fp32 number"):
        FP32_SCALE.scale(1.0, far)


def test_even_takes_the_mantissa_bits_of_the_highest_binade() -> None:
    # HiF8's is 2**15 with one mantissa bit: 1.75 is the tie that reaches 2. mxint8's has six.
    assert E8M0_EVEN.scale([1.74, 1.75], FORMATS["hif8"]).tolist() == [2.0**-15, 2.0**-14]
    tie = 2 - 2.0**-7
    assert E8M0_EVEN.scale([np.nextafter(np.float32(tie), 0), tie], FORMATS["mxint8"]).tolist() == [1, 2]


NVFP4 = OperandSpec(
    format=FORMATS["e2m1"],
    tile=TileShape(1, 16),
    scale_rule=ScaleRule(
        format=FORMATS["e4m3"], fit=Fit.NEAREST, outer=OuterScale(tile=TileShape(WHOLE, WHOLE))
    ),
)


def test_a_scale_byte_may_be_0_or_448() -> None:
    x = np.zeros((1, 32), np.float32)
    x[0, 0], x[0, 16] = 1.0, 1e-9
    result = quantize(x, TileGrid.over(x.shape, (1, 16)), NVFP4)
    assert result.scale.tolist() == [[448.0, 0.0]]
    assert result.scale_codes().tolist() == [[0x7E, 0x00]]
    assert result.values()[0, [0, 16]].tolist() == [np.float32(1.0), 0.0]


def test_a_delayed_scale_comes_from_the_history_and_what_grew_saturates() -> None:
    operand = RECIPES["per_tensor_delayed"].operand(MATMULS["fprop"], Side.A)
    x = np.array([[1.0, -8.0, np.nan, np.inf]], np.float32)
    result = quantize(x, operand, history=[0.5, 2.0, 1.0])
    assert result.scale.tolist() == [[np.float32(2) / np.float32(448)]]
    assert result.values()[0, :2].tolist() == pytest.approx([1.0, -2.0], rel=2.0**-4)
    assert np.isnan(result.values()[0, 2])
    assert result.values()[0, 3] == pytest.approx(2.0)
    own = quantize(x[:, :2], operand, history=[0.0])
    assert own.scale.tolist() == quantize(x[:, :2], operand).scale.tolist()
    with pytest.raises(ValueError, match="finite amax of at least 0, got"):
        quantize(x, operand, history=[-1.0])
    with pytest.raises(ValueError, match="takes the tensor's own amax, got a history"):
        quantize(x, RECIPES["per_tensor"].operand(MATMULS["fprop"], Side.A), history=[1.0])


def test_a_search_never_errs_more_than_the_rule_without_it() -> None:
    x = draw(InputKind.GAUSSIAN, (64, 256), seed=11)
    better = RECIPES["four_over_six"].operand(MATMULS["fprop"], Side.A)
    plain = replace(
        better, spec=replace(better.spec, scale_rule=replace(better.spec.scale_rule, search=(1.0,)))
    )
    errors = [by_hand_errors(x, quantize(x, one)) for one in (better, plain)]
    assert (errors[0] <= errors[1] * (1 + 1e-6)).all()
    assert errors[0].sum() < 0.95 * errors[1].sum()


def by_hand_errors(x: np.ndarray, tensor: QuantizedTensor) -> np.ndarray:
    """float64[tiles]: the squared error of each 1x16 tile."""
    return ((tensor.exact_values() - x) ** 2).reshape(-1, 16).sum(1)


def test_an_outer_tile_lies_as_its_tiles_do() -> None:
    """One outer scale for 1 × 32 of [mn, K]: down the rows where K runs there."""
    x = draw(InputKind.OUTLIER_CHANNELS, (64, 64), seed=9)
    rule = replace(NVFP4.scale_rule, outer=OuterScale(tile=TileShape(1, 32)))
    spec = replace(NVFP4, scale_rule=rule)
    along, down = (
        quantize(x.T if k_is_rows else x, TileGrid.over((64, 64), tile), spec)
        for k_is_rows, tile in ((False, (1, 16)), (True, (16, 1)))
    )
    np.testing.assert_array_equal(along.codes, down.codes.T)
    np.testing.assert_array_equal(along.scale, down.scale.T)


@pytest.mark.parametrize(
    ("power", "least", "most"), [(-60, 0, 0), (60, 0, 0), (66, 0.4, 0.5), (-80, 0.4, 0.5)]
)
def test_four_over_six_chooses_otherwise_where_fp32_cannot_hold_squared_errors(power, least, most) -> None:
    """A power of two moves no code elsewhere: the outer scale takes it."""
    x = draw(InputKind.GAUSSIAN, (64, 256), seed=11)
    operand = RECIPES["four_over_six"].operand(MATMULS["fprop"], Side.A)
    scale, far = scales(x, operand).stored, scales(x * np.float32(2.0**power), operand).stored
    assert least <= np.mean(scale != far) <= most
    assert (far[scale != far] < scale[scale != far]).all()
