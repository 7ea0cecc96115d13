"""Contract: each term is drawn as the bits it has, on their side of the cut; curves are the errors given."""

import math
from itertools import pairwise

import numpy as np
import pytest

from fp8core.accumulators import ACCUMULATORS
from fp8core.accumulators.error_over_k import SumError
from fp8core.accumulators.trace import is_traceable, trace
from fp8core.experiments.dot_terms import OFFERED_TERMS, TermKind, draw_terms
from fp8core.formats import FORMATS
from pages.accumulation.charts.curves import (
    LINES,
    NAMES,
    PRICES,
    Curve,
    bias_domain,
    cost_chart,
    curves_chart,
    rms_domain,
    scaled,
)
from pages.accumulation.charts.steps import (
    HEAD,
    LEFT,
    RIGHT,
    StepScene,
    grid_columns,
    one_columns,
    pull_columns,
    step_columns,
    strip_columns,
    term_columns,
)
from pages.kit.charts.ink import DARK, LIGHT
from tests.pages.specs import in_rows, rows

UNITS = [unit for unit in ACCUMULATORS.values() if is_traceable(unit)]
by_unit = pytest.mark.parametrize("unit", UNITS, ids=lambda unit: unit.name)


def scene(unit, kind=TermKind.ONE_LARGE, k=128, seed=0, room=550) -> StepScene:
    format_ = FORMATS[unit.operands[0]]
    a, b = (format_.encode(x)[0] for x in draw_terms(kind, (1, 1), k, seed))
    return StepScene(trace(a, b, format_, format_, unit), room)


@pytest.mark.parametrize("kind", OFFERED_TERMS, ids=lambda kind: kind.value)
@by_unit
def test_bits_above_the_cut_are_what_is_kept_and_bits_below_what_is_lost(unit, kind):
    picture = scene(unit, kind)
    terms = in_rows(term_columns(picture))
    assert len(terms) == sum(step.terms.size for step in picture.steps)
    ones = one_columns(picture)
    values = np.zeros(picture.terms.shape)
    columns = picture.columns.astype(np.float32).tolist()
    for one in in_rows(ones):
        if one["is_kept"]:
            values[one["step"] - 1, columns.index(one["x"])] += 2.0 ** float(one["exponent"])
    np.testing.assert_array_equal(values, np.abs(picture.after_cut))
    places = [(s, i) for s in picture.steps for i in range(s.terms.size)]
    for row, (step, i) in zip(terms, places, strict=True):
        assert row["top"] <= row["cut"] <= row["low"]
        is_below = step.lost[i] != 0 and picture.low < step.cut
        assert (row["cut"] < row["low"]) == is_below
        assert (row["top"] == row["cut"]) == (step.kept[i] == 0)
        if step.terms[i]:
            assert row["share"] == abs(step.lost[i] / step.terms[i])
            assert row["sign"] == ("+" if step.terms[i] > 0 else "−")


@by_unit
def test_every_bar_lies_in_the_picture_and_none_overlaps_another(unit):
    picture = scene(unit)
    half = picture.bar / 2
    for number in (1, len(picture.steps)):
        rows = [row for row in in_rows(term_columns(picture)) if row["step"] == number]
        spans = sorted((row["x"] - half, row["x"] + half) for row in rows)
        assert all(right < left for (_, right), (left, _) in pairwise(spans))
        assert LEFT <= spans[0][0] < spans[-1][1] <= RIGHT
        assert all(0 < row["top"] <= row["low"] <= picture.bottom for row in rows)
        labels = [row["label"] for row in rows if row["label"]]
        assert labels[-1] == "c"
        assert 2 <= len(labels) <= 10


def test_the_window_ends_at_the_cut_and_a_bit_of_weight_e_begins_one_above():
    picture = scene(ACCUMULATORS["hopper_fast"])
    for row, step in zip(in_rows(step_columns(picture)), picture.steps, strict=True):
        assert row["edge"] - row["unit"] == pytest.approx(picture.bit_tall * (1 + step.fraction_bits))
        assert row["edge"] == pytest.approx(picture.y(step.largest - 13))
        is_gone = (step.terms != 0) & (step.kept == 0)
        assert row["hit"] == f"{sum(step.lost[:-1] != 0)} of 32"
        assert row["dead"].split(" ")[0] == (str(is_gone.sum()) if is_gone.any() else "")
    assert all(0 < row["y"] <= picture.bottom for row in in_rows(grid_columns(picture)))


def test_a_hand_pulls_c_over_a_scale_that_stays():
    unit = ACCUMULATORS["hopper_fast"]
    plain = scene(unit, TermKind.SAME_SIGN).steps
    format_ = FORMATS["e4m3"]
    a, b = (format_.encode(x)[0] for x in draw_terms(TermKind.SAME_SIGN, (1, 1), 128, 0))
    scales = set()
    for power in (0, 3, 7):
        steps = trace(a, b, format_, format_, unit, 2.0**power if power else 0.0)
        picture = StepScene(steps, 550, start=power, plain=plain)
        scales.add((picture.y(0), picture.bit_tall, picture.height))
        rail = in_rows(pull_columns(picture))
        for number, step in enumerate(steps, 1):
            (here,) = (row for row in rail if (row["step"], row["at"]) == (number, power))
            c = step.terms[-1]
            assert here["y"] == pytest.approx(
                picture.y(math.floor(math.log2(c)) + 1) if c else picture.bottom
            )
        assert all(HEAD <= row["y"] <= picture.bottom + 1e-6 for row in rail)
    assert len(scales) == 1


