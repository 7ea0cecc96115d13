"""Contract: the command prints ratios and regret of a draw, and keeps its rows."""

import argparse
from dataclasses import replace

import pytest

from kernels.device import HOPPER
from kernels.gemm.choose import ranked
from kernels.gemm.cost import rates_of, read
from kernels.gemm.tuned import Measurement
from kernels.measure import random_draw
from kernels.measure.fit import Sample, read_samples
from kernels.measure.random_shapes import spread
from kernels.measure.records import RANDOM_SHAPES
from kernels.measure.rows import Machine, Peer
from tests.kernels.measure.made_up import DRAWN, changed, timing

MEASURED = {"gpu": HOPPER.name, "date": "2026-11-29", "versions": {"triton": "3.6.0"}}
MACHINE = Machine(name=HOPPER.name, capability=HOPPER.capability, versions={})


class MadeUp:
    """Stands in for a GPU: the model's times, and a peer that takes a quarter longer."""

    kernels, faults = 0, ()

    def __init__(self, tasks, device, *rest):
        self.tasks, self.device = tasks, device

    def timings(self, until):
        for task in self.tasks:
            variants = {blocks.variant for blocks in task.blocks}
            us = {at: us for us, at in ranked(task.plan.numerics, task.job.mnk, self.device, variants)}
            mine, *others = (us.get(blocks, max(us.values())) for blocks in task.blocks)
            row = changed(DRAWN, bf16=None, ours=timing(mine), torch=timing(1.25 * mine, op="op"))
            row = replace(row, job=task.job, machine=MACHINE, regret=mine / min(mine, *others) - 1)
            yield row, (Sample(gemm=task.job, blocks=task.blocks[0], us=mine),)
            yield None


def test_the_command_prints_ratios_and_regret_keeps_rows_and_fits(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(random_draw, "Runs", MadeUp)
    monkeypatch.setattr(random_draw, "RECORDS", tmp_path)
    options = argparse.Namespace(count=6, seed=2, recipe=["rowwise"], matmul=["fprop"], regret=2)
    vars(options).update(minutes=9.0, workers=1, record=True, fit=tmp_path / "times.jsonl")
    monkeypatch.setattr(random_draw, "rates_path", lambda capability: tmp_path / "rates.json")
    monkeypatch.setattr(random_draw, "measurement_of", lambda device: Measurement(**MEASURED))
    assert random_draw.run(options, HOPPER) == 0
    header, line = capsys.readouterr().out.splitlines()
    assert header.split()[:3] == ["recipe", "matmul", "shapes"]
    assert line.split()[:3] == ["rowwise", "fprop", "6"]
    rows = RANDOM_SHAPES.read(tmp_path).rows
    assert [row.times[Peer.TORCH].op for row in rows] == ["op"] * 6
    assert [float(cell) for cell in line.split()[3:6]] == [1.25] * 3
    assert spread(row.ratio for row in rows).geometric_mean == pytest.approx(1.25, rel=1e-3)
    assert all(0 <= row.regret < 9 for row in rows)
    assert len(read_samples(options.fit)) == 6
    fitted, known = read(tmp_path / "rates.json"), rates_of(HOPPER)
    assert fitted.date == MEASURED["date"]
    assert sum(each["count"] for each in fitted.classes.values()) == 6 + sum(
        each["count"] for each in known.classes.values()
    )
    options.count, options.fit = 0, tmp_path / "none.jsonl"
    with pytest.raises(ValueError, match="has no samples to fit to"):
        random_draw.run(options, HOPPER)
