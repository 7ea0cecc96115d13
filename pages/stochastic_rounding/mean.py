"""Section "The mean": the exact mean of stochastic rounding for every x between a few codes."""

from dataclasses import dataclass

import numpy as np
import streamlit as st
from numpy.typing import NDArray

from fp8core.experiments.rounding_sweep import (
    RoundingError,
    Sweep,
    nearest_error,
    noisy_error,
    sweep,
    values_around,
)
from fp8core.formats import FORMATS
from fp8core.stochastic import Debias
from pages.kit.charts.words import count, short
from pages.kit.controls import Controls
from pages.kit.tables import markdown_table
from pages.kit.view import draw_chart, draw_notice, here, page_ink
from pages.stochastic_rounding.charts.noise import mean_chart
from pages.stochastic_rounding.controls import AROUND, DEBIAS, FORMAT, RANDOM_BITS

GAPS, POINTS, FINE_POINTS = 4, 160, 1000


@dataclass(frozen=True, kw_only=True)
class MeanView:
    """A sweep to draw, and the errors over a finer one."""

    values: NDArray[np.float64]
    sweep: Sweep
    nearest: RoundingError
    noisy: dict[Debias, RoundingError]


@st.cache_data(max_entries=64, show_spinner=False)
def mean_view(name: str, around: float, bits: int, debias: Debias) -> MeanView:
    format_ = FORMATS[name]
    values = values_around(format_, around, GAPS)
    fine = {variant: sweep(format_, values, FINE_POINTS, bits, variant) for variant in Debias}
    return MeanView(
        values=values,
        sweep=sweep(format_, values, POINTS, bits, debias),
        nearest=nearest_error(fine[debias]),
        noisy={variant: noisy_error(s) for variant, s in fine.items()},
    )


FEW_BITS = (1, 3, 8)
DITHERING = (
    "**Noise, then nearest.** Dithering says it in other words: add uniform noise of up to half a step "
    "either way, and round to nearest. The closer x lies to the upper value, the more often the sum rounds "
    "to it. So the mean of the rounded value is x: **E[round(x)] = x**."
)


def show(controls: Controls) -> None:
    for few in FEW_BITS:
        preset = {RANDOM_BITS.key: few}
        here().control.button(count(few, "bit"), on_click=controls.preset, kwargs=preset)
    name, bits = controls.draw(FORMAT), controls.draw(RANDOM_BITS)
    debias = Debias[controls.draw(DEBIAS).upper()]
    around = controls.draw(AROUND, high=FORMATS[name].max)
    view = mean_view(name, around, bits, debias)
    worst = short(view.noisy[debias].worst_bias, 3)
    draw_notice(
        f"With {count(bits, 'random bit')} the mean is at most **{worst} of a step off x.** "
        f"To nearest it is off by up to {short(view.nearest.worst_bias, 2)}."
    )
    draw_chart(
        mean_chart(view.sweep, view.values, name, page_ink()),
        key="mean_chart",
        is_fitted=True,
        alt=f"Mean of the rounded value for x from {short(view.values[0])} to {short(view.values[-1])} in "
        f"{name}: nearest climbs in stairs, the stochastic mean follows x within {worst} of a step",
    )
    st.markdown(_table(view, debias))
    st.caption(
        f"In steps (gaps between neighboring values), over {FINE_POINTS:,} x in each of the gaps drawn. "
        "rms is that of one rounding: noise is the price of a mean that is right."
    )
    here().know.markdown(DITHERING)
    here().know.caption(
        "Exact, over all 2ᴺ equally likely random values: nothing is drawn at random here. Shaded: the mean "
        "± one standard deviation of a single rounding. Point at the picture for the numbers."
    )


def _table(view: MeanView, debias: Debias) -> str:
    errors = {"to nearest": view.nearest}
    for variant, error in view.noisy.items():
        bold = "**" * (variant is debias)
        errors[f"{bold}stochastic, {variant.value}{bold}"] = error
    lines = [(name, short(error.worst_bias, 3), short(error.rms, 3)) for name, error in errors.items()]
    return markdown_table(("rounding", "largest error of the mean", "rms error"), lines)
