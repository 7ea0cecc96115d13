"""Predict, then reveal: a question whose answer is locked before the truth is computed."""

import math
from collections.abc import Callable

import streamlit as st

from pages.kit.chart import draw_chart
from pages.kit.charts.guess_axis import guess_axis
from pages.kit.charts.ink import INKS
from pages.kit.charts.words import short
from pages.kit.classroom.answers import draw_for_student
from pages.kit.classroom.shared import visitor
from pages.kit.classroom.store import store
from pages.kit.inert import plain
from pages.kit.lesson.chapter import Fact, Kind, Prediction, number_in
from pages.kit.lesson.facts import filled, truth_of
from pages.kit.lesson.library import Place
from pages.kit.shell import theme

LABEL = "Your prediction"
POSITIONS = 101  # the positions of the slider of an axis
_WRONG, _LOCKED = "_lesson_wrong_answer", "_lesson_just_locked"


def draw_prediction(place: Place, predict: Prediction, show_truth: Callable[[], None]) -> None:
    """Ask, or show the answer and the truth. `show_truth` brings the page to where it shows the truth."""
    answer = answer_at(place)
    if answer is None:
        _ask(place, predict, show_truth)
    else:
        _reveal(place, predict, answer)


def _ask(place: Place, predict: Prediction, show_truth: Callable[[], None]) -> None:
    key = f"lesson_answer_{place.key.replace('.', '_')}"

    def locked() -> None:
        given = st.session_state.get(key)
        if complaint := _complaint(predict, given):
            st.session_state[_WRONG] = complaint
            return
        lock(place, given if isinstance(given, str) else f"{given:.6g}")
        st.session_state[_LOCKED] = place.key
        show_truth()

    question = filled(predict.ask, place.step.settings(is_locked=False))
    with st.form(f"{key}_form", border=False):
        st.container(key="lesson_ask").markdown(question)
        _draw_field(predict, key)
        st.form_submit_button("Lock my answer", type="primary", on_click=locked)
    if complaint := st.session_state.pop(_WRONG, None):
        st.warning(complaint)


def _complaint(predict: Prediction, given: object) -> str | None:
    if given is None or (predict.kind is Kind.AXIS and given == positions(predict)[0]):
        return "Give an answer first. A guess is good enough."
    if predict.kind is not Kind.NUMBER or not isinstance(given, float | int):
        return None
    if predict.low is not None and given < predict.low:
        return f"Too small: the answer is {in_unit(predict.low, predict)} or more."
    if predict.high is not None and given > predict.high:
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
        ends = f"from {in_unit(stops[0], predict)} to {in_unit(stops[-1], predict)}"
        _draw_axis(predict, f"An axis for the answer, {ends}.")


def just_locked(place: Place) -> bool:
    return st.session_state.get(_LOCKED) == place.key


def forget_locking() -> None:
    st.session_state.pop(_LOCKED, None)


def positions(predict: Prediction) -> list[float]:
    low, high = predict.low, predict.high
    parts = [place / (POSITIONS - 1) for place in range(POSITIONS)]
    if not predict.is_log:
        return [float(f"{low + (high - low) * part:.6g}") for part in parts]
    return [float(f"{math.exp(math.log(low) + math.log(high / low) * part):.3g}") for part in parts]


def _reveal(place: Place, predict: Prediction, answer: str) -> None:
    truth = truth_of(place.step)
    is_right = predict.is_right(answer, truth)
    box, icon = (st.success, ":material/check:") if is_right else (st.info, ":material/compare_arrows:")
    box(verdict(predict, answer, truth), icon=icon)
    if predict.kind is Kind.AXIS and (guess := number_in(answer)) is not None:
        says = f"you said {in_unit(guess, predict)}, the page computes {in_unit(truth, predict)}"
        _draw_axis(predict, f"An axis with two points: {says}.", (guess, float(truth)))
    st.markdown(filled(predict.reveal, place.step.settings(is_locked=True), truth))
    draw_for_student(place, truth)


def _draw_axis(predict: Prediction, alt: str, points: tuple[float, float] | None = None) -> None:
    spec = guess_axis(
        predict.low, predict.high, predict.unit, INKS[theme()], is_log=predict.is_log, points=points
    )
    draw_chart(spec, place=st, key="lesson_points" if points else "lesson_axis", alt=plain(alt))


_REFUSED = "_lesson_answers"
_DIGITS, _RATIO = 3, "times"


def answer_at(place: Place) -> str | None:
    """This visitor's locked answer; None before it is locked, and where nothing is asked."""
    if place.step.predict is None:
        return None
    return store().answer_of(visitor(), place.key) or st.session_state.get(_REFUSED, {}).get(place.key)


def lock(place: Place, answer: str) -> None:
    """Keep an answer for good. A full store keeps no more: then the session does."""
    predict = place.step.predict
    if predict is None or answer_at(place) is not None:
        return
    is_right = predict.is_right(answer, truth_of(place.step))
    store().save_answer(visitor(), place.key, answer, is_right)
    if store().answer_of(visitor(), place.key) is None:
        st.session_state.setdefault(_REFUSED, {})[place.key] = answer


def verdict(predict: Prediction, answer: str, truth: Fact) -> str:
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
    return f"{short(value, _DIGITS)} {predict.unit}".strip()


def _distance(guess: float, truth: float, predict: Prediction) -> str:
    side = "too low" if guess < truth else "too high"
    if predict.close_factor is not None and guess * truth > 0:
        return f"{side} by a factor of {short(max(guess / truth, truth / guess), 2)}"
    apart = abs(guess - truth)
    # A difference of two ratios is no ratio: it has no unit.
    if predict.unit.startswith(_RATIO):
        return f"{side} by {short(apart, _DIGITS)}"
    return f"{in_unit(apart, predict)} {side}"
