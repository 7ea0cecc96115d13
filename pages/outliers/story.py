"""Question "A story": a checkpoint with fp32 scales, read with scales rounded up to powers of two."""

import streamlit as st

from fp8core.experiments.rounded_checkpoint import CHECKPOINT, CheckpointError, Reading, stored_as
from pages.kit.chart import draw_chart, room
from pages.kit.charts.bars import Part, grouped
from pages.kit.charts.ink import INKS, Ink
from pages.kit.charts.words import short
from pages.kit.computing.compute import computed
from pages.kit.computing.pool import Call
from pages.kit.controls import Controls
from pages.kit.notice import draw_notice, notices_wait
from pages.kit.shell import theme
from pages.kit.terms.explain import draw_text
from pages.kit.view import here
from pages.outliers.controls import READING
from pages.outliers.data import THIRD, checkpoint
from pages.outliers.subject import price, weights
from pages.outliers.words import percent, table

STORY = (
    "**What happened.** In March 2026 a model of 35 billion parameters moved to a newer GPU. On GSM8K, a "
    "test of school mathematics, about twelve fewer of a hundred answers were right. Its checkpoint had "
    "e4m3 codes with one **fp32** scale for each square block. The newer GPU's matmul takes **powers of "
    "two** only. So the weights were read back, and quantized once more, with scales rounded up. The "
    "activations' scales were rounded up, too. Nothing failed, and nothing was logged. Here only the "
    "weights' scales change."
)
SOURCE = (
    "Source: vLLM pull request 38083 (issue 37804), requant_weight_ue8m0_inplace. Codes "
    "kept: transformers issue 47030."
)
SERIES = {
    "weight": "the weight",
    "checkpoint": "from the checkpoint",
    "result": "y = x · wᵀ",
}


def show(controls: Controls) -> None:
    """Draw the error before and after the switch."""
    reading = Reading[controls.draw(READING, here().control.container(width=270)).upper()]
    source = weights(controls)
    shown = computed("outliers_story", source, [Call(checkpoint, (source,))], doing="Reading the checkpoint")
    if shown is None:
        return
    errors = {error.reading: error for error in shown.parts[0]}
    before, after = errors[Reading.AS_MADE], errors[reading]
    draw_notice(notice(before, after))
    ink = INKS[theme()]
    draw_chart(
        grouped(bars(before, after, ink), "error, ‖read − true‖ / ‖true‖", room(), ink),
        key="outliers_story",
        is_rigid=True,
        alt=f"Error of the weight: {percent(before.weight)} as made, {percent(after.weight)} with "
        f"{reading.value}; of y: {percent(before.result)} and {percent(after.result)}.",
    )
    if not notices_wait():
        st.markdown(figures(errors, shown.asked.shape))
    draw_text(STORY, here().know)
    rows, columns = shown.asked.shape
    here().know.caption(
        f"A weight of {rows:,} out × {columns:,} in, {THIRD:,} Gaussian tokens, blocks of "
        f"{CHECKPOINT.tile.mn} × {CHECKPOINT.tile.k}. A block's growth is ⟨read, checkpoint⟩ / ⟨checkpoint, "
        "checkpoint⟩, its mean over the blocks. " + SOURCE
    )


def bars(before: CheckpointError, after: CheckpointError, ink: Ink) -> list[Part]:
    """The switch's two positions for each figure."""
    readings = {"as made": (before, ink.mid)}
    if after.reading is not before.reading:
        readings["now"] = (after, ink.text)
    return [
        Part(
            group=title,
            series=reading,
            share=getattr(error, name),
            color=color,
            words=f"{percent(getattr(error, name))} {reading}",
        )
        for name, title in SERIES.items()
        for reading, (error, color) in readings.items()
    ]


def notice(before: CheckpointError, after: CheckpointError) -> str:
    """The error before and after, and why."""
    if after.reading is Reading.AS_MADE:
        return (
            f"Read as it was made, the weight is **off by {percent(before.weight)}.** Choose another reading."
        )
    change = f"The weight is **off by {percent(after.weight)}**, not by {percent(before.weight)}."
    match after.reading:
        case Reading.MADE_ANEW:
            return f"{change} Two roundings of one size add up as √2."
        case Reading.CODES_KEPT:
            return f"{change} The scales went up and the codes stayed: every block grows."
        case Reading.FROM_START:
            return (
                f"Quantized once with powers of two, the weight is **off by {percent(after.weight)}.** "
                f"With fp32 scales it is off by {percent(before.weight)}."
            )


def figures(errors: dict[Reading, CheckpointError], shape: tuple[int, int]) -> str:
    """All readings."""
    rows = [
        (
            reading.value,
            *(percent(getattr(error, name)) for name in SERIES),
            percent(error.changed),
            short(error.block_growth, 4),
            price(stored_as(reading), shape),
        )
        for reading, error in errors.items()
    ]
    return table(
        ("read with", *SERIES.values(), "elements changed", "growth of a block", "bits per element"), rows
    )
