"""Three cases side by side: where a rotation lowers the error, and where it raises it."""

from dataclasses import replace
from functools import lru_cache

import streamlit as st

from pages.kit.controls import Controls
from pages.kit.notice import notices_wait
from pages.sections.rotations.controls import CASES, FORMAT, MAGNITUDE, OPENING, SIZE, TILE, rotation_at
from pages.sections.rotations.data import KEPT, Setting, setting

NEGLIGIBLE = 1e-12
"""Shares of the energy below this are fp32's own rounding: the format has lost nothing."""


@lru_cache(maxsize=KEPT)
def mean_errors(setting: Setting, magnitude: int) -> tuple[float, float]:
    """The error of all elements, as a share of their energy, without and with the rotation."""
    spec = setting.spec()
    without, rotated = (frame.quantized(magnitude, spec).nmse for frame in setting.frames(setting.many))
    return without, rotated


def of_format(error: float) -> float:
    """The error as far as the format makes it: 0 where only fp32's own rounding is left."""
    return 0.0 if error < NEGLIGIBLE else error


def change(without: float, rotated: float) -> str:
    """The effect of the rotation on an error, in words that stand alone."""
    without, rotated = of_format(without), of_format(rotated)
    if not (without or rotated):
        return "zero both ways"
    if rotated <= without:
        return f"{without / rotated:.3g} times smaller" if rotated else "zero"
    return f"{rotated / without:.3g} times larger" if without else "no longer zero"


def draw_cases(controls: Controls) -> None:
    """A button for each case, with the effect of a rotation on its error. A click shows the case.

    While a prediction comes first, the effect is left out.
    """
    here = setting(controls)
    st.markdown("**Compare three cases.**" + ("" if notices_wait() else " Rotating makes the error:"))
    row = st.container(horizontal=True, gap="small")
    for title, values in CASES.items():
        size = int(values[SIZE.key])
        case = replace(
            here,
            size=size,
            rotation=rotation_at(size).fit(here.rotation),
            tile=values[TILE.key],
            format=values.get(FORMAT.key, FORMAT.default),
        )
        told = "" if notices_wait() else f": {change(*mean_errors(case, OPENING[MAGNITUDE.key]))}"
        row.button(
            f"{title}{told}",
            key=f"rotations_case_{title}",
            on_click=controls.preset,
            kwargs={FORMAT.key: FORMAT.default} | values,
        )