def test_the_strip_is_the_error_of_every_result_so_far():
    picture = scene(ACCUMULATORS["hopper_fast"], TermKind.SAME_SIGN)
    points = in_rows(strip_columns(picture))
    errors = [0.0, *(step.total - step.exact for step in picture.steps)]
    worst = max(map(abs, errors))
    for row, error in zip(points, errors, strict=True):
        assert (row["y"] - row["zero"]) * worst == pytest.approx(-error * picture.strip, abs=1e-9)
    assert (points[0]["x"], points[-1]["x"]) == (LEFT, RIGHT)
    assert [row["before"] for row in points[1:]] == [row["x"] for row in points[:-1]]


@pytest.mark.parametrize("room", [330, 550])
@by_unit
def test_the_picture_is_no_higher_than_its_room(unit, room):
    for k in (64, 512):
        picture = scene(unit, k=max(k, unit.fused_products), room=room)
        assert picture.height <= room + 1e-6


CURVES = [
    Curve(
        name="one",
        evidence="captured",
        errors=(SumError(k=32, rms=1e-4, bias=-1e-5), SumError(k=64, rms=2e-3, bias=-1e-3)),
    ),
    Curve(
        name="two",
        evidence="definition",
        errors=(SumError(k=32, rms=0, bias=0), SumError(k=64, rms=0, bias=0)),
    ),
]


@pytest.mark.parametrize("field", ["rms", "bias"])
def test_a_curve_has_the_errors_given_and_says_what_speaks_for_it(field):
    spec = curves_chart(CURVES, field, 500, DARK)
    points = {(row["unit"], row["evidence"], row["k"]): row["error"] for row in rows(spec, LINES)}
    assert points == {
        ("one", "captured", 32): getattr(CURVES[0].errors[0], field),
        ("one", "captured", 64): getattr(CURVES[0].errors[1], field),
        ("two (no error)", "definition", 32): 0,
        ("two (no error)", "definition", 64): 0,
    }


@pytest.mark.parametrize("field", ["rms", "bias"])
@pytest.mark.parametrize("name", ["place", "narrow_place"])
def test_each_name_is_near_the_end_of_its_line_and_on_no_other_name(field, name):
    """The axis is as high as the picture without its words; a name takes at least a line of it."""
    names = ["apart", *(f"unit {number}, with more of its name" for number in range(5))]
    ends = [1e-6, 2e-2, 2e-2, 2.1e-2, 2.2e-2, 3e-2]
    curves = [
        Curve(name=unit, evidence="captured", errors=(SumError(k=32, rms=end, bias=-end),))
        for unit, end in zip(names, ends, strict=True)
    ]
    spec = curves_chart(curves, field, 500, LIGHT)
    low, high = rms_domain(ends) if field == "rms" else bias_domain([-end for end in ends])
    places = {row["unit"]: 428 * row[name] for row in rows(spec, NAMES)}
    assert all(0 <= place <= 428 for place in places.values())
    assert all(more - less >= 14 for less, more in pairwise(sorted(places.values())))
    low, high, end = (scaled(error, field) for error in (low, high, 1e-6 if field == "rms" else -1e-6))
    assert places["apart"] == pytest.approx(428 * (high - end) / (high - low), abs=12)


def test_the_price_s_points_are_the_intervals_and_the_last_is_never():
    spec = cost_chart((32, 64, 128), {"a": (1e-3, 2e-3, 4e-3), "b": (1e-5, 2e-5, 4e-5)}, 500, LIGHT)
    prices = rows(spec, PRICES)
    assert [row["label"] for row in prices[:3]] == ["32 products", "64 products", "never: one chain"]
    assert all(math.isclose(row["additions"], 500 / row["every"]) for row in prices)
    assert spec["layer"][0]["encoding"]["x"]["axis"]["values"] == [32, 64, 128]


@pytest.mark.parametrize(
    ("errors", "domain"),
    [
        ((4.2e-5, 4.7e-5), [1e-5, 1e-4]),
        ((0.0, 3e-3, 0.2), [1e-3, 1.0]),
        ((0.0,), [0.1, 1.0]),
        ((1e-3,), [1e-3, 1e-2]),
    ],
)
def test_a_logarithmic_axis_spans_whole_decades(errors, domain):
    assert rms_domain(errors) == pytest.approx(domain)


@pytest.mark.parametrize(
    ("errors", "domain"),
    [((-0.066, 0.0), [-0.1, 0]), ((-2e-4, 4e-4), [-3e-4, 1e-3]), ((0.0, 0.0), [-1e-5, 0])],
)
def test_a_signed_axis_has_zero_and_ends_at_ticks(errors, domain):
    assert bias_domain(errors) == pytest.approx(domain)
