"""Contract of rows: they survive JSON and files, their figures agree, and bad fields are named."""

import math
from dataclasses import replace

import pytest

from kernels.layer.plan import LAYER_RECIPES
from kernels.paths import TRAIN
from kernels.train.job import BF16
from kernels.train.row import RUNS, SPEEDS, TrainRow
from kernels.train.variants import VARIANTS
from kernels.typed import from_data, to_data
from tests.kernels.train.made_up import ROW, SPEED


def test_a_row_survives_json_and_a_file(tmp_path):
    assert from_data(TrainRow, to_data(ROW)) == ROW
    RUNS.record(ROW, tmp_path)
    SPEEDS.record(SPEED, tmp_path)
    assert (RUNS.read(tmp_path).rows, SPEEDS.read(tmp_path).rows) == ((ROW,), (SPEED,))
    assert SPEED.times_compiled == 0.8


def test_a_run_has_a_final_loss_only_at_its_end():
    whole = replace(ROW, done=40, failure="")
    assert (ROW.final, whole.final) == (None, 4.0)
    assert whole.final_bits == pytest.approx(4.0 / math.log(2))
    assert replace(whole, failure="it broke").final is None


def test_every_recorded_run_is_read_and_says_how_much_of_it_was_quantized():
    records = RUNS.read(TRAIN)
    assert records.bad == SPEEDS.read(TRAIN).bad == ()
    assert any(row.job.recipe == BF16 for row in records.rows)
    for row in records.rows:
        assert row.finished
        assert (row.quantized_gemms == 0) == (row.job.recipe == BF16)
    whole = {(row.job.recipe, row.job.model) for row in records.rows}
    assert {
        (job.recipe, job.model) for job in (replace(v.job, model="s") for v in VARIANTS.values())
    } <= whole
    assert {(name, "s") for name in LAYER_RECIPES} <= whole
