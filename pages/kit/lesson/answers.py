"""Answers of this visitor: as the class's store keeps them, and in words beside the truth."""

import streamlit as st

from pages.kit.charts.words import short
from pages.kit.classroom.store import store
from pages.kit.classroom.visitor import visitor
from pages.kit.inert import plain
from pages.kit.lesson.chapter import Fact, Kind, Prediction, number_in
from pages.kit.lesson.facts import truth_of
from pages.kit.lesson.library import Place

_REFUSED = "_lesson_answers"
_DIGITS, _RATIO = 3, "times"


def answer_at(place: Place) -> str | None:
    """This visitor's locked answer; None before it is locked, and where nothing is asked."""
    if place.step.predict is None:
        return None
    return store().answer_of(visitor(), place.key) or st.session_state.get(_REFUSED, {}).get(place.key)


def lock(place: Place, answer: str) -> None:
    """Keep an answer for good. A full store keeps no more: then the session does.

    Raises ValueError, a sentence, where the truth cannot be computed.
    """
    predict = place.step.predict
    if predict is None or answer_at(place) is not None:
        return
    is_right = predict.is_right(answer, truth_of(place.step))
    store().save_answer(visitor(), place.key, answer, is_right)
    if store().answer_of(visitor(), place.key) is None:
        st.session_state.setdefault(_REFUSED, {})[place.key] = answer


def verdict(predict: Prediction, answer: str, truth: Fact) -> str:
    """What was said beside what is true, in Markdown."""
    if predict.kind is Kind.CHOICE:
        said = next((option.say for option in predict.options if option.say == answer), plain(answer))
        if predict.is_right(answer, truth):
            return f"**Right.** You said: {said}."
        holds = next((option.say for option in predict.options if option.holds(truth)), "none of these")
        return f"**Not quite.** You said: {said}. The page says: **{holds}**."
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
    """A number with the prediction's unit."""
    return f"{short(value, _DIGITS)} {predict.unit}".strip()


def _distance(guess: float, truth: float, predict: Prediction) -> str:
    """How far off a guess is: as a ratio where ratios count, else as a difference."""
    side = "too low" if guess < truth else "too high"
    if predict.close_factor is not None and guess * truth > 0:
        return f"{side} by a factor of {short(max(guess / truth, truth / guess), 2)}"
    apart = abs(guess - truth)
    # A difference of two ratios is no ratio: it has no unit.
    if predict.unit.startswith(_RATIO):
        return f"{side} by {short(apart, _DIGITS)}"
    return f"{in_unit(apart, predict)} {side}"
