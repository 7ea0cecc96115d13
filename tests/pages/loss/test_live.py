"""Contract: runs of this server stand beside the recorded ones."""

from dataclasses import replace

import pytest

from kernels.bench.row import Provenance
from kernels.train.job import TrainJob
from kernels.train.records import LONGEST_LINE, record_train
from kernels.train.variants import VARIANTS
from kernels.typed import to_data
from kernels.worker.states import Stopped, Ticket
from pages.kit.gemm import queue_panel
from pages.kit.gemm.queue_panel import Session
from pages.kit.gemm.results import Origin
from pages.loss import runs
from pages.loss.controls import HELD_OUT
from pages.loss.gaps import line
from tests.kernels.train.made_up import SPEED
from tests.pages.loss.page import PAGE, texts
from tests.pages.loss.rows import STEPS, row

AGED = {4.3: "2026-11-22", 5.6: "2026-11-23"}
"""Milliseconds of a step by the day on which they were measured."""


def test_the_newest_time_of_a_step_stands_beside_the_compiled_loop(open_app, recorded) -> None:
    old, new = (replace(SPEED, recipe="nvfp4", step_ms=ms, date=date) for ms, date in AGED.items())
    for one in (new, old, replace(SPEED, model="m")):
        record_train(one, recorded)
    told = texts(open_app(PAGE, loss_show="train"))
    assert f"{new.times_compiled:.2f}" in told
    assert f"{old.times_compiled:.2f}" not in told
    assert told.count("| 72 | 400 |") == 1


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
    assert "Look at the band" not in told
    assert "TINY" not in told
    assert "are recorded on a CPU, so there is no band to compare with. By the rules of the reference" in told
    assert at.expander[0].label == "In its layers after step 120, under the names in logs"
    assert len(at.dataframe[0].value) == 24 * 6
