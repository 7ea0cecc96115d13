"""The pictures of "Rotations" draw what was computed; its facts are those of a Hadamard rotation."""

import math

import numpy as np
import pytest

from fp8core.formats import FORMATS
from fp8core.recipes import OperandSpec
from fp8core.scales import SCALE_RULES
from fp8core.tiles import TileShape
from pages.kit.chart_slider import AT, SLIDER
from pages.kit.charts.ink import LIGHT
from pages.kit.lesson.facts import fact
from pages.rotations.charts import vectors
from pages.rotations.charts.curves import KINDS, NOW, WITH, WITHOUT, Curve, curves_chart
from pages.rotations.controls import LINE, WHOLE_VECTOR
from pages.rotations.facts import Setting
from pages.rotations.vectors import picture
from tests.pages.specs import dataset, in_rows


def names(spec: object) -> set[str]:
    """Every data set a chart asks for by name."""
    if isinstance(spec, dict):
        own = {spec["data"]["name"]} if "name" in spec.get("data", {}) else set()
        return own.union(*map(names, spec.values()))
    return set().union(*map(names, spec)) if isinstance(spec, list) else set()


def setting_of(**values: object) -> Setting:
    usual = {"size": 64, "rest": "gaussian", "outliers": 1, "seed": 0, "rotation": "hadamard"}
    return Setting(**usual | {"format": "e2m1", "tile": LINE, "scale": "fp32"} | values)


def test_the_picture_asks_for_the_data_it_gets_and_starts_the_handle_where_told() -> None:
    chart = picture(setting_of(), 40, LIGHT, 500)
    assert names(chart) == {vectors.ENTRIES, vectors.POSITIONS, vectors.TICKS} == set(chart["datasets"])
    slider = next(p for p in chart["params"] if p["name"] == SLIDER)
    assert slider["value"] == [{AT: 40}]
    assert (slider["bind"]["min"], slider["bind"]["max"]) == (1, 128)


@pytest.mark.parametrize(("tile", "elements"), [(LINE, int(LINE)), (WHOLE_VECTOR, 64)])
def test_a_tile_of_the_picture_is_that_of_the_quantizer(tile, elements) -> None:
    tiles = dataset(picture(setting_of(tile=tile), 16, LIGHT, 500), vectors.ENTRIES)["tile"]
    assert tiles == 2 * [number // elements for number in range(64)]


@pytest.mark.parametrize("outliers", [1, 3])
@pytest.mark.parametrize(
    ("format_", "tile"), [("e2m1", LINE), ("e2m1", WHOLE_VECTOR), ("e4m3", WHOLE_VECTOR)]
)
def test_each_position_has_the_quantizers_figures(format_, tile, outliers) -> None:
    setting = setting_of(format=format_, tile=tile, outliers=outliers, rotation="orthogonal")
    data = picture(setting, 16, LIGHT, 500)
    rows = [row for row in in_rows(dataset(data, vectors.POSITIONS)) if row["at"] in (1, 17, 128)]
    ((low, high),) = [[p["value"] for p in data["params"] if p["name"] in ("low", "high")]]
    for row in rows:
        one = setting.one()[row["panel"]].quantized(row["at"], setting.spec())
        assert row["zeros"] == round(one.zeros * setting.size)
        assert row["largest"] == pytest.approx(np.abs(one.numbers).max())
        assert row["edge"] == pytest.approx(one.scale.ravel()[-1] * FORMATS[format_].max)
        assert row["length"] == pytest.approx(np.linalg.norm(one.numbers))
        assert low < row["largest"] < high
    assert {row["i"] for row in rows} == {int(np.argmax(setting.one()[0].vectors.is_outlier[0]))}


@pytest.mark.parametrize("rule", SCALE_RULES.values(), ids=SCALE_RULES)
@pytest.mark.parametrize("name", ["e4m3", "e5m2", "e2m1"])
def test_the_browsers_scale_is_the_quantizers(rule, name) -> None:
    """The expression, read as Python, against fp8core on amax over ten octaves and at powers of two."""
    spec = OperandSpec(format=FORMATS[name], tile=TileShape(1, 16), scale_rule=rule)
    expr = vectors.scale_expr(spec, "amax").replace("? 1 : 0", "")
    amax = np.concatenate([np.geomspace(0.01, 200, 997), 2.0 ** np.arange(-6, 8), [1.75, 3.5, 112.0]])
    amax = amax.astype(np.float32)
    functions = {"log": np.log, "pow": np.power, "floor": np.floor, "ceil": np.ceil, "LN2": np.log(2)}
    value = eval(expr, {"__builtins__": {}}, functions | {"amax": amax.astype(np.float64)})
    np.testing.assert_allclose(value, spec.scale_rule.scale(amax, spec.format), rtol=1e-6)


@pytest.mark.parametrize("kind", KINDS, ids=" ".join)
def test_curves_ask_for_the_data_they_get(kind) -> None:
    panels = {name: Curve([1, 2], [2, 1]) for name in kind}
    chart = curves_chart((1.0, 4.0), panels, 2.0, LIGHT)
    assert names(chart) == set(chart["datasets"])
    for name in kind:
        assert dataset(chart, name) == {"magnitude": [1.0, 4.0], WITHOUT: [1, 2], WITH: [2, 1]}
    assert dataset(chart, NOW) == {"magnitude": [2.0]}
    axes = [panel["layer"][0]["encoding"]["x"]["axis"] for panel in chart["vconcat"]]
    assert [axis is not None for axis in axes] == [False] * (len(kind) - 1) + [True]


ALONE = {"rotations_size": "256", "rotations_rest": "zero", "rotations_magnitude": 32}


def test_a_lone_outlier_is_divided_by_the_root_of_the_size():
    assert fact("rotations.amax", ALONE) == 32
    assert fact("rotations.rotated_amax", ALONE) == pytest.approx(32 / math.sqrt(256))


def test_rotating_helps_four_bits_with_one_scale_and_hurts_eight_bits():
    one_scale = {"rotations_size": "256", "rotations_tile": "whole", "rotations_magnitude": 32}
    assert fact("rotations.error_gain", one_scale) > 5
    assert fact("rotations.rotated_zeros_share", one_scale) < 0.1 < fact("rotations.zeros_share", one_scale)
    eight_bits = one_scale | {"rotations_format": "e4m3"}
    assert min(fact(f"rotations.{name}_ratio", eight_bits) for name in ("error", "rest")) > 2


def test_two_rotations_cancel_in_the_product():
    assert fact("rotations.product_moved", {"rotations_size": "256"}) < 1e-10
    whole = {"rotations_size": "256", "rotations_tile": "whole", "rotations_magnitude": 32}
    assert fact("rotations.product_error", whole) > 2 * fact("rotations.rotated_product_error", whole)
