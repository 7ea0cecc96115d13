"""Section "Train one": a run of the reader's choice on this server, and what a step costs."""

from collections.abc import Sequence
from dataclasses import replace

import streamlit as st

from kernels.device import missing_package
from kernels.layer.plan import refusal
from kernels.measure.rows import Provenance
from kernels.train.job import BF16, TrainJob, recipe_of
from kernels.train.row import Speed, TrainRow
from pages.kit.charts.words import count
from pages.kit.controls import Controls
from pages.kit.gemm import queue_panel as gpu_queue
from pages.kit.inert import plain
from pages.kit.origins import origins_words, recorded_on, row_origin
from pages.kit.shared_controls import SEED, draw_recipe, draw_source, recipe_values
from pages.kit.tables import markdown_table
from pages.kit.view import draw_chart, draw_notice, here, page_ink, room, stage
from pages.kit.widgets import Place
from pages.loss.charts.curves import Band, Label, curves_chart
from pages.loss.controls import HEAD, HELD_OUT, LAST_BF16, PLAIN, SIZE, TRAINING
from pages.loss.curves import draw_kinds, draw_lines, draw_statistics, loss_rule
from pages.loss.gaps import FEWEST, finals, interval, line, percent, points
from pages.loss.runs import FEW, NOTHING, Group, Run, bf16_on_cpu, group_here, groups, key_of, speeds_of

# The model and the steps on a server without a GPU; the time of a run without recorded ones.
ON_CPU, CPU_STEPS, SECONDS = "tiny", 30, 30.0
LOSS_AXIS = "loss on the batches, nats per byte"
NO_GPU = (
    f"This server has no GPU, so the model is the smallest one, with {CPU_STEPS} steps, by the rules "
    "of the reference on the CPU. It shows how a run goes, not which recipe is good."
)
IDEA = (
    "Train the model yourself. Every linear layer of its blocks runs in the recipe, in all three matmuls. "
    "The embedding, the head, the norms and attention stay in bf16. The weights have a master copy "
    "in fp32. The text is Python: sources of a package that comes with torch, byte by byte."
)
CHANCE = (
    "A run that ends above another one shows nothing: seeds differ as much. “Ends” under “Curves” says by "
    "how much."
)
STEP_RULE = (
    "A step is forward, backward and AdamW, one CUDA graph. The plain loop is the same model in bf16 under "
    "autocast, as one writes it for `torch.compile`; its sums have no fixed order. A matmul of a model this "
    "small is short, so that quantizing weighs more than in a large one."
)


def show(controls: Controls) -> None:
    view, group = here(), group_here(controls)
    recipe = None if controls.draw(PLAIN) else draw_recipe(controls, view.more)
    seed, size = controls.draw(SEED), controls.value(SIZE)
    if recipe is None:
        job, title = TrainJob(recipe=BF16, model=size, seed=seed), "bf16"
    elif (reason := refusal(recipe)) is not None:
        stage().info(f"No run in {plain(recipe.title)}: {reason}.")
        return
    else:
        names, title = recipe_values(controls), recipe.title
        job = TrainJob(
            recipe=names["own"] or names["recipe"],
            model=size,
            seed=seed,
            last_bf16=controls.draw(LAST_BF16),
            head=controls.draw(HEAD),
        )
    job_here = job_for(job, group)
    draw_button(job_here, f"Train {title}", view.control, key="loss_train")
    if not draw_run(job_here, key="loss_train"):
        _draw_records(job, title, group)
    view.know.markdown(IDEA)
    view.know.markdown(CHANCE)
    with view.know:
        if speeds := speeds_of(size):
            st.subheader("What a step costs")
            st.markdown(speed_table(speeds))
            origins = origins_words(row_origin(one, recorded_on(one.gpu)) for one in speeds)
            st.caption(f"{STEP_RULE} {plain(origins)}.")
        if recipe is not None:
            draw_source(recipe)


def _draw_records(job: TrainJob, title: str, group: Group | None) -> None:
    if group is None or len(group.bf16) < FEWEST:
        stage().info(NOTHING if group is None else FEW)
        return
    last = finals(group, [key_of(job)])
    if last:
        runs = count(last[0].gap.runs, "recorded run")
        draw_notice(f"{runs} of {title} end **{interval(last[0].gap)} from bf16**. Train one more.")
    else:
        draw_notice(f"No whole run of {title} is recorded. The band is **{len(group.bf16)} seeds** of bf16.")
    draw_kinds([key_of(job)], last, group, HELD_OUT, key="loss_recorded")
    here().know.caption(group.origin)


def job_for(job: TrainJob, group: Group | None) -> TrainJob:
    """The job on this server: with the recorded steps, or the tiny model without a GPU."""
    if not gpu_queue.workers().has_gpu:
        return replace(job, model=ON_CPU, steps=CPU_STEPS)
    return replace(job, steps=group.first.steps) if group else replace(job, seconds=SECONDS)


