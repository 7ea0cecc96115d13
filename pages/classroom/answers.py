"""The answers to one step as they come in: hidden until the teacher reveals or shows them."""

import csv
import io
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime

import streamlit as st

from pages.classroom.door import draw_join, is_teacher
from pages.kit.classroom.answers import POLL_S, draw_answers
from pages.kit.classroom.shared import shared
from pages.kit.classroom.store import Answer, store
from pages.kit.inert import plain
from pages.kit.lesson.chapter import number_in
from pages.kit.lesson.facts import filled, truth_of
from pages.kit.lesson.library import Place, library
from pages.kit.view import stage
from pages.kit.widgets import Choice, ChoiceStyle, Text

LINK_LONGEST = 300
NO_STEP = "none"

LINK = Text(
    key="link",
    label="Address of the class",
    longest=LINK_LONGEST,
    default="",
    help="What the class types or scans. Empty: as this page guesses it.",
)


def step_control(steps: Mapping[str, str]) -> Choice[str]:
    options = dict(steps) or {NO_STEP: "No step of the lesson asks anything"}
    return Choice(
        key="step",
        label="Step",
        options=options,
        default=next(iter(options)),
        style=ChoiceStyle.SELECT,
        help="The steps of the lesson that ask for a prediction.",
    )


_REVEALED_KEY = "_class_revealed"


def asking() -> dict[str, Place]:
    return {place.key: place for place in library().places if place.step.predict is not None}


def title(place: Place) -> str:
    return f"{place.words}: {place.step.title}"


def question(place: Place) -> str:
    try:
        return filled(place.step.predict.ask, place.step.settings(is_locked=False))
    except ValueError as wrong:
        return plain(f"This step cannot be shown: {wrong}.")


@st.fragment(run_every=POLL_S)
def draw_count(place: Place | None) -> None:
    if place is not None:
        count = len(store().answers_to(place.key))
        here = max(count, len(shared().present()))
        st.markdown(f"{place.words}: **{count} of {here}** have answered.")


def draw_step(place: Place | None, link: str) -> None:
    row = stage().container(horizontal=True, gap="large")
    with row.container():
        if place is not None:
            _draw_answers(place)
    with row.container(width=230):
        draw_join(link, pixels=100)


@st.fragment(run_every=POLL_S)
def _draw_answers(place: Place) -> None:
    revealed: set[str] = st.session_state.setdefault(_REVEALED_KEY, set())
    is_revealed, is_shown = place.key in revealed, store().is_shown(place.key)
    try:
        truth = truth_of(place.step)
    except ValueError:
        return
    draw_answers(place, truth if is_revealed else None)
    with st.container(horizontal=True, vertical_alignment="center"):
        st.button(
            "Hide the truth" if is_revealed else "Reveal the truth",
            key="class_truth",
            type="secondary" if is_revealed else "primary",
            on_click=(revealed.discard if is_revealed else revealed.add),
            args=(place.key,),
        )
        st.button(
            "Hide from the class" if is_shown else "Show to the class",
            key="class_show",
            on_click=_show,
            args=(place.key, not is_shown),
        )
        if is_shown:
            st.caption("Students who have answered see these squares.", width="content")
    if is_revealed:
        answers = [one for one in store().answers() if one.step == place.key]
        right = sum(one.is_right for one in answers)
        st.markdown(filled(place.step.predict.reveal, place.step.settings(is_locked=True), truth))
        st.caption(f"{right} of {len(answers)} answers are right.")


def _show(step: str, is_shown: bool) -> None:
    if is_teacher():
        store().show(step, is_shown)


HEAD = ("step", "answer", "right", "time", "student")
_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "|", "%")


def draw_export() -> None:
    st.download_button(
        "Answers as CSV",
        data=lambda: csv_of(store().answers()),
        file_name="class.csv",
        mime="text/csv",
        icon=":material/download:",
        on_click="ignore",
        key="class_csv",
    )


def csv_of(answers: Iterable[Answer]) -> bytes:
    """The answers, a line each, times in UTC. A spreadsheet takes none of them for a formula."""
    text = io.StringIO(newline="")
    table = csv.writer(text)
    table.writerow(HEAD)
    for one in answers:
        when = datetime.fromtimestamp(one.time, UTC).isoformat(timespec="seconds")
        right = "yes" if one.is_right else "no"
        table.writerow([inert(one.step), inert(one.answer), right, when, one.student])
    # The mark at the start tells Excel that this is UTF-8.
    return text.getvalue().encode("utf-8-sig", errors="replace")


def inert(text: str) -> str:
    """The text, with an apostrophe before what a spreadsheet would compute. A number stays one."""
    return f"'{text}" if text.startswith(_FORMULA) and number_in(text) is None else text
