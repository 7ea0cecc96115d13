"""Section "A story": a checkpoint with fp32 scales, read with scales rounded up to powers of two."""

import streamlit as st

from fp8core.experiments.rounded_checkpoint import CHECKPOINT, CheckpointError, Reading, stored_as
from pages.kit.chart import draw_chart
from pages.kit.charts.ink import INKS
from pages.kit.charts.words import short
from pages.kit.computing.compute import computed
from pages.kit.computing.pool import Call
from pages.kit.controls import Controls
from pages.kit.notice import draw_notice, notices_wait
from pages.kit.shell import theme
from pages.kit.terms.explain import draw_text
from pages.sections.outliers import chosen
from pages.sections.outliers.charts.bars import Bar, grouped
from pages.sections.outliers.controls import READING
from pages.sections.outliers.measures import THIRD, checkpoint
from pages.sections.outliers.words import percent, table

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
    "weight": "the weight, against w",
    "checkpoint": "the weight, against the checkpoint",
    "result": "y = x · wᵀ",
}


def show(controls: Controls) -> None:
    """Draw the error before and after the switch."""
    draw_text(STORY)
    source = chosen.weights(controls)
    shown = computed("outliers_story", source, [Call(checkpoint, (source,))], doing="Reading the checkpoint")
    reading = Reading[controls.draw(READING).upper()]
    if shown is None:
        return
    found = {error.reading: error for error in shown.parts[0]}
    before, after = found[Reading.AS_MADE], found[reading]
    draw_notice(f"**Notice:** {notice(before, after, found[Reading.FROM_START])}")
    draw_chart(
        grouped(bars(before, after), "error, ‖read − true‖ / ‖true‖", INKS[theme()]),
        key="outliers_story",
        alt=f"Error of the weight: {percent(before.weight)} as made, {percent(after.weight)} with "
        f"{reading.value}; of y: {percent(before.result)} and {percent(after.result)}.",
    )
    if not notices_wait():
        st.markdown(figures(found, shown.asked.shape))
    rows, columns = shown.asked.shape
    st.caption(
        f"A weight of {rows:,} out × {columns:,} in, {THIRD:,} Gaussian tokens, blocks of "
        f"{CHECKPOINT.tile.mn} × {CHECKPOINT.tile.k}. A block's growth is ⟨read, checkpoint⟩ / ⟨checkpoint, "
        "checkpoint⟩, its mean over the blocks. " + SOURCE
    )


def bars(before: CheckpointError, after: CheckpointError) -> list[Bar]:
    """The switch's two positions for each figure."""
    readings = {before.reading: before, after.reading: after}
    return [
        Bar(
            group=title,
            series=reading.value,
            share=getattr(error, name),
            told=percent(getattr(error, name)),
        )
        for name, title in SERIES.items()
        for reading, error in readings.items()
    ]


def notice(before: CheckpointError, after: CheckpointError, direct: CheckpointError) -> str:
    """The error before and after, and why."""
    match after.reading:
        case Reading.AS_MADE:
            return (
                f"read as it was made, the weight is off by {percent(before.weight)} and y by "
                f"{percent(before.result)}. Now move the switch."
            )
        case Reading.MADE_ANEW:
            times = short(after.weight / before.weight, 3) if before.weight else "∞"
            return (
                f"the weight's error goes from {percent(before.weight)} to {percent(after.weight)}, {times} "
                f"times, and that of y from {percent(before.result)} to {percent(after.result)}. It is the "
                f"**second rounding** that costs: by itself it is worth {percent(after.checkpoint)}, as much "
                "as the first, and two such errors add as √2. Weights quantized with powers of two from the "
                f"start are off by {percent(direct.weight)}."
            )
        case Reading.CODES_KEPT:
            return (
                f"the weight's error goes from {percent(before.weight)} to {percent(after.weight)}: every "
                f"block grows, {short(after.block_growth, 3)} times on average, because its scale went up "
                "and its codes stayed."
            )
        case Reading.FROM_START:
            return (
                "quantized once, with powers of two from the start, the weight is off by "
                f"{percent(after.weight)}, as by {percent(before.weight)} with fp32 scales: e4m3's steps "
                "grow with the number, so where they begin hardly matters."
            )


def figures(found: dict[Reading, CheckpointError], shape: tuple[int, int]) -> str:
    """All readings."""
    rows = [
        (
            reading.value,
            *(percent(getattr(error, name)) for name in SERIES),
            percent(error.changed),
            short(error.block_growth, 4),
            chosen.price(stored_as(reading), shape),
        )
        for reading, error in found.items()
    ]
    return table(
        ("read with", *SERIES.values(), "elements changed", "growth of a block", "bits an element"), rows
    )
