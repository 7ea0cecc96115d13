"""One run, or all runs of a recipe, in full."""

from collections.abc import Sequence
from statistics import fmean

import streamlit as st

from fp8core.recipes import RECIPES
from kernels.train.job import BF16
from pages.kit.controls import Controls
from pages.kit.inert import plain
from pages.kit.origins import versions_words
from pages.kit.tables import EMPTY, markdown_table
from pages.loss.controls import OPEN_RUN
from pages.loss.gaps import percent
from pages.loss.runs import Group, Run


def name_of(run: Run) -> str:
    """The run in an address: ``mxfp4.2``, or ``mxfp4.2.here`` in this session."""
    return f"{run.row.job.recipe}.{run.row.job.seed}" + ".here" * run.is_here


def draw_dialog(controls: Controls, group: Group) -> None:
    """Draw the runs that the reader opened, in a dialog."""
    name = controls.draw(OPEN_RUN)
    runs = group.of((name.split(".")[0], False, False))
    if "." in name:
        runs = tuple(run for run in runs if name_of(run) == name)
    if not runs:
        return
    which, width = f"{len(runs)} runs", "large"
    if len(runs) == 1:
        which, width = f"seed {runs[0].row.job.seed}", "medium"

    def close() -> None:
        controls.preset(**{OPEN_RUN.key: ""})

    @st.dialog(plain(f"{runs[0].title}, {which}"), width=width, on_dismiss=close)
    def draw() -> None:
        st.markdown(table(runs, group))
        recipe = RECIPES.get(runs[0].row.job.recipe)
        if recipe is not None:
            st.caption(f"The recipe: {plain(recipe.source)}.")
        for run in runs:
            if run.row.failure:
                st.caption(f"Seed {run.row.job.seed} ended early: {plain(run.row.failure)}")

    draw()


def table(runs: Sequence[Run], group: Group) -> str:
    mean = fmean(run.row.final for run in group.bf16)
    lines = {
        "end, above the mean of bf16": [
            EMPTY if run.row.final is None else percent(100 * (run.row.final / mean - 1)) for run in runs
        ],
        "last loss, bits per byte": [
            EMPTY if run.row.final is None else f"{run.row.final_bits:.4f}" for run in runs
        ],
        "recipe": [plain(run.title) for run in runs],
        "quantized GEMMs a step": [
            "none" if run.row.job.recipe == BF16 else f"{run.row.quantized_gemms} of {run.row.gemms}"
            for run in runs
        ],
        "model": [f"{run.row.job.size_data.title}, {run.row.job.size_data.layers} blocks" for run in runs],
        "steps": [f"{run.row.done:,} of {run.row.steps:,}" for run in runs],
        "bytes a step": [f"{run.row.job.size_data.bytes_per_step:,}" for run in runs],
        "largest learning rate": [f"{run.row.job.size_data.rate:g}" for run in runs],
        "text": [plain(f"{run.row.text.name} {run.row.text.version}") for run in runs],
        "GPU": [plain(run.row.machine.name) for run in runs],
        "software": [plain(", ".join(versions_words(run.row.machine.versions))) for run in runs],
        "time of a step": [EMPTY if run.row.step_ms is None else f"{run.row.step_ms:.1f} ms" for run in runs],
        "date": [("this session, " if run.is_here else "") + plain(run.row.date) for run in runs],
    }
    heads = ("seed", *(run.row.job.seed for run in runs))
    return markdown_table(heads, [(f"**{name}**", *cells) for name, cells in lines.items()], "<")