def draw_button(job: TrainJob, label: str, place: Place, *, key: str) -> None:
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
    """Draw the run of a job, so far or whole, as the page's picture; True if there is one."""

    def draw_partial(row: TrainRow) -> None:
        st.markdown(progress_notice(row))
        _draw_row(row, key="loss_so_far", place=st)

    if gpu_queue.is_awaited(job):
        # The queue redraws itself and cannot reach the Notice: the step stands above the curve.
        draw_notice(f"**{job.recipe_title} trains {job.steps:,} steps.** Does its loss leave that of bf16?")
        with stage():
            gpu_queue.draw_queue(draw_partial)
        return True
    gpu_queue.draw_queue(draw_partial)
    mine = [row for row in gpu_queue.session().rows_of(TrainRow) if row.job == job]
    if mine:
        draw_notice(progress_notice(mine[0]))
        _draw_row(mine[0], key=f"{key} curve", place=stage())
    return bool(mine)


def progress_notice(row: TrainRow) -> str:
    losses = points(row, TRAINING)
    if not losses:
        return f"**Step {row.done:,} of {row.steps:,}.**"
    step, loss = max(losses.items())
    twin = bf16_on_cpu(row)
    beside = points(twin.row, TRAINING).get(step) if twin else None
    bf16 = "" if beside is None else f" That of bf16, seed {twin.row.job.seed}, was {beside:.2f} there."
    return f"**Step {step:,} of {row.steps:,}**: the loss is {loss:.2f} nats per byte.{bf16}"


def _draw_row(row: TrainRow, *, key: str, place: Place) -> None:
    progress = plain(row.failure) if row.failure else f"{row.done:,} of {row.steps:,} steps"
    st.caption(
        f"**{plain(row.job.title)}** on {plain(row.machine.name)}, {row.date}: {progress}; "
        f"{row.quantized_gemms} of {row.gemms} GEMMs a step are quantized."
    )
    if not points(row, TRAINING):
        return
    run = Run(row, is_here=True)
    group = next((one for one in groups() if run.compares_with(one)), None)
    if group is not None and len(group.bf16) >= FEWEST:
        own = line(run, group, TRAINING)
        last = own.percent[-1]
        label = Label(percent=last, figure=percent(last, 1), name="your run", note=run.title)
        draw_lines([own], group, TRAINING, [label], key=key, place=place)
        st.caption(f"{loss_rule(TRAINING)} {group.origin}")
    else:
        _draw_loss(run, key, place)
    if row.statistics:
        last = row.statistics[-1]
        with st.expander(f"In its layers after step {last.step:,}, under the names in logs"):
            draw_statistics(last, key=f"{key} layers")


def _draw_loss(run: Run, key: str, place: Place) -> None:
    is_emulated = run.row.provenance is not Provenance.GPU
    own, twin = line(run, None, TRAINING), bf16_on_cpu(run.row)
    lines = [own] if twin is None else [line(twin, None, TRAINING, is_quiet=True), own]
    low, high = (end(loss for one in lines for loss in one.percent) for end in (min, max))
    margin = 0.06 * (high - low)
    no_band = Band(steps=[], low=[], high=[])
    names = [f"bf16, seed {twin.row.job.seed}, recorded", f"your run: {own.name}"] if twin else []
    ends = [Label(percent=one.percent[-1], name=name) for one, name in zip(lines, names, strict=False)]
    look = {"labels": ends, "axis": LOSS_AXIS, "steps": run.row.steps}
    draw_chart(
        curves_chart(lines, no_band, (low - margin, high + margin), room(), page_ink(), **look),
        key=key,
        place=place,
        alt=f"Loss on the batches over the steps. {own.name}: {own.percent[-1]:.3f} at step {own.steps[-1]}",
    )
    device = "a CPU" if is_emulated else "this kind of GPU"
    rules = " By the rules of the reference on a CPU, without kernels." if is_emulated else ""
    if twin is None:
        st.caption(f"No bf16 run of this model and length is recorded on {device}.{rules}")
    else:
        st.caption(
            f"bf16: recorded on a CPU, {twin.row.date}. A run with another seed reads other text.{rules}"
        )


def speed_table(speeds: Sequence[Speed]) -> str:
    rows = [
        (
            BF16 if (recipe := recipe_of(one.recipe)) is None else plain(recipe.title),
            f"{one.step_ms:.2f}",
            f"{one.times_compiled:.2f}",
            one.quantized_gemms,
            one.kernels,
        )
        for one in speeds
    ]
    heads = ("recipe", "ms a step", "× the compiled bf16 loop", "quantized GEMMs", "kernels a step")
    return markdown_table(heads, rows)
