"""Section "Formats compared": every value is in its picture; a power of two has as many as are counted."""

import math
from collections import Counter

import ml_dtypes
import numpy as np
import pytest

from fp8core.formats import FORMATS
from pages.formats.charts.compare import BINADES, NAMES, VALUES, binade_counts, compare_chart, count_chart
from pages.formats.compare import BITS, KINDS, split, split_rows, splits_words
from pages.formats.controls import OWN, OWN_SPECIALS
from pages.kit.charts.ink import LIGHT
from pages.kit.lesson.facts import fact
from tests.pages.specs import dataset, rows
from tests.pages.texts import texts

PAGE = "pages/formats.py"
SMALL = {name: format_ for name, format_ in FORMATS.items() if format_.bits <= 8}
E4M3 = {"compared": ["e4m3", "e5m2"]}


@pytest.mark.parametrize("is_log", [True, False])
def test_every_positive_value_is_a_tick(is_log):
    spec = compare_chart(SMALL, is_log, 500, LIGHT)
    for name, format_ in SMALL.items():
        positive = sorted(v for v in format_.values.tolist() if 0 < v < math.inf)
        assert sorted(row["x"] for row in rows(spec, VALUES) if row["format"] == name) == positive
    assert spec["layer"][0]["encoding"]["y"]["scale"]["domain"] == list(SMALL)


def test_a_format_of_many_codes_is_one_bar_from_its_smallest_value_to_its_largest():
    fp16 = FORMATS["fp16"]
    (bar,) = rows(compare_chart({"fp16": fp16}, True, 500, LIGHT), VALUES)
    assert (bar["x"], bar["x2"]) == (fp16.min_subnormal, fp16.max)


@pytest.mark.parametrize("name", SMALL)
def test_a_bar_has_the_values_from_its_power_of_two_to_the_next(name):
    positive = [v for v in set(SMALL[name].values.tolist()) if 0 < v < math.inf]
    assert binade_counts(SMALL[name]) == Counter(math.frexp(v)[1] - 1 for v in positive)


def test_a_bar_that_is_twice_as_many_values_is_one_step_higher():
    spec = count_chart({"E4M3": FORMATS["e4m3"], "fp16": FORMATS["fp16"]}, 500, LIGHT)
    bars = {(row["format"], row["x0"]): row for row in rows(spec, BINADES)}
    heights = [bars["E4M3", 2.0**e]["y0"] - bars["E4M3", 2.0**e]["y1"] for e in (-9, -8, -7, -6, 0)]
    assert [height / heights[0] for height in heights] == pytest.approx([1, 2, 3, 4, 4])
    assert [bars["E4M3", 2.0**e]["most"] for e in (-7, 0, 8)] == [False, True, False]
    assert bars["E4M3", 256.0]["count"] == 7, "the last code is NaN"
    assert bars["fp16", 2.0**15]["count"] == 1024
    assert dataset(spec, NAMES)["words"] == [
        "E4M3: 18 powers of two, up to 8 numbers in each",
        "fp16: 40 powers of two, up to 1,024 numbers in each",
    ]


@pytest.mark.parametrize("axis", ["log", "linear", "count"])
def test_each_axis_has_its_picture_and_the_table_of_ends(open_app, axis):
    at = open_app(PAGE, formats="compare", axis=axis, compared="own,e4m3,e2m1", own_exponent="3")
    assert not at.exception
    assert not at.error
    assert len(at.get("vega_lite_chart")) == (2 if axis == "count" else 1)
    assert "| E4M3 | 448 | 2⁻⁹ | 2⁻⁶ | 8 | NaN, −0 |" in texts(at)
    assert "| E2M1 | 6 | 0.5 | 1 | 4 | −0 |" in texts(at)
    assert "your E3M4" in at.get("vega_lite_chart")[0].proto.alt


@pytest.mark.parametrize("specials", OWN_SPECIALS.options)
@pytest.mark.parametrize("section", ["code", "compare", "overflow"])
def test_ones_own_format_is_drawn_like_the_others(open_app, specials, section):
    own = {"code_format": OWN, "compared": "own,e4m3", "overflowing": OWN, "own_specials": specials}
    at = open_app(PAGE, formats=section, own_exponent="3", own_mantissa="2", **own)
    assert not at.exception
    assert not at.error


def test_no_format_chosen_is_an_invitation(open_app):
    for section, key in (("compare", "compared"), ("overflow", "overflowing")):
        at = open_app(PAGE, **{"formats": section, key: "none"})
        assert not at.exception
        assert at.info[0].value == "Choose at least one format."


def test_every_split_of_every_kind_has_a_row():
    assert len(split_rows()) == len(KINDS) * (BITS - 1)
    assert {split(bits).bits for bits in range(1, BITS)} == {BITS}
    assert split(4).min_normal == FORMATS["e4m3"].min_normal
    gaussian = {row["split"]: row["sqnr"] for row in split_rows()[: BITS - 1]}
    assert min(gaussian, key=gaussian.__getitem__) == "E7M0"
    assert gaussian["E4M3"] > gaussian["E5M2"] + 5
    assert f"{gaussian['E7M0']:.1f} dB of SQNR" in splits_words()


def test_facts_are_those_of_the_codes():
    every = np.arange(256, dtype=np.uint8).view(ml_dtypes.float8_e4m3fn).astype(np.float64)
    positive = every[np.isfinite(every) & (every > 0)]
    facts = {
        "share_below_one": (positive < 1).mean(),
        "values_per_binade": 8,
        "even_from": 2.0**-6,
        "even_to": 2.0**8,
        "last_step": 32,
        "range_ratio": (57344 / 2.0**-16) / (448 / 2.0**-9),
        "e4m3_binades": math.log2(448 / 2.0**-9),
        "e5m2_binades": math.log2(57344 / 2.0**-16),
        "bf16_exponent_bits": 8,
    }
    assert {name: fact(f"formats.{name}", E4M3) for name in facts} == pytest.approx(facts)
