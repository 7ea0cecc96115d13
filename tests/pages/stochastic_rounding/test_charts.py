"""The charts of stochastic rounding draw what was computed, in the theme's colors; facts are by hand."""

import math

import numpy as np
import pytest

from fp8core.experiments.dot_noise import DotErrors
from fp8core.experiments.rounding_sweep import sweep, values_around
from fp8core.experiments.weight_updates import Pull
from fp8core.formats import FORMATS
from fp8core.stochastic import Debias
from pages.kit.charts.ink import DARK, LIGHT, Ink
from pages.kit.charts.template import Filled
from pages.kit.lesson.facts import fact
from pages.stochastic_rounding.charts import noise
from pages.stochastic_rounding.training import RUNS, SINGLE_RUNS, first_win, weight_path
from tests.pages.specs import dataset, rows

E2M1 = FORMATS["e2m1"]
ERRORS = DotErrors(terms=np.array([4, 8]), nearest=np.array([0.2, 0.1]), stochastic=np.array([0.3, 0.05]))


def blur_spec(ink: Ink) -> Filled:
    return noise.blur_chart([0.4, 0.3], [0.5, 0.1], 1, ink)


def dot_spec(ink: Ink) -> Filled:
    return noise.dot_chart(ERRORS, (0.01, 1.0), "Both signs", ink, floor=0.02)


def mean_spec(ink: Ink) -> Filled:
    values = values_around(E2M1, 2.0, 4)
    return noise.mean_chart(sweep(E2M1, values, 10, 1, Debias.TRUNCATE), values, "e2m1", ink)


def weight_spec(ink: Ink, steps: int = 1000) -> Filled:
    return noise.weight_chart(weight_path("e2m1", 0.01, Pull.DOWN, steps, 8, 0), ink)


def line(spec: Filled, name: str, x: str) -> dict[float, float]:
    return {row[x]: row["y"] for row in rows(spec, "lines") if row["line"] == name}


SPECS = {"blur": blur_spec, "dot": dot_spec, "mean": mean_spec, "weight": weight_spec}


@pytest.mark.parametrize("make", SPECS.values(), ids=SPECS)
@pytest.mark.parametrize("ink", [LIGHT, DARK], ids=["light", "dark"])
def test_a_chart_names_its_data_and_its_axes_hold_every_line(make, ink):
    spec = make(ink)
    assert spec["width"] == "container"
    assert {layer["data"]["name"] for layer in spec["layer"]} == set(spec["datasets"])
    for color in (ink.text, ink.lost):
        assert color in str(spec)
    lines = dataset(spec, "lines")
    x = next(name for name in lines if name not in ("line", "y"))
    for channel, column in (("x", x), ("y", "y")):
        scales = [
            layer["encoding"][channel]["scale"] for layer in spec["layer"] if channel in layer["encoding"]
        ]
        low, high = scales[0]["domain"]
        assert all(scale["domain"] == [low, high] for scale in scales)
        assert low <= min(lines[column]) < max(lines[column]) <= high


def test_the_blur_chart_shows_both_errors_and_where_the_pictures_are():
    spec = blur_spec(LIGHT)
    assert line(spec, noise.NEAREST, "blur") == {0: 0.4, 1: 0.3}
    assert line(spec, noise.STOCHASTIC, "blur") == {0: 0.5, 1: 0.1}
    assert dataset(spec, "shown") == {"blur": [1]}


def test_the_dot_chart_shows_both_errors_and_the_bias_only_where_there_is_one():
    spec = dot_spec(LIGHT)
    assert line(spec, noise.STOCHASTIC, "terms") == {4: 0.3, 8: 0.05}
    assert line(spec, noise.NEAREST, "terms") == {4: 0.2, 8: 0.1}
    assert dataset(spec, "floor")["y"] == [0.02]
    assert len(noise.dot_chart(ERRORS, (0.01, 1.0), "Both signs", LIGHT)["layer"]) == 1


