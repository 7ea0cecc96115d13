"""The answers to one step as they come in: the truth is hidden, and the class sees nothing, until the teacher
wants it.
"""

import streamlit as st

from pages.kit.classroom.answers import POLL_S, draw_answers
from pages.kit.classroom.store import store
from pages.kit.inert import plain
from pages.kit.lesson.filled import filled, truth_of
from pages.kit.lesson.library import Place, library
from pages.sections.classroom.door import is_teacher

_REVEALED_KEY = "_class_revealed"


def asking() -> dict[str, Place]:
    """The steps that ask for a prediction, by key."""
    return {place.key: place for place in library().places if place.step.predict is not None}


def title(place: Place) -> str:
    """A step in the list of steps."""
    return f"{place.words}: {place.step.title}"


@st.fragment(run_every=POLL_S)
def draw_step(place: Place) -> None:
    """Draw the question, the answers, and the switches for the truth and for the class."""
    revealed: set[str] = st.session_state.setdefault(_REVEALED_KEY, set())
    is_revealed, is_shown = place.key in revealed, store().is_shown(place.key)
    try:
        truth = truth_of(place.step)
        st.markdown(f"**{filled(place.step.predict.ask, place.step.settings(is_locked=False))}**")
    except ValueError as wrong:
        st.error(plain(f"This step cannot be shown: {wrong}."))
        return
    with st.container(horizontal=True, vertical_alignment="center"):
        st.button(
            "Hide the truth" if is_revealed else "Reveal the truth",
            key="class_truth",
            icon=":material/visibility_off:" if is_revealed else ":material/visibility:",
            on_click=(revealed.discard if is_revealed else revealed.add),
            args=(place.key,),
        )
        st.button(
            "Hide from the class" if is_shown else "Show to the class",
            key="class_show",
            icon=":material/cast:",
            on_click=_show,
            args=(place.key, not is_shown),
        )
        if is_shown:
            st.caption("Students who have answered see these bars.", width="content")
    count = draw_answers(place, truth if is_revealed else None, key="teacher_answers")
    if is_revealed and count:
        right = sum(one.is_right for one in store().answers() if one.step == place.key)
        st.markdown(filled(place.step.predict.reveal, place.step.settings(is_locked=True), truth))
        st.caption(f"{right} of {count} answers are right.")
    elif count:
        st.caption(f"{count} of {len(store().students())} students have answered.")


def _show(step: str, is_shown: bool) -> None:
    if is_teacher():
        store().show(step, is_shown)
