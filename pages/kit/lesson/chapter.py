"""A chapter of the lesson as data: steps beside real pages, and predictions with their truth.

A chapter is a file of `assets/lessons`; `pages.kit.lesson.reading` reads it.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum

from pages.kit.widgets import Value

Fact = float | int | str
"""A figure, or a word, that a page computes."""


class Kind(Enum):
    """The ways to answer: one of several options, a number to type, a point on a drawn axis."""

    CHOICE = "choice"
    NUMBER = "number"
    AXIS = "axis"


@dataclass(frozen=True, kw_only=True)
class Option:
    """An answer to choose. It holds for a number from `low`, included, to `high`, excluded, or for a word."""

    say: str
    low: float | None = None
    high: float | None = None
    word: str | None = None

    def holds(self, truth: Fact) -> bool:
        """True if this option is the right one."""
        if isinstance(truth, str) or self.word is not None:
            return self.word == truth
        return (self.low is None or self.low <= truth) and (self.high is None or truth < self.high)


@dataclass(frozen=True, kw_only=True)
class Prediction:
    """A question before the truth.

    `truth` names a fact. `then` are settings that the page takes once the answer is locked; the truth is
    computed with them. `close` (a difference) or `close_factor` (a ratio) says how near a number must be.
    """

    ask: str
    kind: Kind
    truth: str
    reveal: str
    options: tuple[Option, ...] = ()
    low: float | None = None
    high: float | None = None
    unit: str = ""
    is_log: bool = False
    close: float | None = None
    close_factor: float | None = None
    then: Mapping[str, Value] = field(default_factory=dict)

    def is_right(self, answer: str, truth: Fact) -> bool:
        """True if an answer, as the store keeps it, is the truth or near enough to it."""
        if self.kind is Kind.CHOICE:
            return any(option.say == answer and option.holds(truth) for option in self.options)
        guess = number_in(answer)
        if guess is None or isinstance(truth, str):
            return False
        if self.close is not None:
            return abs(guess - truth) <= self.close
        if guess * truth <= 0:
            return guess == truth
        return abs(math.log(guess / truth)) <= math.log(self.close_factor or 1.0) + 1e-9


@dataclass(frozen=True, kw_only=True)
class Step:
    """A text beside the page `page`, whose controls are at `set`, and all others at their default."""

    title: str
    page: str
    set: Mapping[str, Value]
    text: str
    do: str
    predict: Prediction | None = None

    def settings(self, is_locked: bool) -> Mapping[str, Value]:
        """What the step sets on its page, before and after the answer is locked."""
        if self.predict is None or not is_locked:
            return self.set
        return {**self.set, **self.predict.then}


@dataclass(frozen=True, kw_only=True)
class Chapter:
    """Some steps, in order. `after` names the chapters that one should have done before."""

    name: str
    title: str
    minutes: int
    steps: tuple[Step, ...]
    after: tuple[str, ...] = ()


def number_in(answer: str) -> float | None:
    """The finite number that an answer writes; None where it writes none."""
    try:
        value = float(answer)
    except ValueError:
        return None
    return value if math.isfinite(value) else None
