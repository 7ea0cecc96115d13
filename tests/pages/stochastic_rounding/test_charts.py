"""Contract: what the charts of stochastic rounding draw is what was computed, in the theme's colors."""

import numpy as np
import pytest

from fp8core.experiments.dot_noise import DotErrors
from fp8core.experiments.rounding_sweep import sweep, values_around
from fp8core.experiments.weight_updates import Pull, walk
from fp8core.formats import FORMATS
from fp8core.stochastic import Debias
from pages.kit.charts.ink import DARK, LIGHT, Ink
from pages.kit.charts.template import Filled
from pages.stochastic_rounding.charts.blur import blur_chart
from pages.stochastic_rounding.charts.dot import dot_chart
from pages.stochastic_rounding.charts.lines import EXACT, NEAREST, STOCHASTIC
from pages.stochastic_rounding.charts.mean import mean_chart
from pages.stochastic_rounding.charts.weight import SINGLE_RUNS, drawn, weight_chart
from tests.pages.specs import dataset, rows

E2M1 = FORMATS["e2m1"]


def blur_spec(ink: Ink) -> Filled:
    return blur_chart([0.4, 0.3], [0.5, 0.1], 1, ink)


def dot_spec(ink: Ink) -> Filled:
    errors = DotErrors(terms=np.array([4, 8]), nearest=np.array([0.2, 0.1]), stochastic=np.array([0.3, 0.05]))
    return dot_chart(errors, (0.01, 1.0), "Both signs", ink, floor=0.02)


def mean_spec(ink: Ink) -> Filled:
    values = values_around(E2M1, 2.0, 4)
    return mean_chart(sweep(E2M1, values, 10, 1, Debias.TRUNCATE), values, "e2m1", ink)


def weight_spec(ink: Ink, steps: int = 1000) -> Filled:
    noise = np.random.default_rng(0).integers(0, 256, (steps, 8))
    return weight_chart(drawn(walk(E2M1, 1.0, 0.01, Pull.DOWN, noise, 8)), ink)


def line(spec: Filled, name: str, x: str) -> dict[float, float]:
    return {row[x]: row["y"] for row in rows(spec, "lines") if row["line"] == name}


SPECS = {"blur": blur_spec, "dot": dot_spec, "mean": mean_spec, "weight": weight_spec}


@pytest.mark.parametrize("make", SPECS.values(), ids=SPECS)
@pytest.mark.parametrize("ink", [LIGHT, DARK], ids=["light", "dark"])
def test_a_chart_fits_its_column_and_names_all_its_data(make, ink):
    spec = make(ink)
    assert spec["width"] == "container"
    assert {layer["data"]["name"] for layer in spec["layer"]} == set(spec["datasets"])
    assert ink.text in str(spec)
    assert ink.lost in str(spec)


def test_the_blur_chart_shows_both_errors_and_where_the_pictures_are():
    spec = blur_spec(LIGHT)
    assert line(spec, NEAREST, "blur") == {0: 0.4, 1: 0.3}
    assert line(spec, STOCHASTIC, "blur") == {0: 0.5, 1: 0.1}
    assert dataset(spec, "shown") == {"blur": [1]}
    assert dataset(blur_chart([0.4, 0.3], [0.5, 0.1], 0, LIGHT), "shown") == {"blur": [0]}


def test_the_dot_chart_shows_both_errors_and_the_bias_only_where_there_is_one():
    spec = dot_spec(LIGHT)
    assert line(spec, STOCHASTIC, "terms") == {4: 0.3, 8: 0.05}
    assert dataset(spec, "floor")["y"] == [0.02]
    errors = DotErrors(terms=np.array([4]), nearest=np.array([0.2]), stochastic=np.array([0.3]))
    assert len(dot_chart(errors, (0.01, 1.0), "Both signs", LIGHT)["layer"]) == 1


def test_the_mean_with_one_random_bit_is_half_way_from_the_middle_of_a_gap_on():
    spec = mean_spec(LIGHT)
    mean = line(spec, STOCHASTIC, "x")
    assert mean[min(mean)] == 1.0
    assert {row["mean"] for row in rows(spec, "told") if 2.5 < row["x"] < 3} == {2.5}
    assert {row["nearest"] for row in rows(spec, "told") if 2.5 < row["x"] < 3} == {3.0}
    assert {row["chance"] for row in rows(spec, "told")} == {0.0, 0.5}
    assert line(spec, EXACT, "x") == {1.0: 1.0, 4.0: 4.0}


@pytest.mark.parametrize("steps", [100, 10_000])
def test_the_weight_chart_has_every_line_from_first_to_last_step_in_few_points(steps):
    spec = weight_spec(LIGHT, steps)
    for name in (STOCHASTIC, NEAREST, EXACT):
        drawn = line(spec, name, "step")
        assert (min(drawn), max(drawn)) == (0, steps)
        assert len(drawn) <= 200
    assert len(set(dataset(spec, "runs")["line"])) == SINGLE_RUNS
    assert line(spec, NEAREST, "step")[steps] == 1.0


def scales(spec: Filled, channel: str) -> list[list[float]]:
    """The domains of an axis, each once."""
    found = [
        layer["encoding"][channel]["scale"]["domain"]
        for layer in spec["layer"]
        if channel in layer["encoding"]
    ]
    return [domain for number, domain in enumerate(found) if domain not in found[:number]]


@pytest.mark.parametrize("make", SPECS.values(), ids=SPECS)
def test_the_axes_hold_every_line_before_the_data_arrive(make):
    spec = make(LIGHT)
    x = next(name for name in dataset(spec, "lines") if name not in ("line", "y"))
    for channel, column in (("x", x), ("y", "y")):
        ((low, high),) = scales(spec, channel)
        assert low <= min(dataset(spec, "lines")[column])
        assert high >= max(dataset(spec, "lines")[column])
