"""What a step costs: recorded times of a recipe's step beside the bf16 loop that torch.compile makes."""

from collections.abc import Sequence

import streamlit as st

from kernels.train.job import BF16, recipe_of
from kernels.train.row import Speed
from pages.kit.inert import plain
from pages.kit.origins import Measured, recorded_on, told, versions_words
from pages.loss.runs import speeds_of

_RULE = (
    "A step is forward, backward and AdamW, one CUDA graph. The plain loop is the same model in bf16 under "
    "autocast, as one writes it for `torch.compile`; its sums have no fixed order. A matmul of a model this "
    "small is short, so that quantizing weighs more than in a large one."
)


def draw_step_times(size: str) -> None:
    """Draw the table of a model's step times; nothing where none is recorded."""
    found = speeds_of(size)
    if not found:
        return
    st.subheader("What a step costs")
    st.markdown(table(found))
    st.caption(f"{_RULE} {where(found)}")


def table(found: Sequence[Speed]) -> str:
    """A Markdown table, a line a recipe."""
    lines = [
        "| recipe | ms a step | × the compiled bf16 loop | quantized GEMMs | kernels a step |",
        "|:--|--:|--:|--:|--:|",
    ]
    for one in found:
        recipe = recipe_of(one.recipe)
        cells = (
            plain(BF16 if recipe is None else recipe.title),
            f"{one.step_ms:.2f}",
            f"{one.times_compiled:.2f}",
            one.quantized_gemms,
            one.kernels,
        )
        lines.append(f"| {' | '.join(map(str, cells))} |")
    return "\n".join(lines)


def where(found: Sequence[Speed]) -> str:
    """The machines, days, versions and commits of these rows."""
    measured = (
        Measured(
            place=recorded_on(one.machine.name),
            date=one.date,
            versions=versions_words(one.machine.versions),
            commit=one.commit or "",
        )
        for one in found
    )
    return plain(f"{told(measured)}.")
