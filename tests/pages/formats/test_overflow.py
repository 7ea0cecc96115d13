"""Section "Overflow": every run has its fate, the sentences say so, and each cell is what the format does."""

import math

import pytest

from fp8core.experiments.scaled_run import LOG2_SCALES, scaled_runs
from fp8core.formats import FORMATS
from fp8core.rounding import Overflow
from pages.formats.charts.overflow import (
    CELLS,
    CLIPPED,
    FINITE,
    INPUTS,
    LEARNS,
    LOSES,
    MISSING,
    OVER,
    band_rows,
    overflow_chart,
)
from pages.formats.overflow import end_rows, fate, notice, overflow_of
from pages.kit.charts.ink import LIGHT
from pages.kit.charts.words import power_of_two
from pages.kit.lesson.facts import fact
from tests.pages.specs import dataset, rows

INF, SATURATED = (scaled_runs(FORMATS["e5m2"], how) for how in (Overflow.INF, Overflow.SATURATE))


def test_fates_follow_one_another_from_small_scales_to_large_ones():
    for runs, fates in ((INF, [LOSES, LEARNS, OVER]), (SATURATED, [LOSES, LEARNS, CLIPPED])):
        assert [*dict.fromkeys(fate(runs, k) for k in LOG2_SCALES)] == fates
        bands = band_rows(end_rows(runs))
        assert all(math.isfinite(row["loss"]) for row in end_rows(runs))
        assert [band["fate"] for band in bands] == fates
        assert [band["x0"] for band in bands[1:]] == [band["x1"] for band in bands[:-1]]
        assert (bands[0]["x0"], bands[-1]["x1"]) == (LOG2_SCALES[0] - 0.5, LOG2_SCALES[-1] + 0.5)
        assert [band["is_last"] for band in bands] == [False, False, True]
        assert bands[-1]["at"] == bands[-1]["x1"]


def test_the_policy_is_the_formats_own_special_code():
    assert [overflow_of(name, "special") for name in ("e5m2", "e4m3")] == [Overflow.INF, Overflow.NAN]
    assert overflow_of("e4m3", "saturate") is Overflow.SATURATE


def test_sentences_name_the_cliff_or_the_slow_end():
    assert f"**from {power_of_two(INF.first_lost)} on**" in notice(INF)
    assert "are clipped, so the run goes on" in notice(SATURATED)


def test_overflow_by_hand():
    cells = {(r["line"], r["input"]): r["text"] for r in rows(overflow_chart(FORMATS, LIGHT), CELLS)}
    tie, above = INPUTS[1:3]
    assert cells["e4m3: to NaN", tie] == "448"
    assert cells["e4m3: to NaN", above] == "NaN"
    assert cells["e5m2: to infinity", tie] == "∞"
    assert cells["e4m3fnuz: to NaN", tie] == "NaN"
    assert cells["e2m1: saturate", "∞"] == "6"
    assert cells["e2m1: to NaN", "max"] == "–"
    assert cells["binary8p4se: to infinity", tie] == "224"
    spec = overflow_chart({"E4M3": FORMATS["e4m3"]}, LIGHT)
    assert spec["layer"][0]["encoding"]["y"]["scale"]["domain"] == [
        *dict.fromkeys(dataset(spec, CELLS)["line"])
    ]


@pytest.mark.parametrize("name", FORMATS)
def test_the_overflow_table_is_the_same_up_to_the_policys_code(name):
    fates = {}
    for row in rows(overflow_chart({name: FORMATS[name]}, LIGHT), CELLS):
        if row["fate"] != MISSING:
            fates.setdefault(row["input"], []).append(row["fate"])
    assert set(fates["max"]) == {FINITE}
    assert fates["∞"][0] == FINITE
    assert FINITE not in fates["∞"][1:]


def test_facts_count_the_special_codes():
    facts = {
        "e5m2_special_codes": 8,
        "e4m3_ieee_special_codes": 16,
        "e4m3_largest": 448,
        "e4m3_ieee_largest": 240,
    }
    assert {name: fact(f"formats.{name}", {}) for name in facts} == facts
    assert [fact("formats.special_codes", {"overflowing": [name]}) for name in ("e4m3", "e5m2")] == [2, 8]
