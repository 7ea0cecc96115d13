"""The places of a page: its question, a Notice, the sections, one control, one picture, and the foot.

    view = open_view("Why can't FP8 do without a scale?")     # the first line of a page, after guard()
    controls = Controls(*ALL_CONTROLS)
    with view.below:
        SECTIONS[controls.draw(SHOW, view.sections)].show(controls)

Inside a section, `controls.draw(FORMAT, here().control)` stands beside the sections, `controls.draw(SEED)`
under "More controls". The first `draw_notice` and `draw_chart` fill their places; all else stands below the
picture. `here().know` is "How we know".
"""

from contextvars import ContextVar
from functools import partial
from typing import Any

import streamlit as st

from pages.kit.widgets import Place

_WIDGETS = ("segmented_control", "selectbox", "slider", "number_input", "text_input", "multiselect", "pills")
_NOTHING = "<span></span>"


class _Bare:
    """A place with hidden labels, which a screen reader still hears."""

    def __init__(self, place: Place) -> None:
        self._place = place

    def __getattr__(self, name: str) -> Any:
        widget = getattr(self._place, name)
        return partial(widget, label_visibility="collapsed") if name in _WIDGETS else widget

    def container(self, *arguments: Any, **options: Any) -> "_Bare":
        return _Bare(self._place.container(*arguments, **options))


class View:
    """Places of the running page. Both parts of the foot exist once something is in them."""

    def __init__(self, question: str) -> None:
        st.title(question, anchor=False)
        # The question and, once it is drawn, the Notice: what a reader reads first
        self.first_read = [question]
        self.warning: Place = st.container(key="view_warning", gap=None)
        self.notice: Place = st.container(key="view_notice", gap=None)
        row = st.container(
            key="view_row", horizontal=True, vertical_alignment="center", horizontal_alignment="distribute"
        )
        self.sections: Place = _Bare(row.container(key="view_sections", width="content"))
        self.control: Place = _Bare(
            row.container(key="view_control", width="content", horizontal=True, vertical_alignment="center")
        )
        self._stage: Place = st.container(key="view_stage", gap=None)
        self.below: Any = st.container(key="view_below")
        foot = st.container(key="view_foot", horizontal=True)
        self._more_place: Place = foot.container(key="view_more")
        self._know_place: Place = foot.container(key="view_know")
        self.next: Place = foot.container(key="view_next", width="content")
        self._more: Place | None = None
        self._know: Place | None = None
        self._has_notice = self._has_picture = False
        # Streamlit leaves out an empty container: all below it would jump once its picture has been computed.
        for place in (self.notice, self._stage):
            place.html(_NOTHING)

    @property
    def more(self) -> Any:
        if self._more is None:
            self._more = self._more_place.expander("More controls")
        return self._more

    @property
    def know(self) -> Any:
        if self._know is None:
            self._know = self._know_place.expander("How we know")
        return self._know

    def take_notice(self) -> Place:
        place, self._has_notice = (st if self._has_notice else self.notice), True
        return place

    def take_stage(self) -> Place:
        """Place of the picture at the first call; afterwards the current place."""
        place, self._has_picture = (st if self._has_picture else self._stage), True
        return place


_VIEW: ContextVar[View | None] = ContextVar("view", default=None)


def open_view(question: str) -> View:
    view = View(question)
    _VIEW.set(view)
    return view


def close_view() -> None:
    """Forget the run before, which this thread may still hold."""
    _VIEW.set(None)


def current() -> View | None:
    """Places of the running page; None before `open_view`."""
    return _VIEW.get()


def here() -> View:
    """Places of the running page. Raises RuntimeError before `open_view`."""
    if (view := _VIEW.get()) is None:
        raise RuntimeError("this page opened no view: call open_view first")
    return view


def stage() -> Place:
    """Place of the picture at a run's first call; afterwards the current place."""
    view = _VIEW.get()
    return st if view is None else view.take_stage()


def notice_place() -> Place:
    view = _VIEW.get()
    return st if view is None else view.take_notice()


def warning_place() -> Place:
    view = _VIEW.get()
    return st if view is None else view.warning


def more() -> Any:
    view = _VIEW.get()
    return st if view is None else view.more


def know() -> Any:
    view = _VIEW.get()
    return st if view is None else view.know
