"""The one way from a spec to a chart on a page. The rules for every chart are applied here."""

from collections.abc import Callable, Mapping
from typing import Any

import streamlit as st

from pages.kit import address
from pages.kit.charts.legible import BESIDE_ROOM, PROJECTED_ROOM, ROOM, in_room, legible
from pages.kit.charts.template import Filled
from pages.kit.look.presenter import projected
from pages.kit.view import stage
from pages.kit.widgets import Place, selected

_AROUND = 10  # pixels below a picture that fits its own parts


def room() -> int:
    """Pixels of height for the page's picture, for one that makes its own parts fit."""
    return most() - _AROUND


def most() -> int:
    """Pixels of height for a chart whose views are fitted: as `room`, with the words around it."""
    return PROJECTED_ROOM if projected() else BESIDE_ROOM if _is_beside() else ROOM


def _is_beside() -> bool:
    return "lesson" in address.frame_parameters()


def draw_chart(
    spec: Mapping[str, Any],
    *,
    alt: str,
    key: str,
    place: Place | None = None,
    is_rigid: bool = False,
    taken: int = 0,
    **selection: Any,
) -> Any:
    """Draw a chart, named by `alt` for a screen reader, and return the reader's selection in it.

    Without a place, the first chart of a run is the page's picture. A chart becomes as flat as its place,
    unless it is rigid: its words have fixed places. `taken` pixels of the place belong to something else.
    """
    place = stage() if place is None else place
    ready = spec if isinstance(spec, Filled) else legible(spec)
    if not is_rigid:
        ready = in_room(ready, most() - taken, is_narrow=_is_beside())
    return place.vega_lite_chart(ready, width="stretch", key=key, alt=alt, **selection)


def draw_clickable(
    spec: Mapping[str, Any],
    *,
    key: str,
    parameter: str,
    on_click: Callable[[Mapping[str, Any]], None],
    alt: str,
    place: Place | None = None,
) -> None:
    """Draw a chart that calls `on_click` with the fields of a clicked mark.

    The selection keeps all clicked marks, so that a second click on a mark changes it, too.
    """
    before = f"_clicks_{key}"

    def clicked() -> None:
        if (now := selected(key, parameter)) is None:
            return
        old = st.session_state.get(before, [])
        if changed := [one for one in now if one not in old] or [one for one in old if one not in now]:
            on_click(changed[-1])

    chart = draw_chart(
        spec, place=place, key=key, is_rigid=True, on_select=clicked, selection_mode=[parameter], alt=alt
    )
    st.session_state[before] = list(chart.get("selection", {}).get(parameter) or [])
