"""Contract: a check that a kernel holds for ever ends with a report, which names the line at hand."""

import json
import subprocess
import sys
from dataclasses import replace

import pytest

from kernels.check.report import Verdict
from kernels.check.run import WAITING, given_up
from kernels.paths import TOP
from tests.kernels.check.reports import REPORT

HELD = """
import signal, sys, threading
from kernels.check import watch
watch.Watch.__init__.__defaults__ = (1.0,)
from kernels.check.cli import main
from tests.kernels.check.stand_in import StandIn, plan_of, step
signal.signal(signal.SIGINT, signal.SIG_IGN)  # as a process that waits for the GPU does
plan = plan_of(step("first"), step("held", lambda: threading.Event().wait()), step("last"))
sys.exit(main(sys.argv[1:], machine=StandIn(), plan=plan))
"""


@pytest.mark.parametrize("to_file", [False, True])
def test_a_held_check_ends_with_what_it_found_and_the_line_that_held_it(tmp_path, to_file):
    path = tmp_path / "report.json"
    given = ["--json", *([str(path)] if to_file else [])]
    command = [sys.executable, "-c", HELD, *given]
    done = subprocess.run(command, cwd=TOP, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 1, done.stderr
    text = path.read_text(encoding="utf-8") if to_file else done.stdout
    (report,) = json.loads(text)["reports"]
    lines = {line["name"]: line for line in report["lines"] if line["group"] == "gemms"}
    assert [lines[name]["verdict"] for name in ("first", "held", "last")] == ["pass", "fail", "not run"]
    assert "no answer for 1 s" in lines["held"]["detail"]
    assert done.stdout.startswith("{") == (not to_file), "the table, or JSON alone"


def test_a_report_that_is_given_up_keeps_its_verdicts_and_blames_one_line():
    left = [replace(line, verdict=Verdict.NOT_RUN, detail=WAITING) for line in REPORT.lines[-2:]]
    so_far = replace(REPORT, lines=(*REPORT.lines[:-2], *left), finished=False)
    final = given_up(so_far, 5.0)
    assert final.lines[:-2] == REPORT.lines[:-2]
    assert [line.verdict for line in final.lines[-2:]] == [Verdict.FAIL, Verdict.NOT_RUN]
    assert WAITING not in {line.detail for line in final.lines}
    assert final.finished
    assert final.exit_code == 1
