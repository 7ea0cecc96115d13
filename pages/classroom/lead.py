"""Follow me, and the teacher's other buttons."""

import streamlit as st

from pages.classroom.door import is_teacher
from pages.kit.classroom.follow import POLL_S
from pages.kit.classroom.shared import shared, visitor
from pages.kit.classroom.store import store


@st.fragment(run_every=POLL_S)
def draw_lead() -> None:
    """Say who is here and who follows, with the button that begins or ends it.

    Who has left the teacher's view in another window sees it here no longer.
    """
    if not is_teacher():
        st.rerun()
    here = shared().present().values()
    follow = sum(one.follows for one in here)
    lead = shared().led()
    with st.container(horizontal=True, vertical_alignment="center"):
        if lead is None:
            st.button("Follow me", key="lead_start", type="primary", on_click=_lead, args=(True,))
            st.caption(f"Open pages of students: {len(here)}. Each is on its own way.")
        else:
            st.button("Let them go", key="lead_end", on_click=_lead, args=(False,))
            where = "the page that you open next" if lead.page is None else f"your page `{lead.page}`"
            st.caption(f"Open pages of students: {len(here)}. Of these, {follow} follow to {where}.")


@st.fragment
def draw_ends() -> None:
    with st.container(horizontal=True, vertical_alignment="center"):
        with st.popover("Forget all answers", icon=":material/delete:"):
            st.markdown("Forget all students, places and answers? Download the answers first.")
            st.button("Forget everything", key="class_reset", type="primary", on_click=_reset)
        st.button("End the class", key="class_end", on_click=_end, help="Students' pages ask no more.")
        st.button("Leave the teacher's view", key="class_leave", on_click=_leave)


def _lead(is_led: bool) -> None:
    if is_teacher():
        shared().lead(is_led)


def _reset() -> None:
    if is_teacher():
        store().reset()


def _end() -> None:
    if is_teacher():
        shared().lead(False)
        store().open(False)
        _leave()


def _leave() -> None:
    shared().leave(visitor())
