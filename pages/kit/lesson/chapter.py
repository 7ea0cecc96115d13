"""A chapter of the lesson: steps beside pages, and predictions with their truth.

It is a file of `assets/lessons`, whose tables have the fields of these classes. `pages.kit.lesson.check`
checks it against the pages.
"""

import math
import re
import tomllib
from collections.abc import Iterator
from enum import Enum
from pathlib import Path
from typing import Annotated, Any

import msgspec
from msgspec import Meta

from kernels.paths import TOP

LESSONS = TOP / "assets" / "lessons"
PLANS = "plans.toml"  # the one file there that is no chapter
WORDS, SENTENCE = 80, 25  # the most words of a text and of a sentence
FILE_NAME = re.compile(r"\d\d_([a-z][a-z0-9_]*)\.toml")
_TYPED_FIGURE = re.compile(r"(?<![\w.{])\d[\d.,]*\s?(?:%|dB\b|TFLOP)")
MATH = re.compile(r"\$[^$]*\$")
_SENTENCE_ENDS = re.compile(r"(?<=[.?!;:])\s+|\n\s*\n|\n(?=[-*] )")
_STEP_OF = re.compile(r"\.steps\[(\d+)\]\.?")

Fact = float | int | str  # a figure, or a word, that a page computes
Text = Annotated[str, Meta(min_length=1)]
Settings = dict[str, str | int | float | bool | Annotated[list[Text], Meta(min_length=1)]]


class Kind(Enum):
    CHOICE = "choice"
    NUMBER = "number"
    AXIS = "axis"


