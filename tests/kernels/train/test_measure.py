"""Contract of the worker's job: curves as they grow, a stop that keeps them, and a run that goes on."""

from dataclasses import replace

import pytest

from kernels.bench.measure import StoppedEarly
from kernels.train import measure as job_module
from kernels.train.job import TrainJob
from kernels.train.measure import measure
from kernels.train.row import TrainRow
from kernels.train.sizes import ON_CPU
from kernels.worker.jobs import Result as AnyResult
from kernels.worker.jobs import kind_of, packed, unpacked
from tests.kernels.train.small import on_cpu, small_text

JOB = TrainJob(recipe="mxfp8", model=ON_CPU, steps=4)


@pytest.fixture(autouse=True)
def small(monkeypatch, tmp_path):
    text = small_text(tmp_path)
    monkeypatch.setattr(job_module, "installed_text", lambda: text)
    monkeypatch.setattr(job_module, "this_place", on_cpu)
    monkeypatch.setattr("kernels.train.step.HELD_OUT_BATCHES", 2)


def test_partial_rows_are_the_beginning_of_the_result():
    told: list[tuple[float, str]] = []
    parts: list[TrainRow] = []

    def keep(fraction: float, note: str, part: TrainRow | None = None) -> None:
        told.append((fraction, note))
        parts.extend([part] if part else [])

    row = measure(JOB, progress=keep, stopped=lambda: False)
    assert row.finished
    assert parts[-1] == row
    assert [part.losses for part in parts] == [row.losses[: part.done] for part in parts]
    assert [fraction for fraction, _ in told] == sorted(fraction for fraction, _ in told)
    before = [note for fraction, note in told if fraction == 0]
    assert before[:2] == ["reading the text", "making the model"]
    assert before[-1] == "making a step ready"
    assert unpacked(AnyResult, packed(parts[0])) == parts[0]
    assert kind_of(row).name == "train"


def test_a_stopped_run_goes_on_where_it_was_left_or_anew_with_equal_bits():
    whole = measure(JOB, progress=lambda *told: None, stopped=lambda: False)
    parts: list[TrainRow] = []

    def keep(fraction: float, note: str, part: TrainRow | None = None) -> None:
        parts.extend([part] if part else [])

    with pytest.raises(StoppedEarly):
        measure(JOB, progress=keep, stopped=lambda: bool(parts))
    assert parts[-1].done < JOB.steps
    again: list[TrainRow] = []
    gone_on = measure(
        JOB,
        progress=lambda f, n, part=None: again.extend([part] if part else []),
        stopped=lambda: False,
        so_far=parts[-1],
    )
    assert again[0].done > parts[-1].done
    assert replace(gone_on, step_ms=None) == replace(whole, step_ms=None)
    anew = measure(JOB, progress=lambda *told: None, stopped=lambda: False, so_far=parts[-1])
    assert replace(anew, step_ms=None) == replace(whole, step_ms=None)
