"""Contract of python -m kernels.train: rows and gaps come out, Ctrl-C keeps what was measured, --resume goes
on from it, and bad arguments get a sentence.
"""

import json
import os
import re
import signal

import pytest
from safetensors import safe_open

from kernels.train import session
from kernels.train.__main__ import main
from kernels.train.row import TrainRow
from kernels.train.run import Course
from kernels.train.sizes import ON_CPU
from kernels.train.step import Trainer
from kernels.typed import from_data
from tests.kernels.train.small import on_cpu, small_text

STEPS = 6


@pytest.fixture(autouse=True)
def small(monkeypatch, tmp_path_factory):
    """The CPU and a small text, whatever is there."""
    text = small_text(tmp_path_factory.mktemp("text"))
    monkeypatch.setattr(session, "installed_text", lambda: text)
    monkeypatch.setattr("kernels.train.step.this_place", on_cpu)
    monkeypatch.setattr("kernels.train.step.HELD_OUT_BATCHES", 2)


def run(*arguments: str) -> int:
    return main(["--size", ON_CPU, "--steps", str(STEPS), "--no-statistics", *arguments])


def rows(told: str) -> list[TrainRow]:
    return [from_data(TrainRow, json.loads(line)) for line in told.splitlines()]


def test_runs_come_as_lines_and_a_table_of_gaps(capsys):
    assert run("--recipe", "bf16", "mxfp4", "--seeds", "0", "1") == 0
    told = capsys.readouterr().out
    assert told.count("bits a byte after 6 steps") == 4
    assert "12 of 15 GEMMs quantized" in told
    *_, gaps, time = told.splitlines()
    assert gaps.split()[0] == "MXFP4"
    assert gaps.split()[3].endswith("%")
    assert re.fullmatch(r"4 runs in \d+ s", time)


def test_ctrl_c_keeps_what_was_measured_and_resume_goes_on(capsys, monkeypatch, tmp_path):
    asked = ("--recipe", "bf16", "mxfp8", "--json", "--resume", str(tmp_path))
    assert run(*asked[:-2]) == 0
    whole = rows(capsys.readouterr().out)

    real, chunks = session.run, []

    def interrupted(trainer, course: Course, looks, *rest, progress, **named):
        def tell(*told) -> None:
            chunks.extend([told] if told[-1] else [])
            # in the second run; a chunk is told before its look and after
            if told[-1] and len(chunks) == 2 * STEPS + 2:
                os.kill(os.getpid(), signal.SIGINT)

        return real(trainer, course, looks, *rest, progress=tell, **named)

    monkeypatch.setattr(session, "run", interrupted)
    assert run(*asked) == 130
    first, part = rows(capsys.readouterr().out)
    assert first.finished
    assert 0 < part.done < STEPS
    assert run(*asked) == 0
    again = rows(capsys.readouterr().out)
    assert [row.losses for row in again] == [row.losses for row in whole]
    assert [row.held_out for row in again] == [row.held_out for row in whole]


def test_a_run_that_is_cut_off_without_ctrl_c_goes_on_from_its_last_look(capsys, monkeypatch, tmp_path):
    asked = ("--recipe", "nvfp4", "--json")
    assert run(*asked) == 0
    (whole,) = rows(capsys.readouterr().out)
    asked += ("--resume", str(tmp_path))

    real, kept = session.run, []

    def cut(*given, keep, **named):
        def keep_and_end() -> None:
            keep()
            kept.append(None)
            if len(kept) == 3:
                raise RuntimeError("the machine went away")

        return real(*given, keep=keep_and_end, **named)

    monkeypatch.setattr(session, "_SAVED_EVERY_S", -1.0)
    monkeypatch.setattr(session, "run", cut)
    with pytest.raises(RuntimeError, match="went away"):
        run(*asked)
    monkeypatch.setattr(session, "run", real)
    firsts = []
    monkeypatch.setattr(Trainer, "prepare", lambda self, first, *rest, then=Trainer.prepare: (
        firsts.append(first), then(self, first, *rest))[-1])  # fmt: skip
    assert run(*asked) == 0
    (again,) = rows(capsys.readouterr().out)
    assert firsts[0] == 3
    assert (again.losses, again.held_out) == (whole.losses, whole.held_out)


def test_tensors_are_saved_with_how_they_were_made(tmp_path):
    assert run("--recipe", "mxfp4", "--tensors", str(tmp_path)) == 0
    files = sorted(path.name for path in tmp_path.glob("*.safetensors"))
    assert files == [f"tiny_{step:05d}_0.qkv.safetensors" for step in (1, 3, 6)]
    with safe_open(tmp_path / files[0], "pt") as kept:
        shapes = [list(kept.get_slice(key).get_shape()) for key in ("x", "w", "dy")]
        assert shapes == [[64, 128], [128, 128], [64, 256]]
        assert kept.metadata()["after_step"] == "1 of 6"
        assert "64 rows, every 1 from row 0, and columns 128 to 383" in kept.metadata()["dy"]