class _Table(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A table of a file."""


class Option(_Table, rename={"low": "from", "high": "below", "word": "is"}):
    """An answer to choose. It holds for a number from `low` to below `high`, or for a word."""

    say: Text
    low: float | None = None
    high: float | None = None
    word: Text | None = None

    def __post_init__(self) -> None:
        if (self.word is None) == (self.low is None and self.high is None):
            raise ValueError("an option needs `from`, `below` or both, or `is` alone")
        if self.low is not None and self.high is not None and self.low >= self.high:
            raise ValueError(f"`below` needs more than `from`, {self.low:g}, got {self.high:g}")

    def holds(self, truth: Fact) -> bool:
        if isinstance(truth, str) or self.word is not None:
            return self.word == truth
        return (self.low is None or self.low <= truth) and (self.high is None or truth < self.high)


class Prediction(_Table, rename={"is_log": "log"}):
    """A question before the truth.

    `truth` names a fact, computed with the settings `then`, which the page takes once the answer is locked.
    `close` (a difference) or `close_factor` (a ratio) is the tolerance of a number.
    """

    ask: Text
    kind: Kind
    truth: Text
    reveal: Text
    options: tuple[Option, ...] = ()
    low: float | None = None
    high: float | None = None
    unit: str = ""
    is_log: bool = False
    close: Annotated[float, Meta(ge=0)] | None = None
    close_factor: Annotated[float, Meta(ge=1)] | None = None
    then: Settings = {}

    def __post_init__(self) -> None:
        if self.kind is Kind.CHOICE:
            says = {option.say for option in self.options}
            if not 1 < len(self.options) == len(says) or self.unit:
                raise ValueError(
                    "a choice needs 2 or more `options`, no two that say the same, and no `unit`"
                )
            return
        if (self.close is None) == (self.close_factor is None):
            raise ValueError("give either `close`, a difference, or `close_factor`, a ratio")
        if None not in (self.low, self.high) and self.low >= self.high:
            raise ValueError(f"`high` needs more than `low`, {self.low:g}, got {self.high:g}")
        if self.kind is Kind.AXIS and (None in (self.low, self.high) or (self.is_log and self.low <= 0)):
            raise ValueError("an axis needs `low` and `high`, both above 0 with `log`")

    def is_right(self, answer: str, truth: Fact) -> bool:
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


class Step(_Table):
    """A text beside `page`, whose controls are at `set`, all others at their default."""

    title: Text
    page: Text
    text: Text
    do: Text
    set: Settings = {}
    predict: Prediction | None = None

    def settings(self, is_locked: bool) -> Settings:
        return {**self.set, **self.predict.then} if self.predict is not None and is_locked else self.set


class Chapter(_Table):
    """Steps in order. `after` names chapters to do before."""

    name: str
    title: Text
    minutes: Annotated[int, Meta(ge=1, le=12)]
    steps: Annotated[tuple[Step, ...], Meta(min_length=3, max_length=6)]
    after: tuple[str, ...] = ()


class Plan(_Table):
    """Steps of a class in order, each with its minutes."""

    name: Text
    minutes: Annotated[int, Meta(ge=1)]
    steps: dict[str, Annotated[int, Meta(ge=1)]]

    def __post_init__(self) -> None:
        if (total := sum(self.steps.values())) != self.minutes:
            raise ValueError(f"its steps take {total} minutes together, and `minutes` is {self.minutes}")


class _Plans(_Table):
    plans: tuple[Plan, ...]


def chapter_files(folder: Path) -> list[Path]:
    return sorted(path for path in folder.glob("*.toml") if path.name != PLANS)


def read_plans(path: Path) -> tuple[tuple[Plan, ...], list[str]]:
    """Return the plans of a file, and its faults."""
    try:
        return msgspec.convert(tomllib.loads(path.read_text(encoding="utf-8")), _Plans).plans, []
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, msgspec.ValidationError) as wrong:
        return (), [f"{path.name}: {wrong}."]


def number_in(answer: str) -> float | None:
    """Parse a finite number; None without one."""
    try:
        value = float(answer)
    except ValueError:
        return None
    return value if math.isfinite(value) else None


def read_chapter(path: Path) -> tuple[Chapter | None, list[str]]:
    """Return a chapter, or None, and its faults. Never raises for the file's content."""
    name = FILE_NAME.fullmatch(path.name)
    if name is None:
        return None, [f"{path.name}: a chapter's file is named as 03_scaling.toml."]
    try:
        table = tomllib.loads(path.read_text(encoding="utf-8"))
        chapter = msgspec.convert(_stripped(table) | {"name": name[1]}, Chapter)
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as wrong:
        return None, [f"{path.name}: this is no TOML: {wrong}."]
    except OSError as wrong:
        return None, [f"{path.name}: it cannot be read: {wrong.strerror}."]
    except msgspec.ValidationError as wrong:
        fault, _, place = str(wrong).partition(" - at `$")
        step, field = _STEP_OF.match(place), _STEP_OF.sub("", place).strip(".`")
        where = [
            path.name,
            *([f"step {int(step[1]) + 1}"] if step else []),
            *([f"`{field}`"] if field else []),
        ]
        return None, [f"{', '.join(where)}: {fault}."]
    wordy = [f"{path.name}, {fault}." for fault in _wordy(chapter)]
    return None if wordy else chapter, wordy


def _stripped(value: Any) -> Any:
    match value:
        case str():
            return value.strip()
        case dict():
            return {name: _stripped(one) for name, one in value.items()}
        case list():
            return [*map(_stripped, value)]
    return value


def _wordy(chapter: Chapter) -> Iterator[str]:
    for number, step in enumerate(chapter.steps, 1):
        texts = {"text": step.text, "do": step.do}
        if step.predict is not None:
            texts |= {"predict.ask": step.predict.ask, "predict.reveal": step.predict.reveal}
        for name, text in texts.items():
            place = f"step {number}, `{name}`"
            if (count := len(text.split())) > WORDS:
                yield f"{place}: it has {count} words, and {WORDS} at most can be read beside a picture"
            for sentence in _SENTENCE_ENDS.split(text):
                if (count := len(sentence.split())) > SENTENCE:
                    start = " ".join(sentence.split()[:6])
                    yield f"{place}: the sentence “{start} …” has {count} words, {SENTENCE} at most"
            if figure := _TYPED_FIGURE.search(MATH.sub("", text)):
                yield f"{place}: the figure {figure[0]!r} is typed in; name a fact instead"
