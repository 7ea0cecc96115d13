"""Contract of python -m kernels.train: lines and gaps come out, and Ctrl-C keeps what was measured."""

import json
import re
from dataclasses import replace

import pytest
from safetensors import safe_open

from kernels.train import run as runs
from kernels.train.__main__ import main
from kernels.train.job import ON_CPU
from kernels.train.row import TrainRow
from kernels.typed import from_data
from tests.kernels.train.made_up import ROW
from tests.kernels.train.small import on_cpu, small_text

STEPS = 4


@pytest.fixture(autouse=True)
def small(monkeypatch, tmp_path_factory):
    """The CPU and a small text, whatever is there."""
    text = small_text(tmp_path_factory.mktemp("text"))
    monkeypatch.setattr("kernels.train.text.installed_text", lambda: text)
    monkeypatch.setattr("kernels.train.step.this_place", on_cpu)
    monkeypatch.setattr("kernels.train.step.HELD_OUT_BATCHES", 2)


def run(*arguments: str) -> int:
    return main(["--size", ON_CPU, "--steps", str(STEPS), *arguments])


def test_runs_come_as_lines_and_a_table_of_gaps(capsys):
    assert run("--recipe", "bf16", "mxfp4", "--seeds", "0", "1") == 0
    out = capsys.readouterr().out
    assert out.count("bits a byte after 4 steps") == 4
    assert "12 of 15 GEMMs quantized" in out
    *_, gaps, time = out.splitlines()
    assert gaps.split()[0] == "MXFP4"
    assert gaps.split()[3].endswith("%")
    assert re.fullmatch(r"4 runs in \d+ s", time)


def test_ctrl_c_keeps_what_was_measured(capsys, monkeypatch):
    real, calls = runs.run, []

    def interrupted(*inputs, **named):
        calls.append(inputs)
        if len(calls) == 3:
            raise KeyboardInterrupt
        return real(*inputs, **named)

    monkeypatch.setattr(runs, "run", interrupted)
    assert run("--recipe", "bf16", "mxfp8", "mxfp4") == 130
    out = capsys.readouterr().out
    assert out.count("bits a byte after 4 steps") == 2
    assert "\n2 runs in " in out


@pytest.mark.parametrize("form", [(), ("--json",)], ids=["table", "json"])
def test_a_run_that_failed_has_its_exit_code(monkeypatch, form):
    failed = replace(ROW, failure="the loss is not finite after 3 steps")
    monkeypatch.setattr(runs, "session", lambda *inputs: iter([failed, ROW]))
    assert run("--recipe", "mxfp8", *form) == 1


def test_tensors_are_saved_with_how_they_were_made(tmp_path, capsys):
    assert run("--recipe", "mxfp4", "--json", "--tensors", str(tmp_path)) == 0
    assert from_data(TrainRow, json.loads(capsys.readouterr().out)).finished
    files = sorted(path.name for path in tmp_path.glob("*.safetensors"))
    assert files == [f"tiny_{step:05d}_0.qkv.safetensors" for step in (1, 2, 4)]
    with safe_open(tmp_path / files[0], "pt") as file:
        shapes = [list(file.get_slice(key).get_shape()) for key in ("x", "w", "dy")]
        assert shapes == [[64, 128], [128, 128], [64, 256]]
        assert file.metadata()["after_step"] == "1 of 4"
        assert "64 rows, every 1 from row 0, and columns 128 to 383" in file.metadata()["dy"]
