"""The answers of the class to a step, as a picture: for the teacher, and for students once it is shown."""

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from itertools import pairwise

import streamlit as st

from pages.kit.charts.words import short
from pages.kit.classroom.store import store
from pages.kit.lesson.chapter import Fact, Kind, Prediction, number_in
from pages.kit.lesson.library import Place

POLL_S = 2.0


def draw_answers(place: Place, truth: Fact | None) -> None:
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


@dataclass(frozen=True, kw_only=True)
class Bar:
    words: str
    count: int
    holds: bool = False


def squares(bars: Sequence[Bar]) -> str:
    """The rows, from the top; the one that holds is marked by a line and in words."""
    rows, alt = "".join(map(_row, bars)), escape(alt_text(bars))
    return f'<div class="answers" role="img" aria-label="{alt}">{rows}</div>'


def _row(bar: Bar) -> str:
    words = escape(f"✓ {bar.words}" if bar.holds else bar.words)
    return (
        f'<div{" class=holds" * bar.holds}><span class="of">{words}</span>'
        f'<span class="all">{"<i></i>" * bar.count}<b>{bar.count}</b></span></div>'
    )


def alt_text(bars: Sequence[Bar]) -> str:
    alt = "; ".join(f"{bar.words}{' (the truth)' if bar.holds else ''}: {bar.count}" for bar in bars)
    return f"The answers of the class. {alt}."


RANGES = 8
OTHER = "another answer"
_WIDE = 20.0  # the ratio of the ends from which on ranges grow by a factor
_DIGITS = 2


def histogram(predict: Prediction, answers: Sequence[str], truth: Fact | None = None) -> tuple[Bar, ...]:
    if predict.kind is Kind.CHOICE:
        return _by_option(predict, answers, truth)
    return _by_range(predict, answers, None if isinstance(truth, str) else truth)


def _by_option(predict: Prediction, answers: Sequence[str], truth: Fact | None) -> tuple[Bar, ...]:
    """An option each; answers to options that a chapter no longer has come last."""
    counts = Counter(answers)
    bars = [
        Bar(
            words=option.say,
            count=counts.pop(option.say, 0),
            holds=truth is not None and option.holds(truth),
        )
        for option in predict.options
    ]
    rest = counts.total()
    return tuple(bars + [Bar(words=OTHER, count=rest)] * (rest > 0))


def _by_range(predict: Prediction, answers: Sequence[str], truth: float | None) -> tuple[Bar, ...]:
    values = [value for value in map(number_in, answers) if value is not None]
    ends = [end for end in (predict.low, predict.high) if end is not None]
    known = ends if len(ends) == 2 else [*ends, *values, *([] if truth is None else [truth])]
    if not known:
        return ()
    edges = _edges(min(known), max(known), predict.is_log)
    places = Counter(_place(value, edges) for value in values)
    holds = None if truth is None else _place(truth, edges)
    unit = f" {predict.unit}" if predict.unit else ""
    return tuple(
        Bar(
            words=f"{short(low, _DIGITS)} to {short(high, _DIGITS)}{unit}",
            count=places[at],
            holds=at == holds,
        )
        for at, (low, high) in enumerate(pairwise(edges))
    )


def _edges(low: float, high: float, is_log: bool) -> list[float]:
    if low == high:
        low, high = low - abs(low) / 2 - 1e-9, high + abs(high) / 2 + 1e-9
    parts = [step / RANGES for step in range(RANGES + 1)]
    if low > 0 and (is_log or high / low > _WIDE):
        return [low * math.exp(math.log(high / low) * part) for part in parts]
    return [low + (high - low) * part for part in parts]


def _place(value: float, edges: Sequence[float]) -> int:
    return min(max(sum(edge <= value for edge in edges) - 1, 0), len(edges) - 2)
