"""Contract: a speed is slow below NORMAL_SHARE of what the same GPU model was recorded at, and then the clock
and power limit say why; what nothing tells stays unknown.
"""

from dataclasses import replace

import pytest

from kernels.bench.job import GemmJob
from kernels.bench.records import recorded_rows
from kernels.check.reading import Reading
from kernels.check.report import Reference, Verdict
from kernels.check.speed import speed_job
from kernels.check.verdicts import (
    NORMAL_SHARE,
    recorded,
    reference_of,
    speed_line,
)
from kernels.gemm.meaning import Summation
from kernels.paths import RECORDS
from tests.kernels.bench.made_up import ROW
from tests.kernels.check.reports import H200

REFERENCE = Reference(value=1000.0, gpu="NVIDIA H200", date="2026-11-20")
FAST = Reading(clock_mhz=1900.0, power_w=690.0, power_limit_w=700.0)


def line(rate, reading=FAST, reference=REFERENCE, facts=H200, **rest):
    return speed_line(
        "rowwise fprop", rate, "TFLOP/s", facts=facts, reading=reading, reference=reference, **rest
    )


def test_a_normal_speed_passes_with_its_share_of_the_recorded_one():
    found = line(920.0, bf16=600.0)
    assert found.verdict is Verdict.PASS
    assert found.detail == (
        "920 TFLOP/s, 1.53 times the bf16 of the same turns (600 TFLOP/s); "
        "92% of the NVIDIA H200 recorded on 2026-11-20: normal."
    )
    assert found.share == pytest.approx(0.92)
    assert [figure.name for figure in found.figures] == ["rate", "× bf16", "SM clock", "power"]


def test_a_card_that_is_held_down_is_slow_and_told_why():
    reading = Reading(clock_mhz=1100.0, power_w=449.0, power_limit_w=450.0, held_by="power-capped at 450 W")
    found = line(610.0, reading)
    assert found.verdict is Verdict.SLOW
    assert "61% of the NVIDIA H200 recorded on 2026-11-20: power-capped at 450 W" in found.detail
    assert "the power limit is set to 450 of 700 W" in found.detail
    assert "the SM clock was 1,100 of 1,980 MHz" in found.detail


def test_under_full_power_a_warmer_card_is_not_slow():
    warm = Reading(clock_mhz=1400.0, power_w=699.0, power_limit_w=700.0, held_by="power-capped at 700 W")
    found = line(800.0, warm, recorded_clock_mhz=1900.0)
    assert found.verdict is Verdict.PASS
    assert found.detail == (
        "800 TFLOP/s; 80% of the NVIDIA H200 recorded on 2026-11-20 at 1,900 MHz; full power holds the clock "
        "at 1,400 here: normal."
    )
    slow = line(1000.0 * 1400 / 1900 * NORMAL_SHARE - 0.1, warm, recorded_clock_mhz=1900.0)
    assert slow.verdict is Verdict.SLOW
    assert slow.detail.endswith("slow all the same.")


@pytest.mark.parametrize(
    "reading",
    [
        Reading(clock_mhz=1400.0, power_limit_w=450.0, held_by="power-capped at 450 W"),
        Reading(clock_mhz=1400.0, power_limit_w=700.0, held_by="too hot and power-capped at 700 W"),
        Reading(
            clock_mhz=1400.0,
            power_limit_w=700.0,
            held_by="power-capped at 700 W and clocks fixed by a setting",
        ),
        Reading(clock_mhz=1400.0, power_limit_w=700.0),
    ],
    ids=["a lower limit", "hot", "a setting too", "nothing said"],
)
def test_any_other_reason_for_a_low_clock_is_slow(reading):
    found = line(800.0, reading, recorded_clock_mhz=1900.0)
    assert found.verdict is Verdict.SLOW
    assert "the SM clock was 1,400 of 1,980 MHz" in found.detail


def test_the_newest_row_of_the_same_gpu_and_gemm_is_the_reference():
    job = ROW.job
    older, newer = replace(ROW, date="2026-01-01"), replace(ROW, date="2026-02-01")
    others = [
        replace(ROW, date="2027-01-01", machine=replace(ROW.machine, name="Another")),
        replace(ROW, date="2027-01-01", job=replace(job, m=512)),
        replace(ROW, date="2027-01-01", job=replace(job, matmul="fprop")),
        replace(ROW, date="2027-01-01", job=replace(job, accumulation=Summation.FAST)),
        replace(ROW, date="2027-01-01", gemm=None),
    ]
    longer = replace(job, runs=job.runs + 1, settle_ms=100, seed=job.seed + 1)
    assert recorded([older, newer, *others], "A GPU", longer) == newer
    again = replace(newer, kernel="measured later that day")
    assert recorded([older, newer, again], "A GPU", job) is again
    assert recorded(others, "A GPU", job) is None
    assert recorded([ROW], None, job) is None
    reference = reference_of(ROW, ROW.gemm.median_us)
    assert reference.value == pytest.approx(ROW.tflop_s)
    assert (reference.gpu, reference.date) == ("A GPU", ROW.date)
    assert reference_of(None, 1.0) is None
    assert reference_of(ROW, None) is None


def test_the_h200_is_recorded_for_every_gemm_of_a_recipe_that_was_measured():
    from fp8core.linear import MATMULS

    rows = recorded_rows(RECORDS)
    measured = {row.job.recipe for row in rows}
    assert {"per_tensor", "rowwise", "deepseek_v3", "mxfp8"} <= measured
    for recipe in measured:
        for matmul in MATMULS:
            job = speed_job(recipe, matmul)
            assert isinstance(job, GemmJob)
            assert recorded(rows, "NVIDIA H200", job) is not None, job.title


def test_a_speed_that_the_gpu_cannot_have_fails():
    fault = "900 TFLOP/s is more than this GPU can do"
    for reference in (REFERENCE, None):
        found = line(900.0, reference=reference, fault=fault)
        assert (found.verdict, found.detail) == (Verdict.FAIL, f"Wrong: {fault}.")
        assert (found.figures, found.share) == ((), None), "nothing for a chart to draw"
