"""Section "How it came here": from fp16 and loss scaling to four bits, and what was trained on the way."""

from collections.abc import Mapping

import streamlit as st

from pages.kit.chart import draw_chart
from pages.kit.charts.ink import INKS
from pages.kit.charts.template import Filled
from pages.kit.charts.words import power_of_two
from pages.kit.controls import Controls
from pages.kit.gradients import gradients_told
from pages.kit.notice import draw_notice
from pages.kit.shell import theme
from pages.kit.sourced import Event, Trained, sourced
from pages.kit.terms.explain import draw_text
from pages.sections.why.charts.lost import lost_chart
from pages.sections.why.controls import LOSS_SCALE
from pages.sections.why.gradients import best_scale, gone, lost

IDEA = (
    "Training went from 32 bits to 16, then to 8, and now to 4. What broke first each time was **range**, "
    "not precision: gradients are so small that a format of few exponent bits rounds them to zero. The cure "
    "was each time a **scale**: one for the whole loss, then one for each tensor, then one for each small "
    "tile."
)
_NONE = "–"


def shares() -> Mapping[str, list[float]]:
    """The share of the gradients that a format loses, at each log2 of the loss scale."""
    return {name: [gone(found) for found in along] for name, along in lost().items()}


def picture(scale: int, theme: str) -> Filled:
    """The curves, and the reader's loss scale."""
    return lost_chart(shares(), scale, INKS[theme])


def notice(scale: int) -> str:
    """What fp16 loses here and without a loss scale, and what one scale cannot cure."""
    found = shares()
    least = {name: min(along) for name, along in found.items()}
    here = f", and at {power_of_two(scale)} {found['fp16'][scale]:.1%}" if scale else ""
    return (
        f"**Notice:** without a loss scale, fp16 loses {found['fp16'][0]:.1%} of these gradients{here}. "
        f"bf16 loses {found['bf16'][0]:.1%} without any. The best scale for all of them, "
        f"{power_of_two(best_scale('e4m3'))}, still loses {least['e4m3']:.1%} in e4m3. The best one for e2m1 "
        f"loses {least['e2m1']:.0%}: tiles need scales of their own."
    )


def timeline(events: tuple[Event, ...]) -> str:
    """A Markdown list of the steps, oldest first."""
    return "\n".join(
        f"- {_whole(e.date)}, **{e.bits} bits: {e.title}**. {e.told} [{e.source}]({e.url})." for e in events
    )


def trained_table(models: tuple[Trained, ...]) -> str:
    """A Markdown table of the models."""
    lines = ["| model | bits | weights | tokens | scales | source |", "|---|---:|---:|---:|---|---|"]
    for one in models:
        tokens = f"{one.trillions:g} trillion" if one.trillions else _NONE
        lines.append(
            f"| **{one.name}** | {one.bits} | {one.billions:,.0f} billion | {tokens} | {one.recipe} | "
            f"[{one.source}]({one.url}), {_whole(one.date)} |"
        )
    return "\n".join(lines)


def _whole(date: str) -> str:
    """A date that no line breaks."""
    return date.replace("-", "\N{NON-BREAKING HYPHEN}")


def show(controls: Controls) -> None:
    """Draw what formats lose over the loss scale, the timeline, and the models."""
    draw_text(IDEA)
    scale = controls.draw(LOSS_SCALE)
    draw_notice(notice(scale))
    found = shares()
    draw_chart(
        picture(scale, theme()),
        key="why_history",
        alt=f"Share of gradients lost over the loss scale. At {power_of_two(scale)}: "
        + "; ".join(f"{name} {along[scale]:.1%}" for name, along in found.items()),
    )
    st.caption(
        f"{gradients_told()} Lost: they become zero, or overflow. Each one is encoded by nearest even."
    )
    st.header("The way")
    st.markdown(timeline(sourced().events))
    st.header("What was trained with it")
    st.markdown(trained_table(sourced().trained))
    st.caption("Sizes as the sources give them. A dash: not given where it was read.")
