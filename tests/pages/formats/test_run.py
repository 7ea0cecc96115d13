"""Contract: the sentences say what the runs did, and every run has its fate."""

import math

from fp8core.experiments.scaled_run import LOG2_SCALES, scaled_runs
from fp8core.formats import FORMATS
from fp8core.rounding import Overflow
from pages.formats.charts.run import CLIPPED, LEARNS, LOSES, OVER, band_rows
from pages.formats.run import EXACT, end_rows, fate, notice, overflow_of, step_rows, told
from pages.kit.charts.words import power_of_two

INF, SATURATED = (scaled_runs(FORMATS["e5m2"], how) for how in (Overflow.INF, Overflow.SATURATE))


def test_fates_follow_one_another_from_small_scales_to_large_ones():
    for runs, wanted in ((INF, [LOSES, LEARNS, OVER]), (SATURATED, [LOSES, LEARNS, CLIPPED])):
        assert [*dict.fromkeys(fate(runs, k) for k in LOG2_SCALES)] == wanted


def test_the_policy_is_the_formats_own_special_code():
    assert [overflow_of(name, "special") for name in ("e5m2", "e4m3")] == [Overflow.INF, Overflow.NAN]
    assert overflow_of("e4m3", "saturate") is Overflow.SATURATE


def test_rows_have_a_place_for_every_run_and_no_step_after_its_end():
    assert all(math.isfinite(row["loss"]) for row in end_rows(INF))
    rows = step_rows(INF, LOG2_SCALES[-1], "rounded")
    assert [row["step"] for row in rows if row["who"] == "rounded"] == [0]
    assert len([row for row in rows if row["who"] == EXACT]) == INF.exact.size


def test_sentences_name_the_cliff_or_the_slow_end():
    assert f"**from {power_of_two(INF.first_lost)} on**" in notice(INF)
    assert "are clipped, so the run goes on" in notice(SATURATED)
    assert "no number any more after step 1" in told(INF, LOG2_SCALES[-1])
    assert "of the gradients became 0" in told(INF, 0)


def test_bands_cover_every_scale_once_and_the_last_has_its_name_at_its_end():
    for runs in (INF, SATURATED):
        bands = band_rows(end_rows(runs))
        assert [band["x0"] for band in bands[1:]] == [band["x1"] for band in bands[:-1]]
        assert (bands[0]["x0"], bands[-1]["x1"]) == (LOG2_SCALES[0] - 0.5, LOG2_SCALES[-1] + 0.5)
        assert [band["is_last"] for band in bands] == [False] * (len(bands) - 1) + [True]
        assert bands[-1]["at"] == bands[-1]["x1"]


def test_the_section_opens_from_its_address(open_app):
    at = open_app("pages/formats.py", formats="run", run_scale="-12", run_beyond="saturate")
    assert not at.exception
    assert at.segmented_control(key="formats").value == "overflow", "what took its place"
    assert len(at.get("vega_lite_chart")) == 3
    assert at.slider(key="run_scale").value == -12
