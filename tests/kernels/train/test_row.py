"""Contract of rows: they survive JSON and files, their figures agree, and bad fields are named."""

import math
from dataclasses import replace

import pytest

from fp8core.recipes import RECIPES
from fp8core.recipes.text import to_text
from kernels.bench.machine import Machine
from kernels.device import Unsupported
from kernels.paths import TOP
from kernels.train.job import BF16, TrainJob
from kernels.train.records import read_train, record_train
from kernels.train.row import TrainRow
from kernels.train.sizes import SIZES, TILE, Size
from kernels.train.variants import VARIANTS, Shows
from kernels.typed import from_data, to_data
from tests.kernels.train.made_up import JOB, ROW, SPEED


def test_a_row_survives_json_and_a_file(tmp_path):
    assert from_data(TrainRow, to_data(ROW)) == ROW
    record_train(ROW, tmp_path)
    record_train(ROW, tmp_path)
    record_train(SPEED, tmp_path)
    found = read_train(tmp_path)
    assert (found.rows, found.speeds, found.bad) == ((ROW, ROW), (SPEED,), ())
    assert (SPEED.times_compiled, SPEED.tokens_s) == (0.8, 64 * 512 / 4e-3)


def test_a_row_of_the_cpu_is_not_recorded(tmp_path):
    row = replace(ROW, machine=Machine(name="a CPU", capability=None, versions={}))
    with pytest.raises(Unsupported, match="emulated"):
        record_train(row, tmp_path)


def test_losses_are_means_that_end_at_their_steps():
    assert ROW.at == (10, 20, 30, 35)
    assert replace(ROW, done=30, losses=(1.0, 1.0, 1.0)).at == (10, 20, 30)


def test_a_run_has_a_final_loss_only_at_its_end():
    whole = replace(ROW, done=40, failure="")
    assert (ROW.final, whole.final) == (None, 4.0)
    assert whole.final_bits == pytest.approx(4.0 / math.log(2))
    assert replace(whole, failure="it broke").final is None
    assert whole.bytes_read == 40 * SIZES["s"].bytes_per_step


def test_more_steps_than_there_are_is_refused():
    with pytest.raises(ValueError, match="has done at most those, got 41"):
        replace(ROW, done=41)


@pytest.mark.parametrize(
    ("fields", "told"),
    [
        ({"recipe": "fp7"}, "no recipe is called 'fp7'"),
        ({"model": "xl"}, "unknown size of model 'xl'"),
        ({"seed": -1}, "the seed is a whole number"),
        ({"steps": -1}, "a run has 0 to"),
        ({"seconds": 0.0}, "a run takes up to"),
        ({"recipe": BF16, "head": True}, "has no layer that a switch could change"),
    ],
    ids=str,
)
def test_a_bad_field_is_named(fields, told):
    with pytest.raises(ValueError, match=told):
        replace(JOB, **fields)


def test_a_recipe_is_a_name_or_a_line_of_text():
    assert TrainJob(recipe=BF16).recipe_data is None
    assert TrainJob(recipe="mxfp4").recipe_data is RECIPES["mxfp4"]
    assert TrainJob(recipe=to_text(RECIPES["mxfp4"])).recipe_data == RECIPES["mxfp4"]


def test_widths_are_whole_tiles():
    assert all(width % TILE == 0 for size in SIZES.values() for width in (size.width, size.hidden))
    with pytest.raises(ValueError, match="multiple of 128, got 200"):
        Size(name="x", width=200, layers=1)


@pytest.mark.parametrize("name", VARIANTS)
def test_a_variant_differs_from_what_it_stands_beside(name):
    variant = VARIANTS[name]
    assert variant.job != variant.beside
    assert (TOP / "pages" / f"{variant.page}.py").exists()


def test_unscaled_gradients_have_the_scale_1():
    recipe = VARIANTS["unscaled_gradients"].job.recipe_data
    for spec in (recipe.dgrad.a, recipe.wgrad.a):
        assert spec.scale_rule.scale(1e-5, spec.format) == 1.0
    assert {v.shows for v in VARIANTS.values()} == set(Shows)


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
