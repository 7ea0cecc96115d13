"""Contract: python -m kernels.layer answers bad arguments in a sentence, prints and records what it has."""

import json

import pytest

from kernels.device import Unsupported
from kernels.layer import __main__ as command
from kernels.layer.timeline import LayerRow, LeftOut, Timeline, Way, measure, read_timelines
from kernels.layer.timeline.table import lines
from kernels.typed import from_data
from tests.kernels.cases import ON_GPU
from tests.kernels.layer.timeline.made_up import JOB, ROW, without_graph

FOUND = Timeline(
    job=JOB,
    rows=(ROW, without_graph()),
    left_out=(LeftOut(way=Way.NAIVE, reason="torch has no cast for it"),),
)


@pytest.fixture
def measured(monkeypatch):
    """Jobs that were asked for; each gives FOUND. The one after a stop is the reader's Ctrl-C."""
    asked = []

    def given(job, *, progress, stopped, ways):
        if len(asked) == 2:
            raise KeyboardInterrupt
        asked.append((job, ways))
        progress(0.5, "half")
        return FOUND

    monkeypatch.setattr(measure, "measure", given)
    monkeypatch.setattr(measure, "require_gpu", lambda: None)
    return asked


def test_each_job_is_asked_for_with_its_ways(measured, capsys):
    assert command.main(["--tokens", "16", "32", "--layer", "linear", "--way", "ours", "naive"]) == 1
    assert [(job.tokens, ways) for job, ways in measured] == [
        (16, (Way.OURS, Way.NAIVE)),
        (32, measured[0][1]),
    ]
    assert "torch has no cast for it" in capsys.readouterr().out


def test_a_job_that_cannot_be_measured_is_told_and_the_next_one_goes_on(measured, monkeypatch, capsys):
    def refused(job, **rest):
        if job.tokens == 16:
            raise Unsupported("its kernels come in another order in each step")
        return FOUND

    monkeypatch.setattr(measure, "measure", refused)
    assert command.main(["--tokens", "16", "32", "--layer", "linear"]) == 1
    told = capsys.readouterr()
    assert "its kernels come in another order" in told.err
    assert "fp8, fused" in told.out


def test_what_was_measured_before_ctrl_c_is_kept(measured, tmp_path, capsys):
    options = [
        "--tokens",
        "1",
        "2",
        "3",
        "--layer",
        "linear",
        "--json",
        "--record",
        "--folder",
        str(tmp_path),
    ]
    assert command.main(options) == 130
    printed = [from_data(LayerRow, json.loads(line)) for line in capsys.readouterr().out.splitlines()]
    assert printed == [*FOUND.rows] * 2
    assert read_timelines(tmp_path).rows == FOUND.rows * 2


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (["--tokens", "0"], "tokens is a whole number from 1"),
        (["--minutes", "-1"], "--minutes is above 0, got -1"),
        (["--runs", "0"], "rounds"),
        (["--record", "--folder", f"{__file__}/rows"], "nothing can be kept in"),
    ],
)
def test_bad_arguments_are_told_in_one_line(options, sentence, capsys):
    assert command.main(options) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert sentence in line


def test_without_a_gpu_nothing_is_timed(capsys):
    if ON_GPU:
        pytest.skip("this is a GPU")
    assert command.main(["--tokens", "16"]) == 2
    assert "speed is a GPU's" in capsys.readouterr().err


def test_the_table_has_a_line_a_way_and_one_a_kernel():
    printed = list(lines(FOUND, kernels=True))
    assert printed[0].startswith("One SwiGLU MLP block, DeepSeek-V3, 4096 × 4096 × 14336 (NVIDIA H200, 2026")
    assert sum(line.startswith("fp8, fused") for line in printed) == 2
    assert printed[1].split()[-7:] == ["4100", "4200", "1.50", "2000", "2000", "1", "1"]
    assert sum("multiply" in line for line in printed) == 4
