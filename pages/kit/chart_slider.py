"""A chart with a slider, or radio buttons, that works in the browser. The address keeps its last position."""

import json
from collections.abc import Callable, Hashable
from typing import Any

import streamlit as st

from pages.kit.chart import Clicks, draw_chart
from pages.kit.charts.hand import NEVER
from pages.kit.charts.template import Filled
from pages.kit.controls import Controls
from pages.kit.stage.hand import Hand
from pages.kit.view import stage
from pages.kit.widgets import Choice, Number, Place, Whole, selected

Spec = dict[str, Any]
SLIDER, AT = "slider", "at"
_FIRST_VIEW = "slider_view"
TALL = 36  # pixels of a slider above its chart


def with_slider(spec: Spec, name: str, start: float | str) -> Spec:
    """`spec` with the slider of its parameter `name` at `start`, in a selection that Python hears of.

    Streamlit reports selections only: the slider moves to the selection `SLIDER`, and `name` follows it.
    """
    params = spec.get("params", [])
    bind = next((p["bind"] for p in params if p["name"] == name and "bind" in p), None)
    if bind is None:
        raise ValueError(f"the chart needs a slider for {name!r}; it has {[p['name'] for p in params]}")
    path, named = _first_view(spec)
    select = {"type": "point", "fields": [AT], "on": NEVER, "clear": False}
    slider = {"name": SLIDER, "select": select, "bind": bind, "value": [{AT: start}], "views": [path]}
    follower = {"name": name, "expr": f"isArray({SLIDER}.{AT}) ? {SLIDER}.{AT}[0] : {json.dumps(start)}"}
    made = named | {"params": [follower if p["name"] == name else p for p in params] + [slider]}
    return Filled(made) if isinstance(spec, Filled) else made


def _first_view(spec: Spec) -> tuple[str, Spec]:
    if "layer" not in spec:
        name = spec.get("name", _FIRST_VIEW)
        return name, spec | {"name": name}
    name, first = _first_view(spec["layer"][0])
    return name, spec | {"layer": [first, *spec["layer"][1:]]}


def chart_with_slider(
    controls: Controls,
    control: Number | Whole | Choice[Any],
    *,
    name: str,
    drawn: Hashable,
    at: float | str,
    spec_at: Callable[[Any], Spec],
    alt_at: Callable[[Any], str],
    param: str = SLIDER,
    field: str = AT,
    is_rigid: bool = False,
    hand: Hand | None = None,
    around: Place | None = None,
    clicks: Clicks | None = None,
) -> Place:
    """Draw `spec_at(start)`, described by `alt_at(start)`: its selection `param` has the slider in `field`.

    `control` follows the slider, and meanwhile the chart stays as it is. It is made anew, at `at`, where
    `drawn`, all that its data depend on, changed, something else moved `at`, or the reader came back.
    `hand` takes the slider's place, in a chart that has a rail; `clicks` hears its marks. `around` is the
    chart's place, if not the page's picture. Returns the place of the chart and its hands.
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
        if clicks is not None:
            clicks.hear(key)
        picked = (selected(key, param) or [{}])[-1].get(field)
        if picked is not None and control.accepts(now := type(control.default)(picked)):
            shown["at"] = now
            controls.preset(**{control.key: now})

    place = (stage() if around is None else around).container(key=f"slid_{name}", gap=None)
    with place:
        chart = draw_chart(
            spec_at(shown["start"]),
            place=place,
            key=key,
            on_select=moved,
            selection_mode=[param] if clicks is None else [param, clicks.parameter],
            alt=alt_at(shown["start"]),
            is_rigid=is_rigid,
            taken=0 if hand else TALL,
        )
        if clicks is not None:
            clicks.keep(key, chart)
        if hand is not None:
            hand.mount(f"hand_{name}")
    return place
