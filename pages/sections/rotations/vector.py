"""Section "One vector": its stems before and after; the slider in the picture is the magnitude's control."""

import streamlit as st

from pages.kit.chart import draw_chart
from pages.kit.charts.ink import INKS
from pages.kit.charts.template import Filled
from pages.kit.controls import Controls
from pages.kit.notice import draw_notice
from pages.kit.reported import reported
from pages.kit.shell import theme
from pages.sections.rotations.cases import change, draw_cases, mean_errors, of_format
from pages.sections.rotations.charts.vector import MAGNITUDE as SLIDER
from pages.sections.rotations.charts.vector import OUTLIER, PANELS, Stems, vector_picture
from pages.sections.rotations.controls import MAGNITUDE, draw_rotation
from pages.sections.rotations.data import Setting, look, setting

_START = "_rotations_slider_start"
# Vega puts its slider under the picture, with fewer pixels than steps.
SLIDER_STYLE = """<style>
.stVegaLiteChart:has(.vega-bind) {display: flex; flex-direction: column-reverse; align-items: flex-start}
.stVegaLiteChart .vega-bind input[type=range] {width: min(30rem, 30vw) !important}
</style>"""


def picture(setting: Setting, start: int, theme: str) -> Filled:
    """The first vector before and after the rotation, the slider at `start`."""
    panels = {}
    for name, frame in zip(PANELS, setting.one(), strict=True):
        rest, slope = frame.linear[:, 0]
        # After a rotation, no entry is an outlier by itself.
        outlier = frame.vectors.is_outlier[0] & (frame.rotation is None)
        panels[name] = Stems(rest=rest, slope=slope, is_outlier=outlier)
    limits = MAGNITUDE.low, MAGNITUDE.high
    return vector_picture(panels, setting.spec(), start, limits, INKS[theme])


def show(controls: Controls) -> None:
    """Draw the picture with its notice above it."""
    draw_rotation(controls)
    draw_cases(controls)
    chosen, magnitude = setting(controls), controls.value(MAGNITUDE)
    before, after = look(chosen, magnitude)
    draw_notice(
        f"**Notice:** {notice(chosen, before.amax, after.amax, before.zeros, after.zeros)} "
        f"{error_in_words(chosen, magnitude)}"
    )
    start, key = slider_start(magnitude, (chosen, theme()))
    draw_chart(
        picture(chosen, start, theme()),
        key=key,
        on_select=lambda: _dragged(controls, key),
        selection_mode=[OUTLIER],
        # Whatever changes here makes the browser build the picture anew: nothing that dragging changes.
        alt=f"{chosen.size} entries as stems, before and after the rotation, under a slider for the "
        "outlier's magnitude. The largest entries and how many become zero are written above each panel.",
    )
    st.html(SLIDER_STYLE)
    st.caption(
        "Drag the slider above the picture. Both panels have one axis. Dashed: the largest |x|. The pink "
        f"band is what rounds to zero in {chosen.format}: at most half its smallest value, "
        f"{chosen.spec().format.min_subnormal:g}, times the tile's scale."
    )


def notice(chosen: Setting, before: float, after: float, zeros_before: int, zeros_after: int) -> str:
    """The effect of the rotation on this vector."""
    change = (
        f"{before / after:.1f} times smaller"
        if before >= after
        else f"{after / before:.1f} times larger: this vector got a worse outlier"
    )
    if f"{before:.3g}" == f"{after:.3g}":
        change = "as large as it was"
    return (
        f"the largest entry goes from {before:.3g} to {after:.3g}, {change}. "
        f"Of {chosen.size:,} entries, {zeros_before} become zero in {chosen.format} before and "
        f"{zeros_after} after. The length of the vector stays the same."
    )


def error_in_words(chosen: Setting, magnitude: int) -> str:
    """The effect of the rotation on the quantization error of vectors like this one, and a link to the
    reason.
    """
    without, rotated = map(of_format, mean_errors(chosen, magnitude))
    told = (
        f"Over {chosen.many:,} such vectors, quantization to {chosen.format} loses {without:.3g} of the "
        f"energy without the rotation and {rotated:.3g} with it: the error is {change(without, rotated)}."
    )
    return told if rotated <= without else f"{told} Here a rotation loses; “Error” says why."


def slider_start(magnitude: int, others: object) -> tuple[int, str]:
    """The start of the picture's slider, and the picture's key.

    The picture keeps both while the reader drags, so that the browser continues with it. Where the magnitude
    or anything else was set in another way, a new picture starts there.
    """
    start, seen, serial = st.session_state.get(_START, (magnitude, None, 0))
    picture = st.session_state.get(_key(serial))
    if picture is None or seen != others or _reported(picture, start) != magnitude:
        start, serial = magnitude, serial + 1
        st.session_state[_START] = (start, others, serial)
    return start, _key(serial)


def _key(serial: int) -> str:
    return f"rotations_picture_{serial}"


def _reported(picture: object, start: int) -> object:
    """The magnitude of the picture's slider, as far as the browser has reported it."""
    places = picture.selection.get(OUTLIER) or []  # type: ignore[attr-defined]
    return places[-1].get(SLIDER, start) if places else start


def _dragged(controls: Controls, key: str) -> None:
    picture = reported(key)
    magnitude = None if picture is None else _reported(picture, controls.value(MAGNITUDE))
    if MAGNITUDE.accepts(magnitude):
        controls.preset(**{MAGNITUDE.key: magnitude})
