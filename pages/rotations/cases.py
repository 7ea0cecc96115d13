"""Three cases: where a rotation lowers the error, and where it raises it."""

from functools import lru_cache

import streamlit as st

from pages.kit.controls import Controls
from pages.kit.view import here
from pages.kit.widgets import reported
from pages.rotations.controls import CASES, MAGNITUDE
from pages.rotations.data import KEPT, Setting

NEGLIGIBLE = 1e-12
"""Shares of the energy below this are fp32's own rounding: the format has lost nothing."""
_CASE = "_rotations_case"


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
    """Draw the choice of a case beside the sections; none is chosen where the fields show another one."""
    settings = {
        title: {key: value for key, value in values.items() if key != MAGNITUDE.key}
        for title, values in CASES.items()
    }
    held = {key: st.session_state.get(key) for values in settings.values() for key in values}
    st.session_state[_CASE] = next(
        (title for title, values in settings.items() if values.items() <= held.items()), None
    )

    def chosen() -> None:
        if title := reported(_CASE):
            controls.preset(**settings[title])

    here().control.segmented_control("A case", list(CASES), key=_CASE, on_change=chosen)
