"""Contract of rows: they survive JSON and files, their figures agree, and bad fields are named."""

import math
from dataclasses import replace

import pytest

from fp8core.recipes import RECIPES
from fp8core.recipes.text import to_text
from kernels.train.job import BF16, TrainJob
from kernels.train.records import read_train, record_train
from kernels.train.row import TrainRow
from kernels.train.sizes import ON_CPU, SIZES, TILE, Size
from kernels.train.variants import VARIANTS
from kernels.typed import from_data, to_data
from tests.kernels.train.made_up import ROW, SPEED


def test_a_row_survives_json_and_a_file(tmp_path):
    assert from_data(TrainRow, to_data(ROW)) == ROW
    record_train(ROW, tmp_path)
    record_train(ROW, tmp_path)
    record_train(SPEED, tmp_path)
    found = read_train(tmp_path)
    assert (found.rows, found.speeds, found.bad) == ((ROW, ROW), (SPEED,), ())
    assert (SPEED.times_compiled, SPEED.tokens_s) == (0.8, 64 * 512 / 4e-3)


def test_losses_are_means_that_end_at_their_steps():
    assert ROW.at == (10, 20, 30, 35)
    assert replace(ROW, done=30, losses=(1.0, 1.0, 1.0)).at == (10, 20, 30)


def test_a_run_has_a_final_loss_only_at_its_end():
    whole = replace(ROW, done=40, failure="")
    assert (ROW.final, whole.final) == (None, 4.0)
    assert whole.final_bits == pytest.approx(4.0 / math.log(2))
    assert replace(whole, failure="it broke").final is None
    assert whole.bytes_read == 40 * SIZES["s"].bytes_per_step


def test_a_recipe_is_a_name_or_a_line_of_text():
    assert TrainJob(recipe=BF16).recipe_data is None
    assert TrainJob(recipe="mxfp4").recipe_data is RECIPES["mxfp4"]
    assert TrainJob(recipe=to_text(RECIPES["mxfp4"])).recipe_data == RECIPES["mxfp4"]


def test_widths_are_whole_tiles():
    assert all(width % TILE == 0 for size in SIZES.values() for width in (size.width, size.hidden))
    with pytest.raises(ValueError, match="multiple of 128, got 200"):
        Size(name="x", width=200, layers=1)


def test_every_recorded_run_is_read_and_says_how_much_of_it_was_quantized():
    found = read_train()
    assert found.bad == ()
    assert any(row.job.recipe == BF16 for row in found.rows)
    for row in found.rows:
        assert row.finished
        assert (row.quantized_gemms == 0) == (row.job.recipe == BF16)
    whole = {(row.job.recipe, row.job.model) for row in found.rows}
    assert {
        (job.recipe, job.model) for job in (replace(v.job, model="s") for v in VARIANTS.values())
    } <= whole
    assert {(name, "s") for name in RECIPES} <= whole


def test_the_smallest_size_is_named_by_what_it_is_and_the_others_by_their_letters():
    small, tiny = TrainJob(recipe="mxfp8", model="s"), TrainJob(recipe="mxfp8", model=ON_CPU)
    assert (small.title, small.size) == ("Training: MXFP8, size S, seed 0", "a model of size S")
    assert tiny.title == "Training: MXFP8, the smallest size, seed 0"
    assert tiny.size == "a model of the smallest size"
