"""The answers of the class to a step, as a picture: for the teacher, and for students once it is shown."""

import streamlit as st

from pages.kit.chart import draw_chart
from pages.kit.charts.class_answers import alt_text, class_answers
from pages.kit.charts.ink import INKS
from pages.kit.classroom.histogram import histogram
from pages.kit.classroom.store import store
from pages.kit.inert import plain
from pages.kit.lesson.chapter import Fact
from pages.kit.lesson.library import Place
from pages.kit.shell import theme

POLL_S = 2.0


def draw_answers(place: Place, truth: Fact | None, key: str) -> int:
    """Draw the answers of all, and return how many they are. The truth is marked where it is given."""
    answers = store().answers_to(place.key)
    bars = histogram(place.step.predict, answers, truth) if place.step.predict else ()
    if answers and bars:
        draw_chart(class_answers(bars, INKS[theme()]), alt=plain(alt_text(bars)), key=key)
    else:
        st.caption("Nobody has answered yet.")
    return len(answers)


def draw_for_student(place: Place, truth: Fact) -> None:
    """Draw the answers of the class beside a student's own, as soon as the teacher shows them."""
    if store().is_open:
        _while_open(place, truth)


@st.fragment(run_every=POLL_S)
def _while_open(place: Place, truth: Fact) -> None:
    if store().is_shown(place.key):
        st.markdown("**What the class says**")
        draw_answers(place, truth, key="class_answers")
