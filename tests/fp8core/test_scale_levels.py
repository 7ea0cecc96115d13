"""Contract: two levels of scales, delayed scales and searches keep the order that their sources give."""

from dataclasses import replace

import numpy as np
import pytest

from fp8core.formats import FORMATS
from fp8core.inputs import InputKind, draw
from fp8core.linear import MATMULS, Side
from fp8core.quantize import QuantizedTensor, quantize, scales
from fp8core.recipes import RECIPES, OperandSpec
from fp8core.scales import FP32_SCALE, Fit, OuterScale, ScaleRule
from fp8core.tiles import WHOLE, TileGrid, TileShape

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
    found = quantize(x, TileGrid.over(x.shape, (1, 16)), NVFP4)
    assert found.scale.tolist() == [[448.0, 0.0]]
    assert found.scale_codes().tolist() == [[0x7E, 0x00]]
    assert found.values()[0, [0, 16]].tolist() == [np.float32(1.0), 0.0]


def test_a_delayed_scale_comes_from_the_history_and_what_grew_saturates() -> None:
    operand = RECIPES["per_tensor_delayed"].operand(MATMULS["fprop"], Side.A)
    x = np.array([[1.0, -8.0, np.nan, np.inf]], np.float32)
    found = quantize(x, operand, history=[0.5, 2.0, 1.0])
    assert found.scale.tolist() == [[np.float32(2) / np.float32(448)]]
    assert found.values()[0, :2].tolist() == pytest.approx([1.0, -2.0], rel=2.0**-4)
    assert np.isnan(found.values()[0, 2])
    assert found.values()[0, 3] == pytest.approx(2.0)
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


def by_hand_errors(x: np.ndarray, found: QuantizedTensor) -> np.ndarray:
    """float64[tiles]: the squared error of each 1x16 tile."""
    return ((found.exact_values() - x) ** 2).reshape(-1, 16).sum(1)


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


def test_an_inner_format_whose_range_is_beyond_fp32_is_held_at_the_largest_float() -> None:
    rule = replace(NVFP4.scale_rule, format=FORMATS["e8m0"])
    assert rule.outer_reach(FORMATS["e2m1"]) == np.finfo(np.float32).max
    x = draw(InputKind.OUTLIER_CHANNELS, (8, 64), seed=3)
    found = quantize(x, TileGrid.over(x.shape, (1, 16)), replace(NVFP4, scale_rule=rule))
    assert np.isfinite(found.scale).all()
    assert np.abs(found.exact_values() - x).max() < np.abs(x).max()
