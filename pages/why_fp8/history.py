"""Section "History": from fp16 and loss scaling to four bits, and what was trained on the way."""

from functools import cache

import numpy as np
import streamlit as st

from fp8core.formats import FORMATS
from fp8core.formats.survival import fates
from pages.kit.chart_slider import TALL as SLIDER_TALL
from pages.kit.chart_slider import chart_with_slider, with_slider
from pages.kit.charts.words import power_of_two
from pages.kit.controls import Controls
from pages.kit.gradients import gradients, gradients_words
from pages.kit.tables import EMPTY, markdown_table
from pages.kit.view import draw_notice, here, page_ink, room
from pages.kit.widgets import NumberStyle, Whole
from pages.why_fp8.charts.sliders import K as SLIDER
from pages.why_fp8.charts.sliders import lost_chart
from pages.why_fp8.sourced import TrainedModel, sourced

LOSS_SCALE = Whole(
    key="why_loss_scale",
    label="log2 of the loss scale",
    low=0,
    high=30,
    default=0,
    style=NumberStyle.SLIDER,
    help="The gradients are multiplied by it before they are rounded.",
)
FORMAT_NAMES = ("fp16", "bf16", "e5m2", "e4m3", "e2m1")

IDEA = (
    "Training went from 32 bits to 16, then to 8, and now to 4. What broke first each time was **range**, "
    "not precision: gradients are so small that a format of few exponent bits rounds them to zero. The cure "
    "was each time a **scale**: one for the whole loss, then one for each tensor, then one for each small "
    "tile."
)


def show(controls: Controls) -> None:
    know, scale, curves = here().know, controls.value(LOSS_SCALE), shares()
    where = f"With a loss scale of {power_of_two(scale)}" if scale else "Without a loss scale"
    draw_notice(f"{where}, fp16 loses **{curves['fp16'][scale]:.1%} of these gradients.** bf16 loses none.")
    chart_with_slider(
        controls,
        LOSS_SCALE,
        name="why_history",
        inputs=page_ink(),
        at=scale,
        spec_at=lambda start: with_slider(
            lost_chart(curves, room() - SLIDER_TALL, page_ink()), SLIDER, start
        ),
        alt_at=lambda start: (
            f"Share of gradients lost over the loss scale. At {power_of_two(start)}: "
            + "; ".join(f"{name} {along[start]:.1%}" for name, along in curves.items())
        ),
    )
    st.header("The way")
    st.markdown(
        "\n".join(
            f"- {_whole(e.date)}, **{e.bits} bits: {e.title}**. {e.told} [{e.source}]({e.url})."
            for e in sourced().events
        )
    )
    st.header("What was trained with it")
    st.markdown(_trained_table(sourced().trained))
    know.markdown(IDEA)
    e4m3, e2m1 = curves["e4m3"], curves["e2m1"]
    know.markdown(
        f"The best scale for all of them, {power_of_two(e4m3.index(min(e4m3)))}, still loses {min(e4m3):.1%} "
        f"in e4m3. The best one for e2m1 loses {min(e2m1):.0%}: tiles need scales of their own."
    )
    know.caption(
        f"{gradients_words()} Lost: they become zero, or overflow. Each one is encoded by nearest even. "
        "Sizes of models as the sources give them. A dash: not given where it was read."
    )


@cache
def shares() -> dict[str, list[float]]:
    """Shares of gradients that become zero or overflow, by format, at each log2 of the loss scale."""
    every = [np.ldexp(gradients(), k) for k in range(LOSS_SCALE.low, LOSS_SCALE.high + 1)]
    ends = {name: [fates(FORMATS[name], x) for x in every] for name in FORMAT_NAMES}
    return {name: [one.zero + one.overflow for one in along] for name, along in ends.items()}


def _trained_table(models: tuple[TrainedModel, ...]) -> str:
    lines = []
    for one in models:
        sizes = f"{one.billions:,.0f} billion", f"{one.trillions:g} trillion" if one.trillions else EMPTY
        source = f"[{one.source}]({one.url}), {_whole(one.date)}"
        lines.append((f"**{one.name}**", one.bits, *sizes, one.recipe, source))
    return markdown_table(("model", "bits", "weights", "tokens", "scales", "source"), lines, "<>>><")


def _whole(date: str) -> str:
    return date.replace("-", "\N{NON-BREAKING HYPHEN}")
