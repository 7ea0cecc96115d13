"""Section "Which knob matters": the error when each choice alone goes back to the published recipe."""

from functools import lru_cache

import streamlit as st

from fp8core.experiments.designs import CELLS, Knob, knobs
from fp8core.linear import MATMULS
from fp8core.recipes import RECIPES
from pages.kit.chart import draw_chart
from pages.kit.charts.words import count
from pages.kit.controls import Controls
from pages.kit.inert import plain
from pages.kit.notice import draw_notice
from pages.kit.shell import theme
from pages.sections.design.controls import BEGIN
from pages.sections.design.draft import Draft, draft_of, in_words
from pages.sections.design.error import draw_input, picture, what_is_measured
from pages.sections.design.measured import YOURS, Measured


def wanted(draft: Draft, begin: str) -> dict[str, str]:
    """The lines that are drawn, by name: yours, yours with each choice turned back, what it began as."""
    turned = {label(knob): knob.line for knob in differing(draft.line, begin) if knob.line is not None}
    return {YOURS: draft.line, **turned, RECIPES[begin].title: draft_of("", begin).line}


@lru_cache(maxsize=256)
def differing(line: str, begin: str) -> tuple[Knob, ...]:
    """The choices in which the recipe of a line differs from a published one."""
    return knobs(draft_of(line, begin).data, draft_of("", begin).data)


def show(controls: Controls, draft: Draft, measured: Measured | None) -> None:
    """A bar group for each choice that differs, between yours and the recipe it began as."""
    begun = RECIPES[controls.value(BEGIN)]
    found = differing(draft.line, begun.name)
    if not found:
        st.info(
            f"No operand differs from {begun.title}. Change a field above: its bar stands here then.",
            icon=":material/tune:",
        )
        return
    draw_input(controls)
    for knob in found:
        if knob.line is None:
            st.markdown(f"- {knob.name.capitalize()} cannot go back alone: {plain(in_words(knob.reason))}.")
    if measured is None:
        return
    errors, last = measured.by_name, list(measured.lines)[-1]
    draw_notice(f"**Notice:** {notice(errors)}")
    draw_chart(
        picture(errors, theme()),
        key="design_knobs",
        alt="Relative errors of y, dx and dw with each choice turned back: "
        + "; ".join(f"{name}: " + ", ".join(f"{e:.2%}" for e in of.values()) for name, of in errors.items()),
    )
    st.caption(
        f"The first bars are yours, the last those of {last}. Between them, one choice alone goes back "
        f"to what {last} has, in all operands where it differs. Accumulation and D's format change "
        "nothing here. " + what_is_measured(measured)
    )


def label(knob: Knob) -> str:
    """A knob as the chart names it."""
    if len(knob.cells) == len(CELLS):
        return f"{knob.name} back"
    if len(knob.cells) == 1:
        ((name, side),) = knob.cells
        return f"{knob.name} back, {MATMULS[name].title} {MATMULS[name].operand(side).value}"
    return f"{knob.name} back, {count(len(knob.cells), 'operand')}"


def notice(errors: dict[str, dict[str, float]]) -> str:
    """The choice whose way back changes the largest error most."""
    worst = {name: max(of.values()) for name, of in errors.items()}
    own, *turned = worst
    between = turned[:-1]
    if not between:
        return "no choice can go back alone; the reasons stand above."
    strongest = max(between, key=lambda name: abs(worst[name] - worst[own]))
    change = "does not change" if worst[strongest] == worst[own] else "changes"
    return (
        f"“{strongest}” {change} the largest error most of all choices: from {worst[own]:.2%} to "
        f"{worst[strongest]:.2%}."
        if change == "changes"
        else "no choice alone changes the largest error."
    )
