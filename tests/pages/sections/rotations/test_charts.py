"""The pictures of the page "Rotations" draw what they are given, in named data sets."""

import numpy as np
import pytest

from fp8core.experiments.outliers import hadamard_density
from fp8core.formats import FORMATS
from fp8core.recipes import OperandSpec
from fp8core.scales import FP32_SCALE, SCALE_RULES, ScaleRule
from fp8core.tiles import WHOLE, TileShape
from pages.kit.charts.ink import INKS
from pages.sections.rotations.charts import cost as rotations_cost
from pages.sections.rotations.charts import curves as rotations_curves
from pages.sections.rotations.charts import histogram as rotations_histogram
from pages.sections.rotations.charts import vector as rotations_vector
from pages.sections.rotations.charts.curves import CROSSINGS, NOW, WITH, WITHOUT, Curve
from pages.sections.rotations.charts.histogram import Entries
from pages.sections.rotations.charts.vector import Stems

by_theme = pytest.mark.parametrize("ink", INKS.values(), ids=INKS)


def names(spec: object) -> set[str]:
    """Every data set a chart asks for by name."""
    if isinstance(spec, dict):
        own = {spec["data"]["name"]} if "name" in spec.get("data", {}) else set()
        return own.union(*map(names, spec.values()))
    return set().union(*map(names, spec)) if isinstance(spec, list) else set()


def spec_of(rule: ScaleRule = FP32_SCALE, tile: int | None = 16) -> OperandSpec:
    return OperandSpec(format=FORMATS["e2m1"], tile=TileShape(1, tile), scale_rule=rule)


@by_theme
def test_the_stems_ask_for_the_data_they_get_and_start_the_slider_where_told(ink) -> None:
    chart = rotations_vector.vector_picture(16, spec_of(), 40, (1, 128), ink).to_dict()
    assert names(chart) == set(rotations_vector.PANELS)
    slider = next(p for p in chart["params"] if p["name"] == rotations_vector.OUTLIER)
    assert slider["value"] == [{"magnitude": 40}]
    assert (slider["bind"]["min"], slider["bind"]["max"]) == (1, 128)


def test_stem_columns_number_elements_and_tiles() -> None:
    stems = Stems(rest=np.arange(4.0), slope=np.zeros(4), is_outlier=np.array([True, False, False, False]))
    columns = rotations_vector.stem_columns(stems, spec_of(tile=2))
    assert columns["i"] == [0, 1, 2, 3]
    assert columns["tile"] == [0, 0, 1, 1]
    assert rotations_vector.stem_columns(stems, spec_of(tile=WHOLE))["tile"] == [0] * 4
    assert columns["outlier"] == [True, False, False, False]


@pytest.mark.parametrize("rule", SCALE_RULES.values(), ids=SCALE_RULES)
@pytest.mark.parametrize("name", ["e4m3", "e5m2", "e2m1"])
def test_the_browsers_scale_is_the_quantizers(rule, name) -> None:
    """The expression, read as Python, against fp8core on amax over ten octaves and at powers of two."""
    spec = OperandSpec(format=FORMATS[name], tile=TileShape(1, 16), scale_rule=rule)
    expr = rotations_vector.scale_expr(spec, "amax").replace("? 1 : 0", "")
    amax = np.concatenate([np.geomspace(0.01, 200, 997), 2.0 ** np.arange(-6, 8), [1.75, 3.5, 112.0]])
    amax = amax.astype(np.float32)
    functions = {"log": np.log, "pow": np.power, "floor": np.floor, "ceil": np.ceil, "LN2": np.log(2)}
    found = eval(expr, {"__builtins__": {}}, functions | {"amax": amax.astype(np.float64)})
    np.testing.assert_allclose(found, spec.scale_rule.scale(amax, spec.format), rtol=1e-6)


def test_histogram_bars_hold_every_entry_and_have_the_area_of_their_share() -> None:
    values = np.random.default_rng(0).uniform(-4, 4, 10_000)
    bars = rotations_histogram.bar_columns(Entries(values=values, at=values[:2], density=None), 5.0)
    widths = np.subtract(bars["to"], bars["from"])
    assert sum(bars["share"]) == pytest.approx(1)
    np.testing.assert_allclose(bars["density"] * widths, bars["share"], rtol=1e-2)


@by_theme
def test_histograms_have_a_line_only_where_a_density_is_known(ink) -> None:
    at = np.linspace(-5, 5, 11)
    panels = [
        Entries(values=at, at=at, density=None),
        Entries(values=at, at=at, density=hadamard_density(at, 16, 4, 1)),
    ]
    data = rotations_histogram.data_sets(panels, 6.0)
    assert set(data) == {"bars0", "bars1", "line1"}
    assert names(rotations_histogram.histograms(("A", "B"), (1,), 6.0, ink).to_dict()) == set(data)


@by_theme
def test_curves_ask_for_the_data_they_get(ink) -> None:
    panels = {"total": Curve([1, 2], [2, 1], [1.5]), "zeros": Curve([0, 1], [0, 0])}
    data = rotations_curves.data_sets((1.0, 4.0), panels, 2.0)
    chart = rotations_curves.curves((1.0, 4.0), {"total": "T", "zeros": "Z"}, {"zeros": (0, 1)}, ink)
    assert names(chart.to_dict()) == set(data)
    assert data["total"] == {"magnitude": [1.0, 4.0], WITHOUT: [1, 2], WITH: [2, 1]}
    assert data["total" + CROSSINGS] == {"magnitude": [1.5]}
    assert data[NOW] == {"magnitude": [2.0]}


@by_theme
def test_an_error_of_zero_is_left_out_of_the_logarithmic_axis(ink) -> None:
    marks = [
        rotations_cost.Way(format="e4m3", way="a", nmse=0.0),
        rotations_cost.Way(format="e4m3", way="b", nmse=1e-3),
    ]
    chart = rotations_cost.ways(marks, ("a", "b"), ink).to_dict()
    (rows,) = chart["datasets"].values() if "datasets" in chart else [chart["data"]["values"]]
    assert [row["way"] for row in rows] == ["b"]


def test_fp32_is_the_rule_the_stems_use_by_default() -> None:
    assert rotations_vector.scale_expr(spec_of(FP32_SCALE), "a") == "a / 6.0"
