"""The one way from a spec to a chart on a page. The rules for every chart are applied here."""

from collections.abc import Mapping
from typing import Any

from pages.kit import address
from pages.kit.charts.legible import legible
from pages.kit.charts.room import BESIDE_ROOM, PROJECTED_ROOM, ROOM, in_room
from pages.kit.charts.template import Filled
from pages.kit.look.presenter import projected
from pages.kit.view import stage
from pages.kit.widgets import Place

_AROUND = 10  # pixels below a picture that fits its own parts
# Pixels of a page beside its column: the sidebar and the margins, which narrower screens do not show
SIDEBAR = 340

# A shadow at a box's right edge until it is scrolled to its end: a telephone shows no scroll bar
_SHADOW = (
    "linear-gradient(to left, var(--st-background-color, Canvas) 40%, transparent) "
    "right / 4rem 100% no-repeat local, "
    "linear-gradient(to left, rgb(128 128 128 / 0.5), transparent) right / 1.5rem 100% no-repeat scroll"
)


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
    least: int | None = None,
    width: str = "stretch",
    is_rigid: bool = False,
    taken: int = 0,
    **selection: Any,
) -> Any:
    """Draw a chart, named by `alt` for a screen reader, and return the reader's selection in it.

    `least` is the width in pixels that its words need. On a narrower page the chart scrolls sideways.
    Without a place, the first chart of a run is the page's picture. A chart becomes as flat as its place,
    unless it is rigid: its words have fixed places. `taken` pixels of the place belong to something else.
    """
    place = stage() if place is None else place
    if least is not None:
        name = f"scrolls_{key}".replace(" ", "_")
        box = f".st-key-{name}"
        place = place.container(key=name)
        # Only there: a box that scrolls also cuts off the chart's toolbar, which lies above it.
        narrow = f"@media (max-width: {least + SIDEBAR}px)"
        place.html(
            f"<style>{narrow} {{ {box} {{ overflow-x: auto; background: {_SHADOW} }} "
            f"{box} > * {{ min-width: {least}px }} {box} svg.marks {{ background: none !important }} "
            "}</style>"
        )
    ready = spec if isinstance(spec, Filled) else legible(spec)
    if not is_rigid:
        ready = in_room(ready, most() - taken, is_narrow=_is_beside())
    return place.vega_lite_chart(ready, width=width, key=key, alt=alt, **selection)
