"""Contract: a speed is slow below NORMAL_SHARE of what the same GPU model was recorded at, and then the clock
and power limit say why; what nothing tells stays unknown.
"""

import json
import subprocess
import sys
from dataclasses import replace

import pytest

from fp8core.linear import MATMULS
from fp8core.recipes import RECIPES
from kernels.check import speed
from kernels.check.report import Reference, Verdict
from kernels.check.speed import held_by, recorded_row, reference_of, speed_line
from kernels.check.steps import DistinctGemm, Findings
from kernels.device import HOPPER
from kernels.gemm.numerics import Summation
from kernels.measure.jobs import GemmJob
from kernels.measure.records import GEMMS
from kernels.nvml import Gauges
from kernels.paths import RECORDS, TOP
from tests.kernels.check.reports import H200
from tests.kernels.measure.made_up import ROW, changed

REFERENCE = Reference(value=1000.0, gpu="NVIDIA H200", date="2026-11-20")
FAST = Gauges(clock_mhz=1900.0, power_w=690.0, power_limit_w=700.0)


def line(rate, gauges=FAST, reference=REFERENCE, facts=H200, **rest):
    return speed_line(
        "rowwise fprop", rate, "TFLOP/s", facts=facts, gauges=gauges, reference=reference, **rest
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
    gauges = Gauges(clock_mhz=1100.0, power_w=449.0, power_limit_w=450.0, reasons=0x4)
    found = line(610.0, gauges)
    assert found.verdict is Verdict.SLOW
    assert "61% of the NVIDIA H200 recorded on 2026-11-20: power-capped at 450 W" in found.detail
    assert "the power limit is set to 450 of 700 W" in found.detail
    assert "the SM clock was 1,100 of 1,980 MHz" in found.detail


@pytest.mark.parametrize(
    "gauges",
    [
        Gauges(clock_mhz=1400.0, power_limit_w=450.0, reasons=0x4),
        Gauges(clock_mhz=1400.0, power_limit_w=700.0, reasons=0x24),
        Gauges(
            clock_mhz=1400.0,
            power_limit_w=700.0,
            reasons=0x6,
        ),
        Gauges(clock_mhz=1400.0, power_limit_w=700.0),
    ],
    ids=["a lower limit", "hot", "a setting too", "nothing said"],
)
def test_any_other_reason_for_a_low_clock_is_slow(gauges):
    found = line(800.0, gauges, recorded_clock_mhz=1900.0)
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
        changed(ROW, date="2027-01-01", ours=None),
    ]
    longer = replace(job, runs=job.runs + 1, settle_ms=100, seed=job.seed + 1)
    assert recorded_row([older, newer, *others], "A GPU", longer) == newer
    again = replace(newer, kernel="measured later that day")
    assert recorded_row([older, newer, again], "A GPU", job) is again
    assert recorded_row(others, "A GPU", job) is None
    assert recorded_row([ROW], None, job) is None
    assert reference_of(ROW, 7.0) == Reference(
        value=7.0, gpu="A GPU", date=ROW.date, versions=dict(ROW.machine.versions)
    )
    assert reference_of(None, 1.0) is None
    assert reference_of(ROW, None) is None


def test_the_h200_is_recorded_for_every_gemm_of_a_recipe_that_was_measured():
    rows = GEMMS.read(RECORDS).rows
    measured = {row.job.recipe for row in rows}
    assert {"per_tensor", "rowwise", "deepseek_v3", "mxfp8"} <= measured
    for recipe in measured:
        for matmul in MATMULS:
            job = DistinctGemm(recipe=RECIPES[recipe], matmul=MATMULS[matmul], others=()).timed
            assert isinstance(job, GemmJob)
            assert recorded_row(rows, "NVIDIA H200", job) is not None, job.title


def test_a_speed_that_the_gpu_cannot_have_fails():
    fault = "900 TFLOP/s is more than this GPU can do"
    for reference in (REFERENCE, None):
        found = line(900.0, reference=reference, fault=fault)
        assert (found.verdict, found.detail) == (Verdict.FAIL, f"Wrong: {fault}.")
        assert (found.figures, found.share) == ((), None), "nothing for a chart to draw"


@pytest.mark.parametrize(
    ("mask", "limit", "phrase"),
    [
        (0x0, 700.0, ""),
        (0x1, 700.0, ""),
        (0x4, 450.0, "power-capped at 450 W"),
        (0x4, None, "power-capped"),
        (0x20, None, "too hot"),
        (0x48, None, "too hot and slowed by the hardware"),
        (0x80 | 0x4, 700.0, "held by the server's power brake and power-capped at 700 W"),
        (0x2, None, "clocks fixed by a setting"),
        (0x10, None, "held to the clock of another GPU"),
    ],
)
def test_each_reason_is_a_phrase(mask, limit, phrase):
    assert held_by(Gauges(reasons=mask, power_limit_w=limit)) == phrase


HELD = """
import signal, sys, threading
from kernels.check import run
run.Watch.__init__.__defaults__ = (1.0,)
from kernels.check.__main__ import main
from tests.kernels.check.stand_in import StandIn, plan_of, step
signal.signal(signal.SIGINT, signal.SIG_IGN)  # as a process that waits for the GPU does
plan = plan_of(step("first"), step("held", lambda: threading.Event().wait()), step("last"))
sys.exit(main(sys.argv[1:], machine=StandIn(), plan=plan))
"""


def test_a_held_check_ends_with_what_it_found_and_the_line_that_held_it(tmp_path):
    path = tmp_path / "report.json"
    command = [sys.executable, "-c", HELD, "--json", str(path)]
    done = subprocess.run(command, cwd=TOP, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 1, done.stderr
    (report,) = json.loads(path.read_text(encoding="utf-8"))["reports"]
    lines = {line["name"]: line for line in report["lines"] if line["group"] == "gemms"}
    assert [lines[name]["verdict"] for name in ("first", "held", "last")] == ["pass", "fail", "not run"]
    assert "no answer for 1 s" in lines["held"]["detail"]
    assert lines["last"]["detail"] == "The GPU no longer answers."


@pytest.mark.parametrize("products", [[], ["one"]], ids=["none ran", "one ran"])
def test_torch_is_timed_alone_where_none_of_our_kernels_ran(monkeypatch, products):
    contests, findings = [], Findings(facts=H200, uuid="", products=products)
    monkeypatch.setattr(speed, "take_turns", lambda first, cases, *_, **how: contests.append(cases))
    cases = (DistinctGemm(recipe=RECIPES["rowwise"], matmul=MATMULS["fprop"], others=()),)
    speed.time_torch(cases, findings, HOPPER)
    assert contests == [cases if products else ()]
    assert list(findings.turns) == (["fprop"] if products else [])
