"""Contract: a change has its reason, figure and picture; runs of this server stand beside recorded ones."""

from dataclasses import replace

import pytest

from kernels.measure.rows import Provenance
from kernels.train.job import SIZES, TrainJob
from kernels.train.row import SPEEDS, read_emulated
from kernels.train.variants import VARIANTS
from pages.kit.gemm.queue_panel import Session
from pages.loss import runs
from pages.loss.breaks import PICTURES, evidence
from pages.loss.controls import HELD_OUT
from pages.loss.curves import numbers
from pages.loss.gaps import line
from pages.loss.runs import literature
from pages.loss.train import job_for
from tests.kernels.train.made_up import SPEED
from tests.pages.addresses import refused
from tests.pages.loss.rows import PAGE, STEPS, all_rows, row, texts
from tests.pages.specs import in_rows, sent_dataset


def test_each_change_has_its_finding_at_scale_and_its_picture() -> None:
    assert set(literature().at_scale) == set(PICTURES) == set(VARIANTS)
    wrong = {name: refused(one.page, PICTURES[name][1]) for name, one in literature().at_scale.items()}
    assert not any(wrong.values()), wrong


def test_the_lengths_of_sums_in_a_reason_are_the_model_s() -> None:
    lengths = [width for shape in SIZES["s"].block_linears.values() for width in shape]
    reason = literature().at_scale["fast_everywhere"].reason
    assert f"run over {min(lengths):,} to {max(lengths):,} numbers" in reason
    assert f"over {SIZES['s'].bytes_per_step:,} tokens" in reason


@pytest.mark.parametrize("name", [next(iter(VARIANTS)), next(reversed(VARIANTS))])
def test_a_change_is_shown_with_its_reason_and_what_it_did(open_app, recorded, name) -> None:
    words = texts(open_app(PAGE, loss_show="breaks", loss_change=name))
    assert literature().at_scale[name].reason in words
    assert literature().at_scale[name].url in words
    assert "At the end, " in words
    is_first = name == next(iter(VARIANTS))
    assert ("The run with this change **failed**. Step 121" in words) == is_first
    assert ("With this change the loss ends" in words) != is_first


def test_the_figure_behind_a_reason_is_the_median_of_all_layers(recorded) -> None:
    (group,) = runs.groups()
    every = {name: evidence(variant, group) for name, variant in VARIANTS.items()}
    gradients = "the median of underflows% of dy in Dgrad over 24 layers is **1.25**, without"
    assert gradients in every["unscaled_gradients"]
    assert "the median of SQNR of dw in Wgrad over 24 layers is **23.8** dB" in every["no_rotation"]
    assert not any("is 0 before" in each for each in every.values())
    assert evidence(VARIANTS["mx_floor"], None) == ""


def test_layers_whose_tensor_is_zero_before_are_counted_apart(record) -> None:
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
    layers = numbers(broken.statistics[0], "underflows_percent")["dy in Dgrad"]
    assert list(layers) == [None] + [100.0] * 23
    record([*rows, broken])
    sentence = evidence(VARIANTS["unscaled_gradients"], runs.groups()[0])
    assert "of dy in Dgrad over 23 layers is **100**. In 1 other layer dy is 0" in sentence


def test_the_newest_time_of_a_step_stands_beside_the_compiled_loop(open_app, recorded) -> None:
    new = replace(SPEED, recipe="nvfp4", step_ms=5.6, date="2026-11-23")
    old = replace(new, step_ms=4.3, date="2026-11-22")
    for one in (new, old, replace(SPEED, model="m")):
        SPEEDS.record(one, recorded)
    words = texts(open_app(PAGE, loss_show="train"))
    assert f"{new.times_compiled:.2f}" in words
    assert f"{old.times_compiled:.2f}" not in words
    assert words.count("| 72 | 400 |") == 1


@pytest.mark.parametrize("section", ["train", "breaks"])
def test_a_gpu_trains_as_many_steps_as_are_recorded(open_app, recorded, on_gpu, section) -> None:
    at = open_app(PAGE, loss_show=section)
    texts(at)
    assert not any("tiny" in button.label for button in at.button)
    (group,) = runs.groups()
    assert job_for(TrainJob(recipe="nvfp4"), group).steps == STEPS


def test_a_run_of_this_session_is_drawn_over_the_recorded_band_where_it_belongs_there(recorded) -> None:
    part = row(TrainJob(recipe="nvfp4", seed=5), 1.0, done=120)
    (group,) = runs.groups()
    run = runs.Run(part, is_here=True)
    assert run.compares_with(group)
    curve = line(run, group, HELD_OUT)
    assert curve.is_here
    assert curve.steps == [40, 80, 120]
    assert curve.percent == pytest.approx([1.0] * 3)
    other = replace(part, machine=replace(part.machine, name="Another GPU"))
    assert not runs.Run(other, is_here=True).compares_with(group)


def test_a_run_without_a_band_is_drawn_by_its_loss_alone(open_app, nothing) -> None:
    job = TrainJob(recipe="deepseek_v3", model="tiny", steps=30)
    part = replace(row(job, 1.0, done=120), provenance=Provenance.REFERENCE)
    part = replace(part, job=job, steps=STEPS)
    at = open_app(PAGE)
    at.session_state["_gemm_session"] = Session(rows=[part])
    at.query_params["loss_show"] = "train"
    at.run()
    words = texts(at)
    assert "120 of 400 steps; 72 of 75 GEMMs a step are quantized" in words
    assert "No bf16 run of this model and length is recorded on a CPU. By the rules of the" in words
    assert at.expander[0].label == "In its layers after step 120, under the names in logs"
    assert len(at.dataframe[0].value) == 24 * 6


def test_a_run_on_a_cpu_is_drawn_beside_the_recorded_one_of_bf16(open_app, nothing) -> None:
    bf16 = read_emulated()[0]
    job = TrainJob(recipe="deepseek_v3", model="tiny", steps=30)
    part = replace(bf16, job=job, done=3, losses=bf16.losses[:3], held_out_at=(), held_out=())
    at = open_app(PAGE)
    at.session_state["_gemm_session"] = Session(rows=[part])
    at.query_params["loss_show"] = "train"
    at.run()
    loss = f"{bf16.losses[2]:.2f}"
    step = f"**Step 3 of 30**: the loss is {loss} nats per byte. That of bf16, seed 0, was {loss} there."
    assert step in texts(at)
    chart = at.get("vega_lite_chart")[0]
    points = in_rows(sent_dataset(chart, "points"))
    assert [one["percent"] for one in points] == [*bf16.losses, *part.losses]
