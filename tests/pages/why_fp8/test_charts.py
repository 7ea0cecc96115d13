"""Contract: the pictures of the page "Why FP8" hold the figures that its sentences name."""

import pytest

from kernels.bench.ceilings.peak_rates import PEAK_RATES
from pages.why_fp8 import bound, rates
from pages.why_fp8.charts.limits import ENDS, LINES, TURN
from pages.why_fp8.charts.rates import MARKS, ROWS
from pages.why_fp8.controls import ALL_CONTROLS, UNIT
from tests.pages.specs import rows

DEFAULTS = {control.key: control.default for control in ALL_CONTROLS}


@pytest.mark.parametrize("unit", UNIT.options)
def test_each_rate_is_a_mark_and_memory_is_one_beside_the_first_gpu_only(unit):
    spec = rates.picture(unit, "light", 500)
    found = [
        rates.rate(one, of, unit) for one in rates.alike().values() for of in rates.SHOWN if one.tflop_s[of]
    ]
    marks = rows(spec, MARKS)
    assert [mark["at"] for mark in marks if mark["what"] != "memory"] == found
    assert ("memory" in {mark["what"] for mark in marks}) is (unit == "first")
    assert len(rows(spec, ROWS)) == len(rates.alike())


def test_the_lines_end_at_the_peaks_and_the_limit_changes_at_the_rule():
    spec = bound.picture(DEFAULTS, 12, 17, "light", 500)
    peaks = PEAK_RATES["H200 SXM"].tflop_s
    words = {row["words"] for row in rows(spec, ENDS)}
    assert words == {f"{of.value}: {peaks[of]:,.0f}" for of in peaks if of.value in ("bf16", "fp8")}
    (turn,) = rows(spec, TURN)
    bf16 = [row for row in rows(spec, LINES) if row["format"] == "bf16"]
    assert {row["limit"] for row in bf16 if row["tokens"] < turn["tokens"]} == {"memory"}
    assert {row["limit"] for row in bf16 if row["tokens"] >= turn["tokens"]} == {"tensor cores"}


def test_the_gain_is_written_at_every_stop_of_the_slider():
    spec = bound.picture(DEFAULTS, 12, 17, "light", 500)
    gains = {row["tokens"]: row["gain"] for row in rows(spec, LINES) if row["format"] == "bf16"}
    assert {1 << k for k in range(18)} <= set(gains)
    assert all(gain.endswith(" ×") for gain in gains.values())
