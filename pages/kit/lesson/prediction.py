"""Predict, then reveal: the answer is locked before the truth is computed.

A single reader sees the truth after locking an answer; a class when the teacher reveals it.
"""

import math
from dataclasses import dataclass

import streamlit as st

from pages.kit.charts.words import short
from pages.kit.classroom.answers import POLL_S, Scale, dots, draw_answers, guesses, turnout
from pages.kit.classroom.shared import visitor
from pages.kit.classroom.store import Round, store
from pages.kit.inert import plain
from pages.kit.lesson.chapter import Fact, Kind, Prediction, number_in
from pages.kit.lesson.facts import filled, truth_of
from pages.kit.lesson.library import Place

LABEL = "Your prediction"
POSITIONS = 101  # the positions of the slider of an axis
_COMPLAINT_KEY = "_lesson_wrong_answer"
WAITS = "**Your answer is in.** The teacher reveals the truth."
AGAIN = "The class votes again. Talk to your neighbors, then lock an answer once more."
LATE = "This answer came too late: the class has gone on."


@dataclass(frozen=True)
class Standing:
    """A visitor's answer in this round, and the class's vote, if any."""

    answer: str | None
    vote: Round | None

    @property
    def is_out(self) -> bool:
        return self.answer is not None if self.vote is None else self.vote.is_revealed


def standing(place: Place) -> Standing:
    vote = store().round_of(place.key)
    return Standing(answer_at(place, vote.number if vote else None), vote)


def truth_is_out(place: Place) -> bool:
    return place.step.predict is not None and standing(place).is_out


def draw_prediction(place: Place, predict: Prediction, now: Standing) -> None:
    """Ask, wait for the class, or show the answer beside the truth."""
    if now.is_out:
        _reveal(place, predict, now)
    elif now.answer is None:
        _ask(place, predict, now.vote or Round())
    else:
        st.container(key="lesson_ask").markdown(filled(predict.ask, place.step.settings(is_locked=False)))
        st.markdown(f"You said: **{words_of(predict, now.answer)}**.")
    if complaint := st.session_state.pop(_COMPLAINT_KEY, None):
        st.warning(complaint)
    if now.vote is not None and not now.is_out:
        _wait(place, now)


@st.fragment(run_every=POLL_S)
def _wait(place: Place, before: Standing) -> None:
    if standing(place) != before:
        st.rerun()
    if before.answer is not None and before.vote is not None:
        st.markdown(WAITS)
        answered, here = turnout(place, before.vote)
        st.caption(f"{answered} of {here} have answered.")
        st.html(dots(answered, here))


def _ask(place: Place, predict: Prediction, vote: Round) -> None:
    key = f"lesson_answer_{place.key.replace('.', '_')}"

    def on_lock() -> None:
        answer = st.session_state.get(key)
        if complaint := _complaint(predict, answer):
            st.session_state[_COMPLAINT_KEY] = complaint
        elif not lock(place, answer if isinstance(answer, str) else f"{answer:.6g}", vote):
            st.session_state[_COMPLAINT_KEY] = LATE

    question = filled(predict.ask, place.step.settings(is_locked=False))
    if vote.number > 1:
        first = answer_at(place, vote.number - 1)
        st.info(f"{AGAIN} You said: {words_of(predict, first)}." if first else AGAIN)
    with st.form(f"{key}_form", border=False):
        st.container(key="lesson_ask").markdown(question)
        _draw_field(predict, key)
        st.form_submit_button("Lock my answer", key="lesson_lock", type="primary", on_click=on_lock)


def _complaint(predict: Prediction, answer: object) -> str | None:
    if answer is None or (predict.kind is Kind.AXIS and answer == positions(predict)[0]):
        return "Give an answer first. A guess is good enough."
    if predict.kind is not Kind.NUMBER or not isinstance(answer, float | int):
        return None
    if predict.low is not None and answer < predict.low:
        return f"Too small: the answer is {in_unit(predict.low, predict)} or more."
    if predict.high is not None and answer > predict.high:
        return f"Too large: the answer is {in_unit(predict.high, predict)} or less."
    return None


def _draw_field(predict: Prediction, key: str) -> None:
    if predict.kind is Kind.CHOICE:
        st.radio(LABEL, [option.say for option in predict.options], index=None, key=key)
    elif predict.kind is Kind.NUMBER:
        st.number_input(
            LABEL,
            value=None,
            step=None,
            format="%g",
            placeholder=f"a number of {predict.unit}" if predict.unit else "a number",
            key=key,
        )
    else:
        stops = positions(predict)
        st.select_slider(
            LABEL,
            stops,
            key=key,
            format_func=lambda value: in_unit(value, predict),
        )
        st.html(f'<div class="guesses open" aria-hidden="true">{_scale(predict).html()}</div>')


