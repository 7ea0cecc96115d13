"""Contract: each section answers, with records and without; its figures are those of the runs."""

import math
from dataclasses import replace

import pytest

from fp8core.experiments.run_spread import gap, runs_needed, spread_percent
from fp8core.recipes import RECIPES
from kernels.bench.row import Provenance
from kernels.train.job import TrainJob
from kernels.train.records import LONGEST_LINE, record_train
from kernels.train.variants import VARIANTS, Shows
from kernels.typed import to_data
from kernels.worker.states import Stopped, Ticket
from pages.kit.gemm import queue_panel
from pages.kit.gemm.queue_panel import Session
from pages.kit.gemm.results import Origin
from pages.sections.loss import runs
from pages.sections.loss.breaks import PICTURES
from pages.sections.loss.controls import ALL_CONTROLS, EARLY, HELD_OUT, LATE, METRIC, PRODUCTS, SHOW, TRAINING
from pages.sections.loss.evidence import evidence
from pages.sections.loss.gaps import line
from pages.sections.loss.inside import alike, notice, numbers, run_of, taken
from pages.sections.loss.sourced import sourced
from tests.kernels.train.made_up import SPEED
from tests.pages.addresses import refused
from tests.pages.hostile import A_PAGE, hostile_queries
from tests.pages.loss_rows import ABOVE, LAST, SEEDS, STEPS, all_rows, loss, row, write

PAGE = "pages/loss.py"
AGED = {4.3: "2026-11-22", 5.6: "2026-11-23"}
"""Milliseconds of a step by the day on which they were measured."""


@pytest.fixture(autouse=True)
def workers(stand_in_workers):
    """No worker starts."""


@pytest.fixture
def recorded(tmp_path, monkeypatch):
    """A folder of made-up runs in the place of the recorded ones."""
    monkeypatch.setattr(runs, "TRAIN", write(tmp_path, all_rows()))
    return tmp_path


