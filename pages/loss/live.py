"""A run on this server: the button, its progress, its curve so far, and the runs of this session."""

from collections.abc import Sequence
from dataclasses import replace

import streamlit as st

from kernels.bench.row import Provenance
from kernels.device import missing_package
from kernels.train.job import TrainJob
from kernels.train.row import TrainRow
from pages.kit.chart import draw_chart, room
from pages.kit.charts.ink import INKS
from pages.kit.gemm import queue_panel as gpu_queue
from pages.kit.gemm.results import Origin
from pages.kit.inert import plain
from pages.kit.shell import theme
from pages.kit.tables import arrow_table, draw_rows
from pages.kit.view import here, stage
from pages.kit.widgets import Place
from pages.loss import words
from pages.loss.charts.curves import Band, Label, Line, curves_chart
from pages.loss.controls import TRAINING
from pages.loss.curves import draw_lines
from pages.loss.gaps import FEWEST, line, points
from pages.loss.inside import table
from pages.loss.runs import Group, Run, groups

ON_CPU, CPU_STEPS = "tiny", 30
"""The model that a server without a GPU trains, by the reference's rules, and its steps."""
LOSS_AXIS = "loss on the batches, nats per byte"
NO_GPU = (
    f"This server has no GPU, so the model is the smallest one, with {CPU_STEPS} steps, by the rules "
    "of the reference on the CPU. It shows how a run goes, not which recipe is good."
)
_SECONDS = 30.0


def job_for(job: TrainJob, group: Group | None) -> TrainJob:
    """The job as this server runs it: with the recorded number of steps, or the tiny model without a GPU."""
    if not gpu_queue.workers().has_gpu:
        return replace(job, model=ON_CPU, steps=CPU_STEPS)
    return replace(job, steps=group.steps) if group else replace(job, seconds=_SECONDS)


def draw_button(job: TrainJob, label: str, place: Place, *, key: str) -> None:
    """Draw the button that trains."""
    has_gpu, missing = gpu_queue.workers().has_gpu, missing_package()
    place.button(
        label if has_gpu else f"{label}, tiny, on this CPU",
        type="primary",
        icon=":material/play_arrow:",
        key=key,
        on_click=gpu_queue.submit,
        args=(job,),
        disabled=missing is not None,
    )
    if missing is not None:
        here().know.caption(f"This cannot run here: {plain(missing.reason)}.")
    elif not has_gpu:
        here().know.caption(NO_GPU)


def draw_run(job: TrainJob, *, key: str) -> bool:
    """Draw the run of a job as the page's picture: as far as it is, or its end. False where there is none."""
    if gpu_queue.is_awaited(job):
        with stage():
            gpu_queue.draw_queue(draw_partial)
        return True
    gpu_queue.draw_queue(draw_partial)
    mine = [row for row in gpu_queue.session().rows_of(TrainRow) if row.job == job]
    if mine:
        draw_row(mine[0], key=f"{key} curve", place=stage())
    return bool(mine)


def draw_partial(row: TrainRow) -> None:
    """Draw a run as far as it is."""
    draw_row(row, key="loss_so_far", place=st)


def draw_row(row: TrainRow, *, key: str, place: Place) -> None:
    """Draw a run of this server against bf16 where there are runs to compare it with, else its bare loss."""
    st.caption(words.live_where(row))
    if not row.losses:
        return
    run = Run(row, Origin.HERE)
    group = next((one for one in groups() if run.compares_with(one)), None)
    if group is not None and len(group.bf16) >= FEWEST:
        own = line(run, group, TRAINING)
        last = own.percent[-1]
        label = Label(percent=last, figure=words.rough(last), name="your run", told=run.title)
        draw_lines([own], group, TRAINING, [label], key=key, place=place)
        st.caption(f"{words.loss_rule(TRAINING)} {words.where(group)}")
    else:
        _draw_loss([run], key, place)
    if row.statistics:
        found = row.statistics[-1]
        with st.expander(f"In its layers after step {found.step:,}, under the names in logs"):
            draw_rows(arrow_table(table(found)), key=f"{key} layers")


def _draw_loss(runs: Sequence[Run], key: str, place: Place) -> None:
    lines = []
    for run in runs:
        found = points(run.row, TRAINING)
        lines.append(
            Line(
                name=run.title,
                seed=run.row.job.seed,
                steps=list(found),
                percent=list(found.values()),
                failure=run.row.failure,
                is_here=True,
            )
        )
    values = [value for line in lines for value in line.percent]
    spec = curves_chart(
        lines,
        Band(steps=[], low=[], high=[]),
        (0.0, 1.05 * max(values, default=1.0)),
        room(),
        INKS[theme()],
        axis=LOSS_AXIS,
    )
    last = "; ".join(
        f"{one.name}: {one.percent[-1]:.3f} at step {one.steps[-1]}" for one in lines if one.steps
    )
    draw_chart(spec, key=key, place=place, alt=f"Loss on the batches over the steps. {last}", is_rigid=True)
    emulated = any(run.row.provenance is not Provenance.GPU for run in runs)
    place = "a CPU" if emulated else "this kind of GPU"
    told = " By the rules of the reference on a CPU, without kernels." if emulated else ""
    st.caption(
        f"No bf16 runs of this model and length are recorded on {place}, so there is no band to compare "
        f"with.{told}"
    )
