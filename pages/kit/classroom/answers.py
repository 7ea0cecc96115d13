"""A class's answers to a step, as squares in rows of options, or over an axis."""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape

import streamlit as st

from pages.kit.charts.words import short
from pages.kit.classroom.shared import shared
from pages.kit.classroom.store import Round, store
from pages.kit.lesson.chapter import Fact, Kind, Prediction, number_in
from pages.kit.lesson.library import Place

POLL_S = 2.0
_COUNTS_KEY = "_class_answers_drawn"


def draw_answers(place: Place, number: int, truth: Fact | None) -> None:
    """Draw a square for each answer of round `number`; the round before is pale behind them."""
    predict, answers = place.step.predict, store().answers_to(place.key, number)
    first = store().answers_to(place.key, number - 1)
    bars = histogram(predict, answers, truth, first) if predict else ()
    if not bars:
        st.caption("Nobody has answered yet.")
        return
    counts = [bar.count for bar in bars]
    counts_by_round = st.session_state.setdefault(_COUNTS_KEY, {})
    before = counts_by_round.get((place.key, number), counts)
    counts_by_round[place.key, number] = counts
    scale = None if predict.kind is Kind.CHOICE else scale_of(predict, (*answers, *first), truth)
    st.html(rows(bars, before) if scale is None else columns(bars, before, scale, predict.unit, truth))


def turnout(place: Place, vote: Round) -> tuple[int, int]:
    """Count this round's answers, and the students present."""
    answered = len(store().answers_to(place.key, vote.number))
    return answered, max(answered, len(shared().present()))


def dots(answered: int, here: int) -> str:
    each = "<i></i>" * answered + "<i class=open></i>" * (here - answered)
    return f'<div class="turnout" aria-hidden="true">{each}</div>'


@dataclass(frozen=True, kw_only=True)
class Bar:
    words: str
    count: int
    holds: bool = False
    first: int = 0  # answers of the round before


def rows(bars: Sequence[Bar], before: Sequence[int]) -> str:
    each = "".join(
        f'<div{" class=holds" * bar.holds}><span class="of">{escape("✓ " * bar.holds + bar.words)}</span>'
        f'<span class="all"><span>{_squares(bar, old)}'
        f'<b style="--more:{max(0, bar.first - bar.count)}">{bar.count}</b></span></span></div>'
        for bar, old in zip(bars, before, strict=False)
    )
    look = f'class="answers{_two(bars)}" style="--most:{_most(bars)}"'
    return f'<div {look} role="img" aria-label="{escape(alt_text(bars))}">{each}{_key(bars)}</div>'


def columns(bars: Sequence[Bar], before: Sequence[int], scale: "Scale", unit: str, truth: Fact | None) -> str:
    each = "".join(f"<span>{_squares(bar, old)}</span>" for bar, old in zip(bars, before, strict=False))
    line = ""
    if isinstance(truth, float | int):
        at, side = scale.at(truth), "left" if scale.at(truth) > 0.5 else "right"
        line = f'<em class="{side}" style="left:{at:.1%}"><b>{short(truth, _DIGITS)} {escape(unit)}</b></em>'
    look = f'class="columns{_two(bars)}" style="--most:{_most(bars)}"'
    return (
        f'<div {look} role="img" aria-label="{escape(alt_text(bars))}">'
        f'<div class="bins">{each}{line}</div>{scale.html()}<p>{escape(unit)}</p>{_key(bars)}</div>'
    )


def guesses(scale: "Scale", values: Mapping[str, float]) -> str:
    rows = ""
    for words, value in values.items():
        at = scale.at(value)
        side = "left" if at > 0.5 else "right"
        rows += f'<div class="guess {side}" style="--at:{at:.1%}"><i></i><b>{escape(words)}</b></div>'
    return rows + scale.html()


def _most(bars: Sequence[Bar]) -> int:
    return max(1, *(max(bar.count, bar.first) for bar in bars))


def _two(bars: Sequence[Bar]) -> str:
    return " two" * any(bar.first for bar in bars)


def _key(bars: Sequence[Bar]) -> str:
    return '<p class="rounds"><u></u>before talking<i></i>after talking</p>' * bool(_two(bars))


def _squares(bar: Bar, before: int) -> str:
    old = min(bar.count, before)
    pale = f'<u style="--first:{bar.first}"></u>' * bool(bar.first)
    return pale + "<i></i>" * old + "<i class=new></i>" * (bar.count - old)


