"""The answers of a class to one step, counted: by option, or by range of a number."""

import math
from collections import Counter
from collections.abc import Sequence
from itertools import pairwise

from pages.kit.charts.words import short
from pages.kit.classroom.squares import Bar
from pages.kit.lesson.chapter import Fact, Kind, Prediction, number_in

RANGES = 8
OTHER = "another answer"
_WIDE = 20.0
"""The ratio of the ends from which on ranges grow by a factor."""
_DIGITS = 2


def histogram(predict: Prediction, answers: Sequence[str], truth: Fact | None = None) -> tuple[Bar, ...]:
    """The bars of the answers. The truth is marked where it is given."""
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
    """The ends of the ranges, even in the value or in its logarithm."""
    if low == high:
        low, high = low - abs(low) / 2 - 1e-9, high + abs(high) / 2 + 1e-9
    parts = [step / RANGES for step in range(RANGES + 1)]
    if low > 0 and (is_log or high / low > _WIDE):
        return [low * math.exp(math.log(high / low) * part) for part in parts]
    return [low + (high - low) * part for part in parts]


def _place(value: float, edges: Sequence[float]) -> int:
    """The range that a value falls into; the first or the last one for a value beyond."""
    return min(max(sum(edge <= value for edge in edges) - 1, 0), len(edges) - 2)
