"""A chart with a slider that works in the browser, whose resting place the address keeps."""

from collections.abc import Callable, Hashable

import streamlit as st

from pages.ui.controls import Controls
from pages.ui.scaling_controls import Number
from pages.ui.scaling_data import Spec


def chart_with_slider(
    controls: Controls,
    control: Number,
    *,
    name: str,
    drawn: Hashable,
    at: float,
    spec_at: Callable[[float], Spec],
    param: str,
    field: str,
    alt_at: Callable[[float], str],
) -> None:
    """Draw `spec_at(start)`, in words `alt_at(start)`: its selection `param` has the slider in `field`.

    `control` follows that value. `drawn` says what the chart's data depend on and `at` where the slider is to
    stand. While the reader moves it, the chart stays as it is: it is made anew, at `at` under another key,
    only when `drawn` changes, when something else than the slider, such as a button or a link, moved `at`, or
    when the reader comes back to it.
    """
    state = f"_{name}"
    shown = st.session_state.get(state)
    on_screen = shown is not None and shown["key"] in st.session_state
    if not on_screen or shown["drawn"] != drawn or shown["at"] != at:
        number = shown["number"] + 1 if shown else 0
        shown = {"drawn": drawn, "at": at, "start": at, "number": number, "key": f"{name}_{number}"}
        st.session_state[state] = shown
    key = shown["key"]

    def moved() -> None:
        """The browser tells once the slider rests."""
        picked = st.session_state[key].selection.get(param) or []
        if picked:
            now = float(picked[-1][field])
            st.session_state[state]["at"] = now
            controls.preset(**{control.key: now})

    st.html(_SLIDER_STYLE)
    with st.container(key=name):
        st.vega_lite_chart(
            spec_at(shown["start"]),
            width="stretch",
            key=key,
            on_select=moved,
            selection_mode=[param],
            alt=alt_at(shown["start"]),
        )


_SLIDER_STYLE = """<style>
[class*="st-key-scaling_"] .vega-embed:has(.vega-bind) { display: flex; flex-direction: column; }
[class*="st-key-scaling_"] .vega-bindings { order: -1; width: 100%; padding-bottom: 0.9rem !important; }
[class*="st-key-scaling_"] .vega-bind { display: flex; align-items: center; gap: 0.75rem; font-weight: 600; }
[class*="st-key-scaling_"] .vega-bind label { display: flex; flex: 1; align-items: center; gap: 0.75rem; }
[class*="st-key-scaling_"] .vega-bind input[type="range"] { flex: 1; }
</style>"""