def alt_text(bars: Sequence[Bar]) -> str:
    bars_in_words = (
        [bar for bar in bars if bar.count or bar.first or bar.holds] if len(bars) == RANGES else bars
    )
    alt = "; ".join(
        f"{bar.words}{' (the truth)' * bar.holds}: {bar.count}"
        + (f", before talking {bar.first}" if bar.first else "")
        for bar in bars_in_words
    )
    return f"The answers of the class. {alt}."


RANGES = 24
OTHER = "another answer"
_WIDE = 20.0  # the ratio of the ends from which on ranges grow by a factor
_DIGITS = 3
_TICKS = 7
_END = 0.04


@dataclass(frozen=True)
class Scale:
    low: float
    high: float
    is_log: bool

    def at(self, value: float) -> float:
        """Position of a value from 0 to 1, clamped."""
        if self.is_log:
            part = math.log(max(value, self.low) / self.low) / math.log(self.high / self.low)
        else:
            part = (value - self.low) / (self.high - self.low)
        return min(max(part, 0.0), 1.0)

    def value(self, part: float) -> float:
        if self.is_log:
            return self.low * math.exp(math.log(self.high / self.low) * part)
        return self.low + (self.high - self.low) * part

    def html(self) -> str:
        each = ""
        for value in self.ticks():
            at = self.at(value)
            end = " class=first" * (at < _END) or " class=last" * (at > 1 - _END)
            each += f'<span{end} style="left:{at:.1%}">{_tick(value)}</span>'
        return f'<div class="ticks">{each}</div>'

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


def _tick(value: float) -> str:
    size, letter = (1e6, "M") if value >= 1e6 else (1e3, "k") if value >= 1e3 else (1, "")
    return f"{short(value / size, _DIGITS)}{letter}"


def scale_of(predict: Prediction, answers: Sequence[str], truth: Fact | None) -> Scale | None:
    """Axis between the question's ends, else around the answers; None without any."""
    values = [value for value in map(number_in, answers) if value is not None]
    ends = [end for end in (predict.low, predict.high) if end is not None]
    points = (
        ends if len(ends) == 2 else [*ends, *values, *([truth] if isinstance(truth, float | int) else [])]
    )
    if not points:
        return None
    low, high = min(points), max(points)
    if low == high:
        low, high = low - abs(low) / 2 - 1e-9, high + abs(high) / 2 + 1e-9
    return Scale(low, high, low > 0 and (predict.is_log or high / low > _WIDE))


def powers_of_ten(low: float, high: float) -> list[float]:
    exponents = range(math.ceil(math.log10(low)), math.floor(math.log10(high)) + 1)
    return [10.0**exponent for exponent in exponents] if len(exponents) > 1 else [low, high]


def histogram(
    predict: Prediction, answers: Sequence[str], truth: Fact | None = None, first: Sequence[str] = ()
) -> tuple[Bar, ...]:
    if predict.kind is Kind.CHOICE:
        return _by_option(predict, answers, truth, first)
    return _by_range(predict, answers, None if isinstance(truth, str) else truth, first)


def _by_option(
    predict: Prediction, answers: Sequence[str], truth: Fact | None, first: Sequence[str]
) -> tuple[Bar, ...]:
    counts, before = Counter(answers), Counter(first)
    bars = [
        Bar(
            words=option.say,
            count=counts.pop(option.say, 0),
            holds=truth is not None and option.holds(truth),
            first=before.pop(option.say, 0),
        )
        for option in predict.options
    ]
    rest = Bar(words=OTHER, count=counts.total(), first=before.total())
    return tuple(bars + [rest] * (rest.count + rest.first > 0))


def _by_range(
    predict: Prediction, answers: Sequence[str], truth: float | None, first: Sequence[str]
) -> tuple[Bar, ...]:
    scale = scale_of(predict, (*answers, *first), truth)
    if scale is None:
        return ()
    counts, before = (
        Counter(scale.range_of(value) for value in map(number_in, which) if value is not None)
        for which in (answers, first)
    )
    edges = [short(scale.value(number / RANGES), _DIGITS) for number in range(RANGES + 1)]
    unit = f" {predict.unit}" if predict.unit else ""
    return tuple(
        Bar(
            words=f"{edges[number]} to {edges[number + 1]}{unit}",
            count=counts[number],
            holds=truth is not None and number == scale.range_of(truth),
            first=before[number],
        )
        for number in range(RANGES)
    )
