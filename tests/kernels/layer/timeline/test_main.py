"""Contract: python -m kernels.layer answers bad arguments in a sentence, prints and records what it has."""

import json

import pytest

from kernels.layer import __main__ as command
from kernels.layer.timeline import LayerRow, LeftOut, Timeline, Way, measure, read_timelines
from kernels.layer.timeline.table import lines
from kernels.typed import from_data
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


def test_the_table_has_a_line_a_way_and_one_a_kernel():
    printed = list(lines(FOUND, kernels=True))
    assert printed[0].startswith("One SwiGLU MLP block, DeepSeek-V3, 4096 × 4096 × 14336 (NVIDIA H200, 2026")
    assert sum(line.startswith("fp8, fused") for line in printed) == 2
    assert printed[1].split()[-7:] == ["4100", "4200", "1.50", "2000", "2000", "1", "1"]
    assert sum("multiply" in line for line in printed) == 4
