"""Section "Error": the recipe beside the one it began as and the two published ones of the nearest bits."""

import streamlit as st

from fp8core.errors import sqnr_db
from fp8core.experiments.designs import LAYER as SMALL
from fp8core.inputs import INPUT_NOTES, InputKind
from fp8core.linear import MATMULS
from fp8core.recipes import RECIPES
from pages.kit.chart import draw_chart
from pages.kit.charts.ink import INKS
from pages.kit.charts.template import Filled
from pages.kit.charts.words import short
from pages.kit.controls import Controls
from pages.kit.notice import draw_notice
from pages.kit.shared_controls import SEED
from pages.kit.shell import theme
from pages.kit.tables.html_table import grid
from pages.sections.design.charts.bars import Group, bars
from pages.sections.design.controls import INPUT
from pages.sections.design.derived import facts, nearest
from pages.sections.design.draft import Draft, draft_of
from pages.sections.design.measured import YOURS, Errors, Measured

RESULTS = tuple(matmul.d.value for matmul in MATMULS.values())


def wanted(draft: Draft, begin: str) -> dict[str, str]:
    """The lines of the recipes that are drawn, by title: yours, the one it began as, the nearest by bits."""
    return {YOURS: draft.line} | {
        RECIPES[name].title: draft_of("", name).line for name in (begin, *nearest(draft.line))
    }


def show(controls: Controls, found: Measured | None) -> None:
    """The bars, and the figures in a table."""
    draw_input(controls)
    if found is None:
        return
    errors = found.by_name
    draw_notice(f"**Notice:** {notice(errors)}")
    draw_chart(
        picture(errors, theme()),
        key="design_errors",
        alt="Relative errors of y, dx and dw: "
        + "; ".join(f"{name}: " + ", ".join(f"{e:.2%}" for e in of.values()) for name, of in errors.items()),
    )
    head = ("recipe", "bits an element", *(f"SQNR of {result}, dB" for result in RESULTS))
    rows = [
        (name, short(facts(line).bits, 4), *(_decibels(errors[name][result]) for result in RESULTS))
        for name, line in found.lines.items()
    ]
    st.html(grid(head, rows, INKS[theme()], marked=(0,)))
    st.caption(what_is_measured(found))


def draw_input(controls: Controls) -> None:
    """The controls of the input, side by side."""
    row = st.container(horizontal=True)
    controls.draw(INPUT, row.container(width=230))
    controls.draw(SEED, row.container(width=140))


def picture(errors: dict[str, Errors], theme: str) -> Filled:
    return bars([Group(name=name, errors=of) for name, of in errors.items()], RESULTS, INKS[theme])


def what_is_measured(found: Measured) -> str:
    """A caption on the input and the error."""
    return (
        f"numpy reference. Input: {INPUT_NOTES[InputKind(found.kind)].title}, seed {found.seed}, "
        f"{SMALL.tokens} tokens, {SMALL.in_:,} → {SMALL.out}. An error is ‖result − truth‖ / ‖truth‖ of the "
        "quantized operands, summed in float64: what the tensor core loses when it adds, and D's own "
        "rounding, come on top. A delayed scale is that of a first step."
    )


def notice(errors: dict[str, Errors]) -> str:
    """How the worst result compares with that of the nearest published recipes."""
    worst = {name: max(of.values()) for name, of in errors.items()}
    own = worst.pop(YOURS)
    best = min(worst, key=lambda name: worst[name])
    result = max(errors[YOURS], key=lambda one: errors[YOURS][one])
    if not own:
        return "nothing of yours is quantized, so nothing is lost."
    ratio = own / worst[best] if worst[best] else float("inf")
    verdict = "as large as" if abs(ratio - 1) < 0.005 else f"{ratio:.3g} times"
    return (
        f"your largest error is that of {result}, {own:.2%}: {verdict} the largest of {best}, "
        f"{worst[best]:.2%}, the best of the others here."
    )


def _decibels(error: float) -> str:
    return short(sqnr_db(error), 4) if error else "exact"