@pytest.fixture
def nothing(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(runs, "TRAIN", tmp_path / "none")


def texts(at) -> str:
    assert not at.exception, at.exception[0].value
    assert not at.error
    return "\n".join(one.value for kind in (at.markdown, at.caption, at.info) for one in kind)


@pytest.mark.parametrize("section", SHOW.options)
def test_each_section_answers_with_records_and_without(open_app, recorded, section) -> None:
    assert "A GPU" in texts(open_app(PAGE, loss_show=section)) or section == "train"


@pytest.mark.parametrize("section", SHOW.options)
def test_each_section_answers_without_records(open_app, nothing, section) -> None:
    told = texts(open_app(PAGE, loss_show=section))
    assert "No run of this model is recorded here yet" in told or section == "train"


def test_recipes_in_the_band_are_named_without_an_order_and_others_with_their_gap(open_app, recorded) -> None:
    told = texts(open_app(PAGE))
    assert "bf16's own 4 seeds end between −0.15\xa0% and +0.15\xa0% of their mean" in told
    out = told.split("Beyond that band: ")[1].split("In the band")[0]
    assert out.index("**MXFP4**") < out.index("**NVFP4**")
    assert "**without any order** among them or against bf16: Per tensor, hybrid, DeepSeek-V3, MXFP8" in told
    assert "72 of 75" in told


def test_one_run_outside_a_wide_band_is_not_called_beyond_it(open_app, tmp_path, monkeypatch) -> None:
    rows = [one for one in all_rows() if one.job.recipe == "bf16"]
    monkeypatch.setattr(runs, "TRAIN", write(tmp_path, [*rows, row(TrainJob(recipe="mxfp8"), -0.2)]))
    told = texts(open_app(PAGE))
    assert "with **too few runs to be sure**: **MXFP8** −0.20\xa0%" in told
    assert "outside, but too few runs to be sure" in told
    assert "Beyond that band" not in told


def test_layers_of_one_name_stand_beside_each_other() -> None:
    layers = ["0.qkv", "0.down", "1.qkv", "1.down"]
    assert [layers[place] for place in alike(layers)] == ["0.qkv", "1.qkv", "0.down", "1.down"]


def test_a_gap_in_the_table_is_that_of_the_losses(open_app, recorded) -> None:
    told = texts(open_app(PAGE))
    found = gap(*([loss(400, p) for p in each] for each in ([1.05, 1.15], SEEDS.values())))
    line = next(line for line in told.splitlines() if line.startswith("| NVFP4 |"))
    assert f"{found.percent:+.2f}\xa0±\xa0{found.error:.2f}\xa0%" in line
    bits = sum(loss(400, ABOVE["nvfp4"] + SEEDS[seed]) for seed in (0, 1)) / 2 / math.log(2)
    assert f"| {bits:.4f} |" in line
    assert "| +0.00\xa0% |" in line  # the made-up loss is that of bf16


def test_what_the_forward_costs_is_the_same_weights_loss_in_bf16(open_app, tmp_path, monkeypatch) -> None:
    rows = [one for one in all_rows() if one.job.recipe == "bf16"]
    run = row(TrainJob(recipe="nvfp4"), 1.2)
    monkeypatch.setattr(runs, "TRAIN", write(tmp_path, [*rows, replace(run, held_out_bf16=0.99 * run.final)]))
    told = texts(open_app(PAGE))
    assert "| −1.00\xa0% |" in next(line for line in told.splitlines() if line.startswith("| NVFP4 |"))


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


def test_each_statistic_has_a_number_for_every_layer(recorded) -> None:
    run = run_of("nvfp4", runs.groups()[0])
    found = taken(run.row.statistics, LATE)
    for metric in METRIC.options:
        series = numbers(found, metric)
        assert len(series) == (3 if metric == PRODUCTS else 6)
        told = notice(series, found.layers, metric)
        if metric == "overflows_percent":
            assert told == "overflows_percent is 0 in every layer and copy."
        else:
            assert "layer 0.qkv" in told
            assert "layer 5.down" in told
    assert taken(run.row.statistics, EARLY).step < found.step


def test_the_run_that_is_looked_into_is_one_with_statistics(tmp_path, monkeypatch) -> None:
    job = TrainJob(recipe="mxfp8")
    rows = [replace(row(job, 0.1), statistics=()), row(replace(job, seed=1), 0.2)]
    monkeypatch.setattr(
        runs, "TRAIN", write(tmp_path, [one for one in all_rows() if one.job.recipe == "bf16"] + rows)
    )
    assert run_of("mxfp8", runs.groups()[0]).row.job.seed == 1


def test_the_table_of_statistics_has_the_names_of_logs(open_app, recorded) -> None:
    at = open_app(PAGE, loss_show="inside", loss_inside="mxfp8")
    table = at.dataframe[0].value
    assert {"underflows%", "overflows%", "scale_inv_min", "scale_inv_max", "mse"} <= set(table.columns)
    assert len(table) == 24 * 6


def test_each_change_has_its_finding_at_scale_and_its_picture() -> None:
    assert set(sourced().at_scale) == set(PICTURES) == set(VARIANTS)
    wrong = {name: refused(VARIANTS[name].page, PICTURES[name][1]) for name in VARIANTS}
    assert not any(wrong.values()), wrong


@pytest.mark.parametrize("name", [next(iter(VARIANTS)), next(reversed(VARIANTS))])
def test_a_change_is_shown_with_its_reason_and_what_it_did(open_app, recorded, name) -> None:
    told = texts(open_app(PAGE, loss_show="breaks", loss_change=name))
    assert VARIANTS[name].reason in told
    assert sourced().at_scale[name].url in told
    assert "At the end, " in told
    failed = name == next(iter(VARIANTS))
    assert ("the run with this change failed. Step 121" in told) == failed
    assert ("with this change the loss ends at" in told) != failed


def test_the_figure_behind_a_reason_is_the_median_of_all_layers(recorded) -> None:
    (group,) = runs.groups()
    told = {name: evidence(variant, group) for name, variant in VARIANTS.items()}
    assert "underflows% of dy in Dgrad is **1.25** in the middle of 24 layers, " in told["unscaled_gradients"]
    assert "SQNR of dw in Wgrad is **23.8** dB" in told["no_rotation"]
    assert not any("is 0 before" in each for each in told.values())
    assert told["head_in_four_bits"] == evidence(VARIANTS["mx_floor"], None) == ""


def test_layers_whose_tensor_is_zero_before_are_counted_apart(tmp_path, monkeypatch) -> None:
    rows = [one for one in all_rows() if one.job.recipe == "bf16"]
    broken = row(VARIANTS["unscaled_gradients"].job, 90.0)
    last = broken.statistics[-1]
    copies = [
        replace(one, amax=(0.0, *one.amax[1:]), underflows_percent=(0.0,) + (100.0,) * 23)
        if one.tensor == "dy"
        else one
        for one in last.copies
    ]
    broken = replace(broken, statistics=(replace(last, copies=tuple(copies)),))
    shown = numbers(broken.statistics[0], "underflows_percent")["dy in Dgrad"]
    assert list(shown) == [None] + [100.0] * 23
    monkeypatch.setattr(runs, "TRAIN", write(tmp_path, [*rows, broken]))
    told = evidence(VARIANTS["unscaled_gradients"], runs.groups()[0])
    assert "underflows% of dy in Dgrad is **100** in the middle of 23 layers. In 1 layer dy is 0" in told


def test_a_button_shows_its_change(open_app, recorded) -> None:
    at = open_app(PAGE, loss_show="breaks")
    breaking = [one for one in VARIANTS.values() if one.shows is Shows.BREAKS]
    buttons = [button for button in at.button if button.label == "Break it"]
    assert len(buttons) == len(breaking)
    buttons[1].click().run()
    assert at.query_params["loss_change"] == breaking[1].name
    assert breaking[1].reason in texts(at)


def test_each_card_tells_where_its_runs_ended(open_app, recorded) -> None:
    told = texts(open_app(PAGE, loss_show="breaks"))
    assert told.count("Here: the run failed.") == 1
    kinds = [one.shows for one in VARIANTS.values()]
    assert told.count("beyond the band.") >= kinds.count(Shows.BREAKS) - 1
    beside = ["from MXFP4.", "from Per tensor, hybrid.", "from Per tensor, hybrid.", "from NVFP4."]
    assert [told.count(each) for each in beside] == [beside.count(each) for each in beside]


def test_the_runs_a_difference_takes_follow_the_spread_of_seeds(open_app, recorded) -> None:
    spread = spread_percent([LAST * (1 + each / 100) for each in SEEDS.values()])
    told = texts(open_app(PAGE, loss_show="sure", loss_delta="0.1"))
    assert f"**{runs_needed(spread, 0.1)} runs of each**" in told
    assert f"**{spread:.3f} %**" in told
    assert "**Equal seeds help here.**" in told  # a made-up recipe adds the same to each seed's loss
    assert f"| NVFP4 | 2 | {ABOVE['nvfp4']:+.2f}" in told


def test_seeds_that_do_not_matter_help_nothing(open_app, tmp_path, monkeypatch) -> None:
    rows = [one for one in all_rows() if one.job.recipe != "mxfp8"]
    turned = [row(TrainJob(recipe="mxfp8", seed=seed), -3 * SEEDS[seed]) for seed in SEEDS]
    monkeypatch.setattr(runs, "TRAIN", write(tmp_path, [*rows, *turned]))
    assert "**Equal seeds do not help for sure.**" in texts(open_app(PAGE, loss_show="sure"))


def test_the_newest_time_of_a_step_stands_beside_the_compiled_loop(open_app, recorded) -> None:
    old, new = (replace(SPEED, recipe="nvfp4", step_ms=ms, date=date) for ms, date in AGED.items())
    for one in (new, old, replace(SPEED, model="m")):
        record_train(one, recorded)
    told = texts(open_app(PAGE, loss_show="train"))
    assert f"{new.times_compiled:.2f}" in told
    assert f"{old.times_compiled:.2f}" not in told
    assert told.count("| 72 | 400 |") == 1


def test_published_gaps_stand_beside_ours_with_their_source(open_app, recorded) -> None:
    told = texts(open_app(PAGE, loss_show="elsewhere"))
    for one in sourced().published:
        assert one.link in told
        assert set(one.recipes) <= set(RECIPES)
    assert (
        "of 10 published gaps, 1 agree" in told
    )  # equal seeds leave no error here, and one source gives a bound
    assert "each against bf16's run of the same seed" in told


def test_without_help_of_equal_seeds_gaps_have_the_width_of_the_band(open_app, tmp_path, monkeypatch) -> None:
    rows = [one for one in all_rows() if one.job.seed in (0, 1) or one.job.recipe == "bf16"]
    monkeypatch.setattr(
        runs, "TRAIN", write(tmp_path, [one for one in rows if one.job.seed == 0] + rows[1:4])
    )
    told = texts(open_app(PAGE, loss_show="elsewhere"))
    assert "against the mean of bf16's seeds" in told
    assert "of 10 published gaps, 2 agree" in told


def test_a_line_that_cannot_be_read_is_told_and_left_out(open_app, recorded) -> None:
    path = recorded / "a-gpu.jsonl"
    path.write_text(path.read_text() + '{"job": 3}\n', encoding="utf-8")
    at = open_app(PAGE)
    assert "cannot be read and are left out" in at.warning[0].value
    assert "Beyond that band" in texts(at)


def test_hostile_addresses_give_a_working_page(open_app, recorded) -> None:
    for query in hostile_queries([control.key for control in ALL_CONTROLS], A_PAGE):
        texts(open_app(PAGE, **query))


def test_the_longest_row_fits_into_a_line_of_the_record() -> None:
    assert len(str(to_data(row(VARIANTS["mx_floor"].job, 1.0)))) < LONGEST_LINE


def test_the_part_of_a_stopped_run_stays_among_the_results_with_its_reason() -> None:
    part, mine = row(TrainJob(recipe="nvfp4"), 1.0, done=120), Session(name="me")
    queue_panel._keep(mine, Ticket(1, part.job), Stopped("You stopped it.", partial=part))
    assert mine.rows == [part]
    assert mine.last.reason == "You stopped it."


def test_a_run_of_this_session_is_drawn_over_the_recorded_band_where_it_belongs_there(recorded) -> None:
    part = row(TrainJob(recipe="nvfp4", seed=5), 1.0, done=120)
    (group,) = runs.groups()
    run = runs.Run(part, Origin.HERE)
    assert run.compares_with(group)
    drawn = line(run, group, HELD_OUT)
    assert drawn.is_here
    assert drawn.steps == [40, 80, 120]
    assert drawn.percent == pytest.approx([1.0] * 3)
    other = replace(part, machine=replace(part.machine, name="Another GPU"))
    assert not runs.Run(other, Origin.HERE).compares_with(group)


def test_a_run_without_a_band_is_drawn_by_its_loss_alone(open_app, nothing) -> None:
    job = TrainJob(recipe="deepseek_v3", model="tiny", steps=30)
    part = replace(row(job, 1.0, done=120), provenance=Provenance.REFERENCE)
    part = replace(part, job=job, steps=STEPS)
    at = open_app(PAGE)
    at.session_state["_gemm_session"] = Session(rows=[part])
    at.query_params["loss_show"] = "train"
    at.run()
    told = texts(at)
    assert "120 of 400 steps; 72 of 75 GEMMs a step are quantized" in told
    assert "By the rules of the reference on a CPU" in told
    assert at.expander[0].label == "In its layers after step 120, under the names in logs"
    assert len(at.dataframe[0].value) == 24 * 6
