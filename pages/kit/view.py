"""The places of a page, and its charts by every chart's rules.

A page has its question, a Notice, the sections, one control, one picture, and the foot.

    view, controls = open_page("Why can't FP8 do without a scale?", *ALL_CONTROLS)     # pages.kit.shell
    with view.below:
        SECTIONS[controls.draw(SHOW, view.sections)].show(controls)

Inside a section, `controls.draw(FORMAT, here().control)` stands beside the sections, `controls.draw(SEED)`
under "More controls". The first `draw_notice` and `draw_chart` fill their places; all else stands below the
picture. `here().know` is "How we know"; a long table stands `after` the foot, which stays in sight.
"""

from collections.abc import Callable, Mapping
from contextvars import ContextVar
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import streamlit as st

from pages.kit import address
from pages.kit.charts.ink import DARK, LIGHT, Ink
from pages.kit.charts.legible import ROOMS, in_room, legible
from pages.kit.charts.template import Filled
from pages.kit.look.presenter import projected
from pages.kit.widgets import Place, selected

_NOTHING = "<span></span>"
HIDDEN_KEY = "_notices_hidden"  # true in the session while a step of a lesson waits for a prediction
WAITING = "What to notice here appears with the answer."


class NoView:
    """Places of a page that opens no view, such as a lesson on paper: wherever the page is."""

    warning: Any = st
    notice: Any = st
    picture: Any = st
    more: Any = st
    know: Any = st
    foot: Any = st
    after: Any = st

    def __init__(self, *first_read: str) -> None:
        # The question and, once it is drawn, the Notice: what a reader reads first
        self.first_read = [*first_read]


class View(NoView):
    """Places of the running page. Both parts of the foot exist once something is in them."""

    def __init__(self, question: str) -> None:
        st.title(question, anchor=False)
        super().__init__(question)
        self.warning = st.container(key="view_warning", gap=None)
        self.notice = st.container(key="view_notice", gap=None)
        row = st.container(
            key="view_row", horizontal=True, vertical_alignment="center", horizontal_alignment="distribute"
        )
        self.sections: Place = row.container(key="view_sections", width="content")
        self.control: Place = row.container(
            key="view_control", width="content", horizontal=True, vertical_alignment="center"
        )
        self.picture = st.container(key="view_stage", gap=None)
        self.below: Any = st.container(key="view_below")
        self.foot = st.container(key="view_foot", horizontal=True)
        self._more_place: Place = self.foot.container(key="view_more")
        self._know_place: Place = self.foot.container(key="view_know")
        self.after = st.container(key="view_after")
        # Streamlit leaves out an empty container: all below it would jump once its picture has been computed.
        for place in (self.notice, self.picture):
            place.html(_NOTHING)

    @cached_property
    def more(self) -> Any:
        return self._more_place.expander("More controls")

    @cached_property
    def know(self) -> Any:
        return self._know_place.expander("How we know")


_VIEW: ContextVar[NoView] = ContextVar("view")


def open_view(question: str) -> View:
    view = View(question)
    _VIEW.set(view)
    return view


def close_view() -> None:
    """Forget the run before, which this thread may still hold."""
    _VIEW.set(NoView())


def here() -> Any:
    """Places of the running page."""
    return _VIEW.get(None) or NoView()


def stage() -> Place:
    """Place of the picture at a run's first call; afterwards the current place."""
    view = here()
    place, view.picture = view.picture, st
    return place


def notices_wait() -> bool:
    """Return True before a prediction: pages leave out what would tell the answer."""
    return bool(st.session_state.get(HIDDEN_KEY, False))


def draw_notice(text: str) -> None:
    """Draw the sentence on what to notice. Before a prediction, a gray field keeps its place."""
    view = here()
    place, view.notice = view.notice, st
    if notices_wait():
        place.html(f'<div class="fp8-hidden" style="min-height:26px">{WAITING}</div>')
        return
    place.markdown(text)
    view.first_read.append(text)


_AROUND = 10  # pixels below a picture that fits its own parts


def page_ink() -> Ink:
    return DARK if st.context.theme.type == "dark" else LIGHT


def room() -> int:
    """Pixels of height for a picture that fits its own parts."""
    return most() - _AROUND


def most() -> int:
    """Pixels of height for a chart whose views are fitted, with the words around it."""
    return ROOMS[projected(), "lesson" in address.frame_parameters()]


@dataclass(frozen=True)
class Clicks:
    """Clicks on marks of a chart, by its selection `parameter`: `on_click` gets the fields of a clicked mark.

    The selection keeps all clicked marks, so a second click on a mark changes it too.
    """

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


def draw_chart(
    spec: Mapping[str, Any],
    *,
    alt: str,
    key: str,
    place: Place | None = None,
    is_fitted: bool = False,
    margin: int = 0,
    clicks: Clicks | None = None,
    **selection: Any,
) -> None:
    """Draw a chart, described by `alt`.

    Without a place, the first chart of a run is the page's picture. A fitted chart is as high as its place,
    less `margin` pixels. Others have words at fixed places, and fit themselves into `room`.
    """
    place = stage() if place is None else place
    ready = spec if isinstance(spec, Filled) else legible(spec)
    if is_fitted:
        ready = in_room(ready, most() - margin)
    if clicks is not None:
        selection = {"on_select": lambda: clicks.hear(key), "selection_mode": [clicks.parameter]} | selection
    chart = place.vega_lite_chart(ready, width="stretch", key=key, alt=alt, **selection)
    if clicks is not None:
        clicks.keep(key, chart)
