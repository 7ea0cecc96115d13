"""Contract: the gaps, the words and the table of the curves are those of the runs."""

import math
from dataclasses import replace

import pytest

from fp8core.experiments.run_spread import gap
from kernels.train.job import TrainJob
from pages.loss import runs, words
from pages.loss.charts.curves import Band, Line
from pages.loss.controls import TRAINING
from pages.loss.gaps import line, reach
from tests.pages.loss.page import PAGE, texts
from tests.pages.loss.rows import ABOVE, SEEDS, all_rows, loss, row, write
from tests.pages.specs import in_rows, sent_dataset


def labels(at) -> list[dict]:
    return in_rows(sent_dataset(at.get("vega_lite_chart")[0], "labels"))


def test_recipes_in_the_band_are_named_without_an_order_and_others_with_their_gap(open_app, recorded) -> None:
    at = open_app(PAGE)
    said = "Eight bits change the loss no more than a new seed would. Four bits do: MXFP4 ends **1.8% above"
    assert said in texts(at)
    found = [(one["figure"], one["name"]) for one in labels(at)]
    assert found == [
        ("+1.8%", "MXFP4"),
        ("+1.1%", "NVFP4"),
        ("no order", "in the band"),
        *(("", name) for name in ("Per tensor, hybrid", "DeepSeek-V3", "MXFP8")),
    ]
    assert "72 of 75" in texts(at)


def test_one_run_outside_a_wide_band_is_not_called_beyond_it(open_app, tmp_path, monkeypatch) -> None:
    rows = [one for one in all_rows() if one.job.recipe == "bf16"]
    monkeypatch.setattr(runs, "TRAIN", write(tmp_path, [*rows, row(TrainJob(recipe="mxfp8"), -0.2)]))
    at = open_app(PAGE)
    told = texts(at)
    assert "No recipe surely leaves bf16's own seeds, **−0.15% to +0.15%**." in told
    assert "outside, but too few runs to be sure" in told
    assert [(one["name"], one["told"]) for one in labels(at)] == [("MXFP8", "1 run, unsure")]


def test_an_old_address_of_the_layers_opens_them_among_the_curves(open_app, recorded) -> None:
    at = open_app(PAGE, loss_show="inside", loss_inside="mxfp8")
    assert "MXFP8: underflows%" in texts(at)
    assert at.query_params == {"loss_of": "layers", "loss_inside": "mxfp8"}


def test_a_gap_in_the_table_is_that_of_the_losses(open_app, recorded) -> None:
    told = texts(open_app(PAGE))
    found = gap(*([loss(400, p) for p in each] for each in ([1.05, 1.15], SEEDS.values())))
    line = next(line for line in told.splitlines() if line.startswith("| NVFP4 |"))
    assert f"{found.percent:+.2f}\xa0±\xa0{found.error:.2f}%" in line
    bits = sum(loss(400, ABOVE["nvfp4"] + SEEDS[seed]) for seed in (0, 1)) / 2 / math.log(2)
    assert f"| {bits:.4f} |" in line
    assert "| +0.00% |" in line  # the made-up loss is that of bf16


def test_what_the_forward_costs_is_the_same_weights_loss_in_bf16(open_app, tmp_path, monkeypatch) -> None:
    rows = [one for one in all_rows() if one.job.recipe == "bf16"]
    run = row(TrainJob(recipe="nvfp4"), 1.2)
    monkeypatch.setattr(runs, "TRAIN", write(tmp_path, [*rows, replace(run, held_out_bf16=0.99 * run.final)]))
    told = texts(open_app(PAGE))
    assert "| −1.00% |" in next(line for line in told.splitlines() if line.startswith("| NVFP4 |"))


def test_losses_on_batches_are_compared_with_the_bf16_run_of_the_same_seed(recorded) -> None:
    (group,) = runs.groups()
    for run in group.of(("nvfp4", False, False)):
        percents = line(run, group, TRAINING).percent
        own = SEEDS[run.row.job.seed]
        wanted = 100 * ((1 + (ABOVE["nvfp4"] + own) / 100) / (1 + own / 100) - 1)
        assert percents == pytest.approx([wanted] * 100, abs=0.01)


def test_runs_of_other_lengths_are_never_compared(tmp_path, monkeypatch) -> None:
    short = [replace(one, steps=300, done=300, job=replace(one.job, steps=300)) for one in all_rows()[:1]]
    monkeypatch.setattr(runs, "TRAIN", write(tmp_path, [*all_rows(), *short]))
    first, second = runs.groups()
    assert (first.steps, second.steps) == (400, 300)
    assert len(second.runs) == 1


def test_a_run_far_from_the_band_is_cut_only_where_the_reader_looks_near_it() -> None:
    around = Band(steps=[100, 400], low=[-30.0, -1.0], high=[30.0, 1.0])
    far = Line(name="far", seed=0, steps=[100, 400], percent=[900.0, 50.0], failure="", is_here=False)
    low, high = reach([far], around, near=False)
    assert -2 < low < -1
    assert 50 < high < 60
    low, near = reach([far], around, near=True)
    assert 1 < near < 10


def test_what_rounds_to_zero_has_no_minus() -> None:
    told = words.percent(-0.001), words.signed(-0.004, 0.5), words.percent(-0.006)
    assert told == ("+0.00%", "+0.00\xa0±\xa00.50%", "−0.01%")
