"""Section "In a matmul": the noise that remains when many rounded terms are added."""

import numpy as np
import streamlit as st

from fp8core.experiments.dot_noise import DotErrors, noise_ratio
from fp8core.formats import FORMATS
from pages.kit.chart import draw_chart
from pages.kit.charts.ink import INKS
from pages.kit.charts.words import percent_text, short
from pages.kit.controls import Controls
from pages.kit.notice import draw_notice
from pages.kit.shared_controls import SEED
from pages.kit.shell import theme
from pages.sections.stochastic.charts.dot import dot_chart
from pages.sections.stochastic.controls import FORMAT
from pages.sections.stochastic.data import TERMS, TRIALS, DotView, dot_view

PANEL = 390


def show(controls: Controls) -> None:
    """Draw the control, what to notice, and the two pictures."""
    name = controls.draw(FORMAT)
    view = dot_view(name, controls.value(SEED))
    draw_notice(_notice(view, noise_ratio(FORMATS[name])))
    domain, ink = view.domain, INKS[theme()]
    row = st.container(horizontal=True, gap="medium")
    for title, errors, floor, key in (
        ("Same sign: |N(0, 1)|, as after a ReLU", view.same_sign, view.floor, "dot_same_sign"),
        ("Both signs: N(0, 1)", view.zero_mean, None, "dot_zero_mean"),
    ):
        panel = row.container(width=PANEL)
        panel.markdown(f"**{title}**")
        draw_chart(
            dot_chart(errors, domain, ink, floor),
            place=panel,
            key=key,
            alt=f"{title}: at K = {TERMS[-1]:,} the relative error is "
            f"{percent_text(errors.nearest[-1], 2)} to nearest, "
            f"{percent_text(errors.stochastic[-1], 2)} stochastically",
        )
    st.caption(
        f"d = Σ round(aₖ) · round(bₖ), both operands in {name} without a scale, added in fp64: what is seen "
        f"is the rounding of the operands alone. rms of the error of {TRIALS} dot products over the rms of "
        "the exact ones."
    )


def _notice(view: DotView, expected: float) -> str:
    same, zero = view.same_sign, view.zero_mean
    ahead = overtaken(same)
    last = f"K = {TERMS[-1]:,}"
    if ahead is not None:
        winner = f"from about K = {ahead:,} on stochastic rounding is ahead"
    else:
        winner = f"up to {last} nearest stays better, because its bias is so small"
    ratio = zero.stochastic[-1] / zero.nearest[-1]
    return (
        "**Notice, both are true.** Where all terms have one sign, the noise averages out as 1/√K, but "
        f"nearest's bias ({percent_text(view.floor, 2)}) does not, however many terms are added: {winner} "
        f"(at {last}: {percent_text(same.stochastic[-1], 2)} against {percent_text(same.nearest[-1], 2)}). "
        "Where signs cancel, the result itself grows only as √K: nothing averages out, and "
        f"**nearest wins**: stochastic's error is {short(float(ratio), 2)} times as large in these sums, and "
        f"{short(expected, 2)} times in the mean over many."
    )


def overtaken(errors: DotErrors) -> int | None:
    """The least K from which on stochastic has the smaller error; None where nearest has it at the end."""
    behind = np.flatnonzero(errors.stochastic >= errors.nearest)
    first = behind[-1] + 1 if behind.size else 0
    return int(errors.terms[first]) if first < errors.terms.size else None
