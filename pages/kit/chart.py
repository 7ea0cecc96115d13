"""Charts on a page, by every chart's rules."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import streamlit as st

from pages.kit import address
from pages.kit.charts.ink import INKS, Ink
from pages.kit.charts.legible import ROOMS, in_room, legible
from pages.kit.charts.template import Filled
from pages.kit.look.presenter import projected
from pages.kit.view import stage
from pages.kit.widgets import Place, selected

_AROUND = 10  # pixels below a picture that fits its own parts


def theme() -> str:
    return "dark" if st.context.theme.type == "dark" else "light"


def page_ink() -> Ink:
    return INKS[theme()]


def room() -> int:
    """Pixels of height for a picture that fits its own parts."""
    return most() - _AROUND


def most() -> int:
    """Pixels of height for a chart whose views are fitted, with the words around it."""
    return ROOMS[projected(), "lesson" in address.frame_parameters()]


def draw_chart(
    spec: Mapping[str, Any],
    *,
    alt: str,
    key: str,
    place: Place | None = None,
    is_fitted: bool = False,
    margin: int = 0,
    **selection: Any,
) -> Any:
    """Draw a chart, described by `alt`, and return the reader's selection in it.

    Without a place, the first chart of a run is the page's picture. A fitted chart is as high as its place,
    less `margin` pixels. Others have words at fixed places, and fit themselves into `room`.
    """
    place = stage() if place is None else place
    ready = spec if isinstance(spec, Filled) else legible(spec)
    if is_fitted:
        ready = in_room(ready, most() - margin)
    return place.vega_lite_chart(ready, width="stretch", key=key, alt=alt, **selection)


@dataclass(frozen=True)
class Clicks:
    """Clicks on marks of a chart, by its selection `parameter`."""

    parameter: str
    on_click: Callable[[Mapping[str, Any]], None]

    def hear(self, key: str) -> None:
        if (now := selected(key, self.parameter)) is None:
            return
        old = st.session_state.get(f"_clicks_{key}", [])
        if changes := [one for one in now if one not in old] or [one for one in old if one not in now]:
            self.on_click(changes[-1])

    def keep(self, key: str, chart: Mapping[str, Any]) -> None:
        """Take the drawn chart's selection as known."""
        st.session_state[f"_clicks_{key}"] = list(chart.get("selection", {}).get(self.parameter) or [])


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

    The selection keeps all clicked marks, so a second click on a mark changes it too.
    """
    clicks = Clicks(parameter, on_click)
    chart = draw_chart(
        spec,
        place=place,
        key=key,
        on_select=lambda: clicks.hear(key),
        selection_mode=[parameter],
        alt=alt,
    )
    clicks.keep(key, chart)
