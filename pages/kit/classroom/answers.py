"""The answers of the class to a step, as a picture: for the teacher, and for students once it is shown."""

import streamlit as st

from pages.kit.classroom.histogram import histogram
from pages.kit.classroom.squares import squares
from pages.kit.classroom.store import store
from pages.kit.lesson.chapter import Fact
from pages.kit.lesson.library import Place

POLL_S = 2.0


def draw_answers(place: Place, truth: Fact | None) -> None:
    """Draw the answers of all. The truth is marked where it is given."""
    bars = histogram(place.step.predict, store().answers_to(place.key), truth) if place.step.predict else ()
    if bars:
        st.html(squares(bars))
    else:
        st.caption("Nobody has answered yet.")


def draw_for_student(place: Place, truth: Fact) -> None:
    """Draw the answers of the class beside a student's own, as soon as the teacher shows them."""
    if store().is_open:
        _while_open(place, truth)


@st.fragment(run_every=POLL_S)
def _while_open(place: Place, truth: Fact) -> None:
    if store().is_shown(place.key):
        st.markdown("**What the class says**")
        draw_answers(place, truth)
