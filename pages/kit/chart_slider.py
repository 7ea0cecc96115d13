"""Charts with a slider, radio buttons or a gold handle in the browser. The address keeps the position."""

import json
import math
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import streamlit as st

from pages.kit.charts.parts import RAIL, marks_of
from pages.kit.charts.template import Filled, Spec
from pages.kit.controls import Controls
from pages.kit.stage.stage import Stage
from pages.kit.view import Clicks, draw_chart, stage
from pages.kit.widgets import Choice, Number, Place, Whole, selected

SLIDER, AT = "slider", "at"
_FIRST_VIEW = "slider_view"
TALL = 36  # pixels of a slider above its chart
_HAND = Stage("hand", Path(__file__).parent / "stage" / "hand.js")


@dataclass(frozen=True, kw_only=True)
class Hand:
    """A handle on a chart's rail (`pages.kit.charts.parts`). `way`: "across", "up" or "both".

    `play`: label of a play button, if any. `grips`: further panels or marks to drag, each with a rail of the
    same positions. `notices`: the page's Notice at each position.
    """

    label: str
    way: str = "across"
    play: str = ""
    rail: str = RAIL
    grips: tuple[tuple[str, str], ...] = ()
    notices: Mapping[float, str] = field(default_factory=dict)

    def mount(
        self, key: str, *, at: float | None = None, on_change: Callable[[float], None] | None = None
    ) -> None:
        """Lay the handle over the chart in this container, whose key begins with `slid_`.

        Over a chart without a slider it stands `at` a position, and `on_change` gets each new one before a
        run.
        """
        if at is not None and not math.isfinite(at):
            raise ValueError(f"a handle needs a finite position, got {at}")

        def take(move: dict[str, Any]) -> None:
            if on_change is not None and isinstance(position := move.get("at"), int | float):
                on_change(position)

        grips = [[marks_of(name), marks_of(rail)] for name, rail in self.grips]
        way = {
            "grips": grips,
            "notices": {f"{position:g}": words for position, words in self.notices.items()},
            "rail": marks_of(self.rail),
            "label": self.label,
            "way": self.way,
            "play": self.play,
        }
        _HAND.mount({**way, "at": at}, key=key, on_change=take)


def with_slider(spec: Spec, name: str, start: float | str) -> Spec:
    """Bind the slider of parameter `name` to a selection that starts at `start`.

    Streamlit reports selections only: the slider moves to `SLIDER`, and `name` follows it.
    """
    params = spec.get("params", [])
    bind = next((p["bind"] for p in params if p["name"] == name and "bind" in p), None)
    if bind is None:
        raise ValueError(f"the chart needs a slider for {name!r}; it has {[p['name'] for p in params]}")
    path, with_name = _first_view(spec)
    # The slider alone moves the selection: a click on a mark would empty it.
    select = {"type": "point", "fields": [AT], "on": "click[false]", "clear": False}
    slider = {"name": SLIDER, "select": select, "bind": bind, "value": [{AT: start}], "views": [path]}
    follower = {"name": name, "expr": f"isArray({SLIDER}.{AT}) ? {SLIDER}.{AT}[0] : {json.dumps(start)}"}
    ready = with_name | {"params": [follower if p["name"] == name else p for p in params] + [slider]}
    return Filled(ready) if isinstance(spec, Filled) else ready


def _first_view(spec: Spec) -> tuple[str, Spec]:
    parts = next((parts for parts in ("vconcat", "layer") if parts in spec), None)
    if parts is None:
        name = spec.get("name", _FIRST_VIEW)
        return name, spec | {"name": name}
    name, first = _first_view(spec[parts][0])
    return name, spec | {parts: [first, *spec[parts][1:]]}


def chart_with_slider(
    controls: Controls,
    control: Number | Whole | Choice[Any],
    *,
    name: str,
    inputs: Hashable,
    at: float | str,
    spec_at: Callable[[Any], Spec],
    alt_at: Callable[[Any], str],
    is_fitted: bool = False,
    hand: Hand | None = None,
    around: Place | None = None,
    clicks: Clicks | None = None,
) -> Place:
    """Draw `spec_at(start)`, a chart `with_slider`, and return its place.

    `control` follows the slider. The chart is new, at `at`, when `inputs` (all that its data depend on) or
    `at` changes, or the reader returns. `hand` replaces the slider on a chart with a rail; `clicks` hears its
    marks; `around` is another place than the picture's.
    """
    state_key = f"_{name}"
    state = st.session_state.get(state_key)
    is_on_screen = state is not None and state["key"] in st.session_state
    if not is_on_screen or state["inputs"] != inputs or state["at"] != at:
        number = state["number"] + 1 if state else 0
        state = {"inputs": inputs, "at": at, "start": at, "number": number, "key": f"{name}_{number}"}
        st.session_state[state_key] = state
    key = state["key"]

    def on_move() -> None:
        if clicks is not None:
            clicks.hear(key)
        position = (selected(key, SLIDER) or [{}])[-1].get(AT)
        if position is not None and control.accepts(now := type(control.default)(position)):
            state["at"] = now
            controls.preset(**{control.key: now})

    place = (stage() if around is None else around).container(key=f"slid_{name}", gap=None)
    with place:
        draw_chart(
            spec_at(state["start"]),
            place=place,
            key=key,
            on_select=on_move,
            selection_mode=[SLIDER] if clicks is None else [SLIDER, clicks.parameter],
            clicks=clicks,
            alt=alt_at(state["start"]),
            is_fitted=is_fitted,
            margin=0 if hand else TALL,
        )
        if hand is not None:
            hand.mount(f"hand_{name}")
    return place
