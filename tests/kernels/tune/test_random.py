"""Contract: the launches to time follow from a draw; a fit finds the constants behind their times."""

import argparse
from pathlib import Path

import pytest

from kernels.bench.any_shape import draw_shapes, read_any_shape, spread
from kernels.device import HOPPER
from kernels.gemm.blocks import Body
from kernels.gemm.cost.choose import ranked
from kernels.gemm.cost.constants import constants_of, read
from kernels.gemm.cost.model import predict_us
from kernels.gemm.cost.work import work_of
from kernels.gemm.tuned import Measurement
from kernels.tune import random_main, random_runs
from kernels.tune.fit import Measured, fit
from kernels.tune.sample import DrawnGemm, read_samples

MEASUREMENT = Measurement(gpu="NVIDIA H200", date="2026-11-23", versions={"triton": "3.6.0"})
DRAWN = DrawnGemm(recipe="rowwise", matmul="fprop", m=300, n=4096, k=7168)


def test_a_fit_explains_the_times_that_a_model_made(tmp_path: Path):
    meaning, constants, measured = DRAWN.meaning(HOPPER), constants_of(HOPPER), []
    for layer in draw_shapes(14, seed=9):
        mnk = layer.tokens, layer.out, layer.in_
        for each in ranked(meaning, mnk, HOPPER, [Body.CHAINED, Body.SIMPLE])[:8]:
            work = work_of(meaning, each.blocks, mnk, HOPPER)
            measured.append(Measured(work, predict_us(work, constants)))
    found = fit(measured, MEASUREMENT, HOPPER, lambda told: None)
    assert found.error.measurements == len(measured)
    assert found.error.median < 0.05, "priors count a little beside few measurements"
    errors = [abs(predict_us(each.work, found) / each.us - 1) for each in measured]
    assert sorted(errors)[len(errors) // 2] == pytest.approx(found.error.median, abs=0.002)
    found.write(tmp_path / "sm_90.json")
    assert read(tmp_path / "sm_90.json") == found


class MadeUp:
    """Stands in for a GPU: the model's times, and a peer that takes a quarter longer."""

    kernels, faults = 0, ()

    def __init__(self, tasks, device, *rest):
        self.tasks, self.device = tasks, device

    def __enter__(self):
        return self

    def __exit__(self, *raised):
        return None

    def timed(self, until):
        for task in self.tasks:
            meaning, mnk = task.plan.meaning, task.drawn.mnk
            ours = {
                blocks: predict_us(work_of(meaning, blocks, mnk, self.device), constants_of(self.device))
                for blocks in task.blocks
            }
            mine = ours[task.blocks[0]]
            yield random_runs.Timed(task, ours, {"slow": 2 * mine, "op": 1.25 * mine})


def test_the_command_prints_ratios_and_regret_and_keeps_rows_and_samples(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(random_main, "Runs", MadeUp)
    monkeypatch.setattr(random_main, "RECORDS", tmp_path)
    monkeypatch.setattr(random_main, "cost_path", lambda capability: tmp_path / "sm_90.json")
    options = argparse.Namespace(random=6, seed=2, recipes=["rowwise"], matmuls=["fprop"], regret=2)
    vars(options).update(samples=tmp_path / "samples.jsonl", budget=9.0, workers=1, record=True, fit=True)
    assert random_main.run(options, HOPPER, MEASUREMENT) == 0
    header, line, fitted = capsys.readouterr().out.splitlines()
    assert header.split()[:3] == ["recipe", "matmul", "shapes"]
    assert line.split()[:3] == ["rowwise", "fprop", "6"]
    assert fitted.startswith(f"{tmp_path / 'sm_90.json'}: ")
    rows = read_any_shape(tmp_path).rows
    assert [row.peer for row in rows] == ["op"] * 6
    assert [float(cell) for cell in line.split()[3:6]] == [1.25] * 3
    assert spread(row.ratio for row in rows).geometric_mean == pytest.approx(1.25, rel=1e-3)
    assert all(0 <= row.regret < 1 for row in rows)
    assert len(read_samples(options.samples)) >= 6 * 3
    options.random = options.fit = 0
    options.record = False
    assert random_main.run(options, HOPPER, MEASUREMENT) == 0, "nothing to do"
