"""Contract: the command prints a report of every GPU in turn, writes a file as a whole or not at all,
reads back from its JSON, and its exit code is the verdict; Ctrl-C leaves the report so far.
"""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from signal import SIGKILL
from types import SimpleNamespace

import pytest

from kernels.check import __main__ as cli
from kernels.check.__main__ import main
from kernels.check.report import Ability, Group, Line, Report, Verdict, document
from kernels.paths import TOP
from kernels.typed import from_data
from tests.kernels.check import reports as machines
from tests.kernels.check.reports import REPORT
from tests.kernels.check.stand_in import StandIn, plan_of, step


@contextmanager
def command(arguments: Sequence[str]) -> Iterator[subprocess.Popen]:
    """Python with these arguments. Afterwards it has ended and its pipes are closed, even if a test fails."""
    with subprocess.Popen(
        [sys.executable, *arguments],
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(TOP), *sys.path])},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as process:
        try:
            yield process
        finally:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, SIGKILL)


PLAN = plan_of(step("a"), step("b"))


def failing():
    raise RuntimeError("boom")


def interrupted():
    raise KeyboardInterrupt


def read(text: str) -> list[Report]:
    """The reports of a document, each with the exit code that it says."""
    told = json.loads(text)["reports"]
    codes = [report.pop("exit_code") for report in told]
    reports = [from_data(Report, report) for report in told]
    assert [report.exit_code for report in reports] == codes
    return reports


def test_the_table_has_the_machine_and_a_line_for_each_thing_checked(capsys):
    assert main([], machine=StandIn(), plan=PLAN) == 0
    out, err = capsys.readouterr()
    assert err == ""
    lines = out.splitlines()
    for what, value in (("GPU", "NVIDIA H200"), ("driver", "580.65"), ("CUDA", "13.0"), ("Triton", "3.6.0")):
        assert next(line.split(maxsplit=1) for line in lines if line.startswith(what)) == [what, value]
    assert "power                     76 W at rest, 700 W limit" in lines
    assert "SM clock                  345 MHz at rest, 1,980 MHz at most" in lines
    assert sum(line.split()[:1] == ["pass"] for line in lines) == 4 + 2
    assert any(line.startswith("no   Block-scaled MMA") for line in lines)
    assert lines[-2].startswith("FP8 works on this GPU: 6 pass. (check of 0 s, started 20")


@pytest.mark.parametrize(
    ("facts", "steps", "code"),
    [
        (machines.H200, PLAN, 0),
        (machines.H200, plan_of(step("a", failing), step("b")), 1),
        (machines.A100, PLAN, 2),
        (machines.H200, plan_of(step("a"), step("b", interrupted)), 130),
    ],
)
def test_the_exit_code_is_the_verdict(facts, steps, code, capsys):
    assert main(["--json"], machine=StandIn((facts,)), plan=steps) == code
    (report,) = read(capsys.readouterr().out)
    assert report.exit_code == code


def test_files_come_beside_the_table(tmp_path, capsys):
    paths = tmp_path / "a.json", tmp_path / "a.md"
    arguments = ["--json", str(paths[0]), "--markdown", str(paths[1])]
    assert main(arguments, machine=StandIn(), plan=PLAN) == 0
    assert capsys.readouterr().out.startswith("GPU ")
    assert read(paths[0].read_text())[0].exit_code == 0
    assert paths[1].read_text().startswith("### FP8 check: NVIDIA H200\n")
    assert {path.name for path in tmp_path.iterdir()} == {"a.json", "a.md"}


def test_a_file_is_written_as_a_whole_or_not_at_all(tmp_path, monkeypatch, capsys):
    path = tmp_path / "a.json"
    path.write_text("before")

    def full_disk(name, place):
        raise OSError("no space left on device")

    monkeypatch.setattr(os, "replace", full_disk)
    assert main(["--json", str(path)], machine=StandIn(), plan=PLAN) == 1
    assert "the report could not be written: no space left" in capsys.readouterr().err
    assert [(p.name, p.read_text()) for p in tmp_path.iterdir()] == [("a.json", "before")]


def test_ctrl_c_leaves_the_report_so_far_and_no_half_written_file(tmp_path):
    program = Path(__file__).with_name("stand_in.py")
    path = tmp_path / "a.json"
    with command([str(program), "--json", str(path)]) as process:
        assert process.stderr.readline() == "slow\n"
        assert list(tmp_path.iterdir()) == []
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=30)
    assert (process.returncode, err) == (130, "")
    assert "not run  b" in out
    assert "Not finished: 5 pass, 2 not run." in out
    assert list(tmp_path.iterdir()) == [path]
    (report,) = read(path.read_text())
    assert [line.verdict for line in report.lines[-3:]] == [Verdict.PASS, Verdict.NOT_RUN, Verdict.NOT_RUN]


def test_the_real_command_says_what_is_here():
    done = subprocess.run(
        [sys.executable, "-m", "kernels.check", "--quick", "--json"],
        cwd=TOP,
        env={**{k: v for k, v in os.environ.items() if k != "TRITON_INTERPRET"}, "CUDA_VISIBLE_DEVICES": ""},
        capture_output=True,
        text=True,
        check=False,
    )
    (report,) = read(done.stdout)
    assert done.returncode == report.exit_code
    assert report.facts.gpu is None
    assert report.lines[0].name == "torch"


def line_of(verdict: Verdict) -> Line:
    return Line(name=verdict.name, group=Group.GEMMS, verdict=verdict, detail="A sentence.")


@pytest.mark.parametrize(
    ("verdicts", "fp8", "finished", "code"),
    [
        ((Verdict.PASS, Verdict.SLOW, Verdict.NOT_SUPPORTED), True, True, 0),
        ((), True, True, 0),
        ((Verdict.PASS, Verdict.FAIL), True, True, 1),
        ((Verdict.FAIL,), False, True, 1),
        ((Verdict.NOT_RUN,), True, True, 1),
        ((Verdict.NOT_SUPPORTED, Verdict.PASS), False, True, 2),
        ((Verdict.PASS, Verdict.FAIL), True, False, 130),
        ((Verdict.NOT_RUN,), False, False, 130),
    ],
)
def test_the_exit_code_follows_from_the_lines(verdicts, fp8, finished, code):
    ability = Ability(name="fp8", title="FP8 tensor cores", available=fp8, reason="So.")
    lines = tuple(map(line_of, verdicts))
    report = replace(REPORT, lines=lines, abilities=(ability,), finished=finished)
    assert report.exit_code == json.loads(document([report]))["reports"][0]["exit_code"] == code


@pytest.mark.parametrize("why", ["cold", "something is compiled", "no GPU", "no cores"])
def test_processes_start_early_only_where_a_gpu_has_no_code_yet(monkeypatch, tmp_path, why):
    monkeypatch.setenv("TRITON_CACHE_DIR", str(tmp_path / "cache"))
    if why == "something is compiled":
        (tmp_path / "cache" / "KEY").mkdir(parents=True)
    uuids = () if why == "no GPU" else ("GPU-1",)
    monkeypatch.setattr(cli, "driver", lambda: SimpleNamespace(uuids=uuids))
    monkeypatch.setattr(cli, "Precompile", lambda processes, knows_device: (processes, knows_device))
    assert cli.early_pool(0 if why == "no cores" else 3) == ((3, False) if why == "cold" else None)
