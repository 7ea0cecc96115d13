"""One run, or all runs of a recipe, in full: what a click on a line's end opens."""

from collections.abc import Sequence
from statistics import fmean

import streamlit as st

from fp8core.recipes import RECIPES
from kernels.train.job import BF16
from pages.kit.controls import Controls
from pages.kit.inert import plain
from pages.kit.origins import versions_words
from pages.loss.controls import OPENED
from pages.loss.gaps import percent
from pages.loss.runs import Group, Run

_HERE = "here"


def name_of(run: Run) -> str:
    """The run in an address, such as ``mxfp4.2``; with ``.here`` where it is of this session."""
    return f"{run.row.job.recipe}.{run.row.job.seed}" + f".{_HERE}" * run.is_here


def runs_of(group: Group, name: str) -> tuple[Run, ...]:
    """The run of this name, or all runs of a recipe; none where the name means nothing here."""
    runs = group.of((name.split(".")[0], False, False))
    return runs if "." not in name else tuple(run for run in runs if name_of(run) == name)


def draw_opened(controls: Controls, group: Group) -> None:
    """Draw the runs that the reader opened over the page, until they are closed."""
    runs = runs_of(group, controls.draw(OPENED))
    if not runs:
        return
    seed = f", seed {runs[0].row.job.seed}" if len(runs) == 1 else f", {len(runs)} runs"

    width = "medium" if len(runs) == 1 else "large"

    @st.dialog(plain(runs[0].title + seed), width=width, on_dismiss=lambda: _close(controls))
    def draw() -> None:
        st.markdown(table(runs, group))
        recipe = RECIPES.get(runs[0].row.job.recipe)
        if recipe is not None:
            st.caption(f"The recipe: {plain(recipe.source)}.")
        for run in runs:
            if run.row.failure:
                st.caption(f"Seed {run.row.job.seed} ended early: {plain(run.row.failure)}")

    draw()


def _close(controls: Controls) -> None:
    controls.preset(**{OPENED.key: ""})


def table(runs: Sequence[Run], group: Group) -> str:
    """A column a run, a line a setting or a result."""
    mean = fmean(run.row.final for run in group.bf16)
    lines = {
        "end, above the mean of bf16": [_end(run, mean) for run in runs],
        "last loss, bits per byte": [
            "–" if run.row.final is None else f"{run.row.final_bits:.4f}" for run in runs
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
        "time of a step": ["–" if run.row.step_ms is None else f"{run.row.step_ms:.1f} ms" for run in runs],
        "date": [("this session, " if run.is_here else "") + plain(run.row.date) for run in runs],
    }
    head = f"| seed | {' | '.join(str(run.row.job.seed) for run in runs)} |\n|:--|{':--|' * len(runs)}"
    return "\n".join([head, *(f"| **{name}** | {' | '.join(cells)} |" for name, cells in lines.items())])


def _end(run: Run, mean: float) -> str:
    return "–" if run.row.final is None else percent(100 * (run.row.final / mean - 1))
