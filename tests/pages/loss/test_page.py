"""Contract: each section answers, with records and without; gaps, words and tables are those of the runs."""

import math
from dataclasses import replace

import pytest

from fp8core.experiments.run_spread import gap, runs_needed, spread_percent
from fp8core.recipes import RECIPES
from kernels.train.job import TrainJob
from pages.loss import runs
from pages.loss.controls import LOSS, METRIC, PRODUCTS, SHOW, TRAINING
from pages.loss.curves import by_name, ends_of, extremes, numbers
from pages.loss.gaps import line, percent
from pages.loss.runs import literature
from tests.pages.loss.rows import ABOVE, LAST, PAGE, SEEDS, all_rows, loss, row, texts
from tests.pages.specs import in_rows, sent_dataset

SECTIONS = [
    *({"loss_show": section} for section in SHOW.options),
    *({"loss_of": loss} for loss in LOSS.options if loss != LOSS.default),
]


@pytest.mark.parametrize("address", SECTIONS, ids=lambda address: next(iter(address.values())))
def test_each_view_answers_with_records(open_app, recorded, address) -> None:
    assert "A GPU" in texts(open_app(PAGE, **address))


@pytest.mark.parametrize("address", SECTIONS, ids=lambda address: next(iter(address.values())))
def test_each_view_answers_without_records(open_app, nothing, address) -> None:
    assert "No run of this model is recorded here yet" in texts(open_app(PAGE, **address))


def labels(at) -> list[dict]:
    return in_rows(sent_dataset(at.get("vega_lite_chart")[0], "labels"))


def test_recipes_in_the_band_are_named_without_an_order_and_others_with_their_gap(open_app, recorded) -> None:
    at = open_app(PAGE)
    assert "Four bits do: MXFP4 ends **1.8% above" in texts(at)
    assert [(one["figure"], one["name"]) for one in labels(at)] == [
        ("+1.8%", "MXFP4"),
        ("+1.1%", "NVFP4"),
        ("no order", "means in the band"),
        *(("", name) for name in ("Per tensor, hybrid", "DeepSeek-V3", "MXFP8")),
    ]
    assert "72 of 75" in texts(at)


def test_one_run_outside_a_wide_band_is_not_called_beyond_it(open_app, record) -> None:
    rows = [one for one in all_rows() if one.job.recipe == "bf16"]
    record([*rows, row(TrainJob(recipe="mxfp8"), -0.2)])
    at = open_app(PAGE)
    words = texts(at)
    assert "No recipe surely leaves bf16's own seeds, **−0.15% to +0.15%**." in words
    assert "outside, but too few runs to be sure" in words
    assert [(one["name"], one["note"]) for one in labels(at)] == [("MXFP8", "1 run, unsure")]


def test_recipes_that_are_not_recorded_leave_the_band_alone(open_app, recorded) -> None:
    at = open_app(PAGE, loss_recipes="mxfp6_e2m3")
    assert f"Not recorded for this model: {RECIPES['mxfp6_e2m3'].title}." in texts(at)
    assert labels(at) == []


def test_a_gap_in_the_table_is_that_of_the_losses(open_app, recorded) -> None:
    words = texts(open_app(PAGE))
    apart = gap(*([loss(400, p) for p in each] for each in ([1.05, 1.15], SEEDS.values())))
    line = next(line for line in words.splitlines() if line.startswith("| NVFP4 |"))
    assert f"{apart.percent:+.2f}\xa0±\xa0{apart.error:.2f}%" in line
    bits = sum(loss(400, ABOVE["nvfp4"] + SEEDS[seed]) for seed in (0, 1)) / 2 / math.log(2)
    assert f"| {bits:.4f} |" in line
    assert "| +0.00% |" in line  # the made-up loss is that of bf16


def test_what_the_forward_costs_is_the_same_weights_loss_in_bf16(open_app, record) -> None:
    rows = [one for one in all_rows() if one.job.recipe == "bf16"]
    run = row(TrainJob(recipe="nvfp4"), 1.2)
    record([*rows, replace(run, held_out_bf16=0.99 * run.final)])
    words = texts(open_app(PAGE))
    assert "| −1.00% |" in next(line for line in words.splitlines() if line.startswith("| NVFP4 |"))


def test_losses_on_batches_are_compared_with_the_bf16_run_of_the_same_seed(recorded) -> None:
    (group,) = runs.groups()
    for run in group.of(("nvfp4", False, False)):
        percents = line(run, group, TRAINING).percent
        own = SEEDS[run.row.job.seed]
        above = 100 * ((1 + (ABOVE["nvfp4"] + own) / 100) / (1 + own / 100) - 1)
        assert percents == pytest.approx([above] * 100, abs=0.01)


