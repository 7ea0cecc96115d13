"""Contract: the launches to time follow from a draw; a fit finds the rates behind their times."""

import argparse
from dataclasses import replace
from math import log
from pathlib import Path

import pytest

from kernels.device import HOPPER
from kernels.gemm.blocks import Variant
from kernels.gemm.choose import ranked, rates_of, read
from kernels.gemm.tuned import Measurement
from kernels.measure import random_draw
from kernels.measure.fit import (
    Launch,
    Launches,
    fit,
    write,
)
from kernels.measure.jobs import GemmJob
from kernels.measure.random_shapes import draw_shapes, spread
from kernels.measure.random_timing import Timed
from kernels.measure.random_work import meaning_of_job, read_samples
from kernels.measure.records import RANDOM_SHAPES
from kernels.measure.rows import Machine, Peer
from tests.kernels.measure.made_up import DRAWN as DRAWN_ROW
from tests.kernels.measure.made_up import changed, timing

MEASUREMENT = Measurement(gpu="NVIDIA H200", date="2026-11-23", versions={"triton": "3.6.0"})
MACHINE = Machine(name=HOPPER.name, capability=HOPPER.capability, versions={})
DRAWN = GemmJob(recipe="rowwise", matmul="fprop", m=300, n=4096, k=7168)


def test_a_fit_finds_the_rates_behind_times_that_a_model_made(tmp_path: Path):
    what, rates, launches = meaning_of_job(DRAWN, HOPPER), rates_of(HOPPER), []
    for layer in draw_shapes(14, seed=9):
        mnk = layer.tokens, layer.out, layer.in_
        for us, blocks in ranked(what, mnk, HOPPER, [Variant.CHAINED, Variant.SIMPLE])[:8]:
            launches.append(Launch(meaning=what, mnk=mnk, blocks=blocks, us=us))
    slower = {key: each | {"step_ns": 3 * each["step_ns"], "count": 0} for key, each in rates.classes.items()}
    fitted = fit(launches, HOPPER, replace(rates, classes=slower), lambda line: None)
    wrong, right = (
        Launches(launches, HOPPER).predict_us(each) / [launch.us for launch in launches]
        for each in (replace(rates, classes=slower), fitted)
    )
    assert abs(log(sorted(right)[len(right) // 2])) < 0.02 < abs(log(sorted(wrong)[len(wrong) // 2]))
    write(fitted, tmp_path / "sm_90.json")
    again = Launches(launches, HOPPER).predict_us(read(tmp_path / "sm_90.json"))
    assert again == pytest.approx(Launches(launches, HOPPER).predict_us(fitted), rel=0.01)
    assert sum(each["count"] for each in fitted.classes.values()) == len(launches)


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
            meaning, mnk = task.plan.meaning, task.job.mnk
            launches = [Launch(meaning=meaning, mnk=mnk, blocks=blocks, us=1.0) for blocks in task.blocks]
            us = Launches(launches, self.device).predict_us(rates_of(self.device)).tolist()
            ours = dict(zip(task.blocks, us, strict=True))
            mine = ours[task.blocks[0]]
            row = changed(DRAWN_ROW, bf16=None, ours=timing(mine), torch=timing(1.25 * mine, op="op"))
            regret = mine / min(us) - 1
            yield Timed(replace(row, job=task.job, machine=MACHINE, regret=regret), ours)
            yield None


def test_the_command_prints_ratios_and_regret_and_keeps_rows_and_samples(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(random_draw, "Runs", MadeUp)
    monkeypatch.setattr(random_draw, "RECORDS", tmp_path)
    monkeypatch.setattr(random_draw, "rates_path", lambda capability: tmp_path / "sm_90.json")
    options = argparse.Namespace(count=6, seed=2, recipe=["rowwise"], matmul=["fprop"], regret=2)
    vars(options).update(samples=tmp_path / "samples.jsonl", minutes=9.0, workers=1, record=True, fit=True)
    assert random_draw.run(options, HOPPER, MEASUREMENT) == 0
    header, line, fitted = capsys.readouterr().out.splitlines()
    assert header.split()[:3] == ["recipe", "matmul", "shapes"]
    assert line.split()[:3] == ["rowwise", "fprop", "6"]
    assert fitted.startswith(f"{tmp_path / 'sm_90.json'}: ")
    rows = RANDOM_SHAPES.read(tmp_path).rows
    assert [row.times[Peer.TORCH].op for row in rows] == ["op"] * 6
    assert [float(cell) for cell in line.split()[3:6]] == [1.25] * 3
    assert spread(row.ratio for row in rows).geometric_mean == pytest.approx(1.25, rel=1e-3)
    assert all(0 <= row.regret < 1 for row in rows)
    assert len(read_samples(options.samples)) >= 6 * 3
    options.count = options.fit = 0
    options.record = False
    assert random_draw.run(options, HOPPER, MEASUREMENT) == 0, "nothing to do"
