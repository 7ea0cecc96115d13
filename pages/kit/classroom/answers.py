"""The answers of the class to a step, as a picture: squares in rows of options, or over an axis."""

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

import streamlit as st

from pages.kit.charts.guess_axis import powers_of_ten
from pages.kit.charts.words import short
from pages.kit.classroom.shared import shared
from pages.kit.classroom.store import Round, store
from pages.kit.lesson.chapter import Fact, Kind, Prediction, number_in
from pages.kit.lesson.library import Place

POLL_S = 2.0
_DRAWN = "_class_answers_drawn"


def draw_answers(place: Place, number: int, truth: Fact | None) -> None:
    """Draw a square for each answer of the round `number`. One that has come since falls into its place."""
    predict, answers = place.step.predict, store().answers_to(place.key, number)
    bars = histogram(predict, answers, truth) if predict else ()
    if not bars:
        st.caption("Nobody has answered yet.")
        return
    counts = [bar.count for bar in bars]
    drawn = st.session_state.setdefault(_DRAWN, {})
    before = drawn.get((place.key, number), counts)
    drawn[place.key, number] = counts
    scale = None if predict.kind is Kind.CHOICE else scale_of(predict, answers, truth)
    st.html(rows(bars, before) if scale is None else columns(bars, before, scale, predict.unit, truth))


def turnout(place: Place, vote: Round) -> tuple[int, int]:
    """How many have answered in this round, and of how many."""
    answered = len(store().answers_to(place.key, vote.number))
    return answered, max(answered, len(shared().present()))


def dots(answered: int, here: int) -> str:
    """A dot for each of the class, filled where an answer has come."""
    each = "<i></i>" * answered + "<i class=open></i>" * (here - answered)
    return f'<div class="turnout" aria-hidden="true">{each}</div>'


@dataclass(frozen=True, kw_only=True)
class Bar:
    words: str
    count: int
    holds: bool = False


def rows(bars: Sequence[Bar], before: Sequence[int]) -> str:
    """An option a row, from the top; the one that holds is marked by a line and in words."""
    each = "".join(
        f'<div{" class=holds" * bar.holds}><span class="of">{escape("✓ " * bar.holds + bar.words)}</span>'
        f'<span class="all">{_squares(bar, old)}<b>{bar.count}</b></span></div>'
        for bar, old in zip(bars, before, strict=False)
    )
    return f'<div class="answers" role="img" aria-label="{escape(alt_text(bars))}">{each}</div>'


def columns(bars: Sequence[Bar], before: Sequence[int], scale: "Scale", unit: str, truth: Fact | None) -> str:
    """Columns over an axis; the truth is a line with its value."""
    most = max(1, *(bar.count for bar in bars))
    each = "".join(f"<span>{_squares(bar, old)}</span>" for bar, old in zip(bars, before, strict=False))
    ticks = "".join(
        f'<span style="left:{scale.at(value):.1%}">{short(value, _DIGITS)}</span>' for value in scale.ticks()
    )
    line = ""
    if isinstance(truth, float | int):
        at, side = scale.at(truth), "left" if scale.at(truth) > 0.5 else "right"
        line = f'<em class="{side}" style="left:{at:.1%}"><b>{short(truth, _DIGITS)} {escape(unit)}</b></em>'
    return (
        f'<div class="columns" style="--most:{most}" role="img" aria-label="{escape(alt_text(bars))}">'
        f'<div class="bins">{each}{line}</div><div class="ticks">{ticks}</div><p>{escape(unit)}</p></div>'
    )


def _squares(bar: Bar, before: int) -> str:
    old = min(bar.count, before)
    return "<i></i>" * old + "<i class=new></i>" * (bar.count - old)


def alt_text(bars: Sequence[Bar]) -> str:
    named = [bar for bar in bars if bar.count or bar.holds] if len(bars) == RANGES else bars
    alt = "; ".join(f"{bar.words}{' (the truth)' if bar.holds else ''}: {bar.count}" for bar in named)
    return f"The answers of the class. {alt}."


RANGES = 24
OTHER = "another answer"
_WIDE = 20.0  # the ratio of the ends from which on ranges grow by a factor
_DIGITS = 3
_TICKS = 7


@dataclass(frozen=True)
class Scale:
    """An axis of answers: an even one, or one of even factors."""

    low: float
    high: float
    is_log: bool

    def at(self, value: float) -> float:
        """Where a value lies, from 0 to 1. One beyond an end lies at that end."""
        if self.is_log:
            part = math.log(max(value, self.low) / self.low) / math.log(self.high / self.low)
        else:
            part = (value - self.low) / (self.high - self.low)
        return min(max(part, 0.0), 1.0)

    def value(self, part: float) -> float:
        if self.is_log:
            return self.low * math.exp(math.log(self.high / self.low) * part)
        return self.low + (self.high - self.low) * part

    def range_of(self, value: float) -> int:
        return min(int(self.at(value) * RANGES + 1e-9), RANGES - 1)

    def ticks(self) -> list[float]:
        if self.is_log:
            powers = powers_of_ten(self.low, self.high)
            return powers[:: math.ceil(len(powers) / _TICKS)]
        least = (self.high - self.low) / (_TICKS - 1)
        power = 10.0 ** math.floor(math.log10(least) + 1e-9)
        step = next(power * times for times in (1, 2, 5, 10) if power * times >= least * (1 - 1e-9))
        first, last = math.ceil(self.low / step - 1e-9), math.floor(self.high / step + 1e-9)
        return [float(f"{step * number:.6g}") for number in range(first, last + 1)]


def scale_of(predict: Prediction, answers: Sequence[str], truth: Fact | None) -> Scale | None:
    """The axis between the question's ends; where it names none, around the answers. None without any."""
    values = [value for value in map(number_in, answers) if value is not None]
    ends = [end for end in (predict.low, predict.high) if end is not None]
    known = ends if len(ends) == 2 else [*ends, *values, *([truth] if isinstance(truth, float | int) else [])]
    if not known:
        return None
    low, high = min(known), max(known)
    if low == high:
        low, high = low - abs(low) / 2 - 1e-9, high + abs(high) / 2 + 1e-9
    return Scale(low, high, low > 0 and (predict.is_log or high / low > _WIDE))


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
    scale = scale_of(predict, answers, truth)
    if scale is None:
        return ()
    counts = Counter(scale.range_of(value) for value in map(number_in, answers) if value is not None)
    edges = [short(scale.value(number / RANGES), _DIGITS) for number in range(RANGES + 1)]
    unit = f" {predict.unit}" if predict.unit else ""
    return tuple(
        Bar(
            words=f"{edges[number]} to {edges[number + 1]}{unit}",
            count=counts[number],
            holds=truth is not None and number == scale.range_of(truth),
        )
        for number in range(RANGES)
    )
