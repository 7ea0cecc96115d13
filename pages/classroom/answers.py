"""The answers to one step as they come in, and the truth once the teacher reveals it."""

import csv
import io
from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime

import streamlit as st

from pages.classroom.door import by_teacher
from pages.kit.charts.ink import DARK
from pages.kit.classroom.answers import POLL_S, draw_answers, turnout
from pages.kit.classroom.store import ROUNDS, Answer, Round, store
from pages.kit.inert import plain
from pages.kit.lesson.chapter import Fact, number_in
from pages.kit.lesson.facts import filled, truth_of
from pages.kit.lesson.library import Place, library
from pages.kit.lesson.pictures import draw_step_picture
from pages.kit.view import page_ink
from pages.kit.widgets import Choice, Select

NO_STEP = "none"


def step_control(steps: Mapping[str, str]) -> Choice[str]:
    options = dict(steps) or {NO_STEP: "No step of the lesson asks anything"}
    return Select(
        key="step",
        label="Step",
        options=options,
        help="The steps of the lesson that ask for a prediction.",
    )


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
    vote = store().round_of(place.key) if place else None
    if place is None or vote is None:
        return
    answers, here = turnout(place, vote)
    again = ", after talking" * (vote.number > 1)
    st.markdown(f"**{answers}** of {here} have answered{again}.")


@st.fragment(run_every=POLL_S)
def draw_step(place: Place, go_on: Callable[[Place], None]) -> None:
    vote = store().round_of(place.key)
    try:
        truth = truth_of(place.step)
    except ValueError:
        return
    if vote is None:
        return
    votes, beside = st.columns(2, gap="medium")
    with votes:
        if vote.is_revealed:
            _draw_next(place, go_on)
        else:
            _draw_moves(place, vote)
        draw_answers(place, vote.number, truth if vote.is_revealed else None)
    with beside:
        if vote.is_revealed:
            _draw_truth(place, vote, truth)
        else:
            draw_step_picture(place, "step-picture dark" if page_ink() is DARK else "step-picture")
        label = "See it on its page →" if vote.is_revealed else "Open this page →"
        st.page_link(f"pages/{place.step.page}.py", label=label, query_params={"lesson": place.key})


def _draw_moves(place: Place, vote: Round) -> None:
    with st.container(horizontal=True, vertical_alignment="center"):
        of_vote = (place.key, vote.number)
        reveal, again = by_teacher(store().reveal), by_teacher(store().vote_again)
        st.button("Reveal the truth", key="class_truth", type="primary", on_click=reveal, args=of_vote)
        if vote.number < ROUNDS:
            st.button("Vote again", key="class_again", on_click=again, args=of_vote, help=AGAIN)


def _draw_truth(place: Place, vote: Round, truth: Fact) -> None:
    st.markdown(filled(place.step.predict.reveal, place.step.settings(is_locked=True), truth))
    number, answers = store().number, store().answers()
    answers = [one for one in answers if one.step == place.key and one.class_number == number]
    for number in range(1, vote.number + 1):
        right = [one.is_right for one in answers if one.round == number]
        when = "" if vote.number == 1 else "Before talking, " if number == 1 else "After talking, "
        st.caption(f"{when}{sum(right)} of {len(right)} answers are right.")


def _draw_next(place: Place, go_on: Callable[[Place], None]) -> None:
    after, plan = place, library().plan(store().plan)
    while (after := library().moved(after, 1, plan)) is not None:
        if after.step.predict is not None:
            label = f"Next: {after.step.title}"
            if st.button(label, key="class_next", type="primary", on_click=go_on, args=(after,)):
                st.rerun()
            return


AGAIN = "Let the class talk, then answer once more. Both votes are kept."


HEAD = ("class", "step", "round", "answer", "right", "time", "student")
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
    """The answers, a line each, times in UTC; none is a formula to a spreadsheet."""
    text = io.StringIO(newline="")
    table = csv.writer(text)
    table.writerow(HEAD)
    for one in answers:
        when = datetime.fromtimestamp(one.time, UTC).isoformat(timespec="seconds")
        right = "yes" if one.is_right else "no"
        row = [one.class_number, inert(one.step), one.round, inert(one.answer), right, when, one.student]
        table.writerow(row)
    # The mark at the start tells Excel that this is UTF-8.
    return text.getvalue().encode("utf-8-sig", errors="replace")


def inert(text: str) -> str:
    """The text, with an apostrophe before a spreadsheet's formula. A number stays one."""
    return f"'{text}" if text.startswith(_FORMULA) and number_in(text) is None else text