def test_noise_wins_from_the_first_length_after_which_it_never_loses():
    assert first_win(ERRORS) == 8
    other = DotErrors(terms=ERRORS.terms, nearest=ERRORS.stochastic, stochastic=ERRORS.nearest)
    assert first_win(other) is None


def test_the_mean_with_one_random_bit_is_half_way_from_the_middle_of_a_gap_on():
    spec = mean_spec(LIGHT)
    assert line(spec, noise.EXACT, "x") == {1.0: 1.0, 4.0: 4.0}
    mean = line(spec, noise.STOCHASTIC, "x")
    assert mean[min(mean)] == 1.0
    upper = [row for row in rows(spec, "figures") if 2.5 < row["x"] < 3]
    assert {(row["mean"], row["nearest"], row["chance"], row["sd"]) for row in upper} == {
        (2.5, 3.0, 0.5, 0.5)
    }
    stairs = rows(spec, "lines")
    assert {row["y"] for row in stairs if row["line"] == noise.NEAREST} == {1.0, 1.5, 2.0, 3.0, 4.0}
    assert {row["x"] for row in stairs if row["line"] == noise.NEAREST} == {1.0, 1.25, 1.75, 2.5, 3.5, 4.0}
    band = next(row for row in rows(spec, "band") if 2.5 < row["x"] < 3)
    assert (band["low"], band["high"]) == (2.0, 3.0)


@pytest.mark.parametrize("steps", [100, 10_000])
def test_the_weight_chart_has_every_line_from_first_to_last_step_in_few_points(steps):
    spec = weight_spec(LIGHT, steps)
    for name in (noise.STOCHASTIC, noise.NEAREST, noise.EXACT):
        path = line(spec, name, "step")
        assert (min(path), max(path)) == (0, steps)
        assert len(path) <= 200
    assert len(set(dataset(spec, "runs")["line"])) == SINGLE_RUNS < RUNS
    assert line(spec, noise.NEAREST, "step")[steps] == 1.0
    last = rows(spec, "figures")[-1]
    assert last["mean"] == line(spec, noise.STOCHASTIC, "step")[steps]
    assert max(row["sd"] for row in rows(spec, "figures")) > 0


def test_a_weight_of_bf16_stands_still_below_half_a_gap():
    bf16 = {"part": "training", "weight": "bf16"}
    assert fact("stochastic_rounding.nearest_end", bf16) == 1
    assert fact("stochastic_rounding.half_gap", bf16) == 2.0**-9
    assert fact("stochastic_rounding.half_gap", bf16 | {"weight": "fp16"}) == 0
    end = 1 - 1000 * fact("stochastic_rounding.update", bf16)
    assert fact("stochastic_rounding.exact_end", bf16) == pytest.approx(end)


@pytest.mark.parametrize("bits", [1, 4, 8])
def test_random_bits_bound_the_error_of_the_mean(bits):
    worst = fact("stochastic_rounding.noisy_bias", {"random_bits": bits})
    assert worst == pytest.approx(2.0**-bits, rel=0.02)


def test_the_mean_of_the_picture_is_kept():
    light, nearest, noisy = (
        fact(f"stochastic_rounding.{name}", {}) for name in ("light", "nearest_light", "noisy_light")
    )
    assert noisy == pytest.approx(light, abs=0.005)
    assert nearest < light / 10


def test_where_signs_cancel_nearest_wins_by_about_the_root_of_two_under_every_seed():
    """A third of a squared step against a sixth: fractions of a step are nearly uniform."""
    assert fact("stochastic_rounding.winner_of_both_signs", {}) == "nearest"
    ratio = fact("stochastic_rounding.loser_ratio", {})
    assert (
        ratio == fact("stochastic_rounding.loser_ratio", {"seed": 1}) == pytest.approx(math.sqrt(2), rel=0.02)
    )