def positions(predict: Prediction) -> list[float]:
    low, high = predict.low, predict.high
    parts = [place / (POSITIONS - 1) for place in range(POSITIONS)]
    if not predict.is_log:
        return [float(f"{low + (high - low) * part:.6g}") for part in parts]
    return [float(f"{math.exp(math.log(low) + math.log(high / low) * part):.3g}") for part in parts]


def _reveal(place: Place, predict: Prediction, now: Standing) -> None:
    truth, answer = truth_of(place.step), now.answer
    is_right = answer is not None and predict.is_right(answer, truth)
    box, icon = (st.success, ":material/check:") if is_right else (st.info, ":material/compare_arrows:")
    box(verdict(predict, answer, truth), icon=icon)
    if predict.kind is Kind.AXIS and (guess := number_in(answer or "")) is not None:
        axis = guesses(_scale(predict), {"you": guess, "the page": float(truth)})
        st.html(f'<div class="guesses" aria-hidden="true">{axis}</div>')
    st.markdown(filled(predict.reveal, place.step.settings(is_locked=True), truth))
    if now.vote:
        st.markdown("**What the class says**")
        draw_answers(place, now.vote.number, truth)


def _scale(predict: Prediction) -> Scale:
    return Scale(predict.low, predict.high, predict.is_log)


_ANSWERS_KEY = "_lesson_answers"
_DIGITS, _RATIO = 3, "times"


def answer_at(place: Place, number: int | None = None) -> str | None:
    """This visitor's answer in a round, or the last one; None without one."""
    if place.step.predict is None:
        return None
    own_answers = st.session_state.get(_ANSWERS_KEY, {})
    return store().answer_of(visitor(), place.key, number) or own_answers.get((place.key, number or 1))


def lock(place: Place, answer: str, vote: Round) -> bool:
    """Keep an answer for good, in the session if the store is full.

    Returns False if the class has gone on since the reader saw the question.
    """
    predict = place.step.predict
    if predict is None or answer_at(place, vote.number) is not None:
        return True
    is_right = predict.is_right(answer, truth_of(place.step))
    store().save_answer(visitor(), place.key, answer, is_right, vote.number)
    if store().answer_of(visitor(), place.key, vote.number) is not None:
        return True
    has_gone_on = (store().round_of(place.key) or vote) != vote
    if not has_gone_on:
        st.session_state.setdefault(_ANSWERS_KEY, {})[place.key, vote.number] = answer
    return not has_gone_on


def words_of(predict: Prediction, answer: str) -> str:
    guess = number_in(answer)
    return plain(answer) if predict.kind is Kind.CHOICE or guess is None else in_unit(guess, predict)


def verdict(predict: Prediction, answer: str | None, truth: Fact) -> str:
    if predict.kind is Kind.CHOICE:
        holds = next((option.say for option in predict.options if option.holds(truth)), "none of these")
        if answer is None:
            return f"The page says: **{holds}**."
        words = next((option.say for option in predict.options if option.say == answer), plain(answer))
        if predict.is_right(answer, truth):
            return f"**Right.** You said: {words}."
        return f"**Not quite.** You said: {words}. The page says: **{holds}**."
    if answer is None:
        return f"The page computes **{truth if isinstance(truth, str) else in_unit(truth, predict)}**."
    guess = number_in(answer)
    if guess is None or isinstance(truth, str):
        return f"You said: {plain(answer)}."
    both = f"You said {in_unit(guess, predict)}; the page computes **{in_unit(truth, predict)}**."
    if in_unit(guess, predict) == in_unit(truth, predict):
        return f"**Right.** {both}"
    if predict.is_right(answer, truth):
        return f"**Near enough.** {both}"
    return f"**Not quite.** {both} That is {_distance(guess, truth, predict)}."


def in_unit(value: float, predict: Prediction) -> str:
    words = short(value, _DIGITS)
    return f"{words} {predict.unit.removesuffix('s') if words == '1' else predict.unit}".strip()


def _distance(guess: float, truth: float, predict: Prediction) -> str:
    side = "too low" if guess < truth else "too high"
    if predict.close_factor is not None and guess * truth > 0:
        return f"{side} by a factor of {short(max(guess / truth, truth / guess), 2)}"
    apart = abs(guess - truth)
    # A difference of two ratios is no ratio: it has no unit.
    if predict.unit.startswith(_RATIO):
        return f"{side} by {short(apart, _DIGITS)}"
    return f"{in_unit(apart, predict)} {side}"
