"""The places of a page: its question, a Notice, the sections, one control, one picture, and the foot.

    view, controls = open_page("Why can't FP8 do without a scale?", *ALL_CONTROLS)     # pages.kit.shell
    with view.below:
        SECTIONS[controls.draw(SHOW, view.sections)].show(controls)

Inside a section, `controls.draw(FORMAT, here().control)` stands beside the sections, `controls.draw(SEED)`
under "More controls". The first `draw_notice` and `draw_chart` fill their places; all else stands below the
picture. `here().know` is "How we know"; a long table stands `after` the foot, which stays in sight.
"""

from contextvars import ContextVar
from functools import cached_property
from typing import Any

import streamlit as st

from pages.kit.widgets import Place

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