def test_runs_of_other_lengths_are_never_compared(record) -> None:
    short = [replace(one, steps=300, done=300, job=replace(one.job, steps=300)) for one in all_rows()[:1]]
    record([*all_rows(), *short])
    first, second = runs.groups()
    assert (first.first.steps, second.first.steps) == (400, 300)
    assert len(second.runs) == 1


def test_each_statistic_has_a_number_for_every_layer(recorded) -> None:
    last = runs.groups()[0].of(("nvfp4", False, False))[0].row.statistics[-1]
    for metric in METRIC.options:
        series = numbers(last, metric)
        assert len(series) == (3 if metric == PRODUCTS else 6)
        sentence = extremes(series, last.layers, metric)
        if metric == "overflows_percent":
            assert sentence == "overflows_percent is **0** in every layer and copy."
        else:
            assert "layer 0.qkv" in sentence
            assert "layer 5.down" in sentence
    layers = ["0.qkv", "0.down", "1.qkv", "1.down"]
    assert [layers[index] for index in by_name(layers)] == ["0.qkv", "1.qkv", "0.down", "1.down"]


def test_the_runs_a_difference_takes_follow_the_spread_of_seeds(open_app, recorded) -> None:
    spread = spread_percent([LAST * (1 + each / 100) for each in SEEDS.values()])
    words = texts(open_app(PAGE, loss_of="ends", loss_delta="0.1"))
    assert f"**{runs_needed(spread, 0.1)} runs of each**" in words
    assert f"already spread by {spread:.2f}%" in words
    assert "**Equal seeds help here.**" in words  # a made-up recipe adds the same to each seed's loss
    assert "Of all 6, 6 leave out 0. Were all recipes equal to bf16, 0.3 would by chance." in words


def test_seeds_that_do_not_matter_help_nothing(open_app, record) -> None:
    rows = [one for one in all_rows() if one.job.recipe != "mxfp8"]
    others = [row(TrainJob(recipe="mxfp8", seed=seed), -3 * SEEDS[seed]) for seed in SEEDS]
    record([*rows, *others])
    assert "**Equal seeds do not help for sure.**" in texts(open_app(PAGE, loss_of="ends"))


def test_published_gaps_stand_beside_ours_with_their_source(open_app, recorded) -> None:
    words = texts(open_app(PAGE, loss_show="elsewhere"))
    for one in literature().published:
        assert one.link in words
        assert set(one.recipes) <= set(RECIPES)
    assert "Of 10 published gaps, **2 agree with ours**. 2 of 10 we cannot decide: too few runs." in words
    assert "Ours, as in “Curves”: the mean of a recipe's runs above the mean of bf16's seeds" in words


def test_where_runs_ended_is_in_percent_of_the_mean_of_bf16(recorded) -> None:
    (group,) = runs.groups()
    ends = ends_of(group, ["nvfp4", "mxfp6_e2m3"])
    assert list(ends) == ["bf16", RECIPES["nvfp4"].title]
    assert ends["bf16"] == pytest.approx([*SEEDS.values()], abs=1e-6)
    nvfp4 = [ABOVE["nvfp4"] + SEEDS[seed] for seed in (0, 1)]
    assert ends[RECIPES["nvfp4"].title] == pytest.approx(nvfp4, abs=1e-6)
    assert (percent(-0.001), percent(-0.006)) == ("+0.00%", "−0.01%")


def test_each_end_opens_its_run_and_that_of_a_mean_all_of_them(open_app, recorded) -> None:
    ends = in_rows(sent_dataset(open_app(PAGE).get("vega_lite_chart")[0], "ends"))
    runs = [one["opens"].split(".") for one in ends if one["seed"] != "mean"]
    assert [seed for _, seed in runs] == [one["seed"] for one in ends if one["seed"] != "mean"]
    assert {recipe for recipe, _ in runs} == set(ABOVE)
    assert {one["opens"] for one in ends if one["seed"] == "mean"} == {"nvfp4", "mxfp4"}
    one = texts(open_app(PAGE, loss_run="nvfp4.1"))
    above = 100 * ((1 + (ABOVE["nvfp4"] + SEEDS[1]) / 100) / (1 + sum(SEEDS.values()) / len(SEEDS) / 100) - 1)
    for cells in ("| seed | 1 |", f"**end, above the mean of bf16** | {percent(above)} |", "2026-11-23"):
        assert cells in one
    assert "| seed | 0 | 1 |" in texts(open_app(PAGE, loss_run="nvfp4"))
    assert "| seed |" not in texts(open_app(PAGE, loss_run="nvfp4.9"))
