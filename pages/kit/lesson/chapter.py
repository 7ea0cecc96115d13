"""A chapter of the lesson: steps beside real pages, predictions with their truth; and how its file is read.

A chapter is a file of `assets/lessons`. `pages.kit.lesson.check` asks the pages as well.
"""

import math
import re
import tomllib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path
from typing import Any

from kernels.paths import TOP
from pages.kit.widgets import Value

LESSONS = TOP / "assets" / "lessons"
# The most words of a text and of a sentence, the most minutes, and the fewest and most steps
WORDS, SENTENCE, MINUTES, STEPS = 80, 25, 12, (3, 6)
FILE_NAME = re.compile(r"\d\d_([a-z][a-z0-9_]*)\.toml")
_TYPED_FIGURE = re.compile(r"(?<![\w.{])\d[\d.,]*\s?(?:%|dB\b|TFLOP)")
_MATH = re.compile(r"\$[^$]*\$")
_SENTENCE_ENDS = re.compile(r"(?<=[.?!;:])\s+|\n\s*\n|\n(?=[-*] )")

Fact = float | int | str  # a figure, or a word, that a page computes


class Kind(Enum):
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


@dataclass(frozen=True)
class Read:
    chapter: Chapter | None
    complaints: tuple[str, ...]


def read_chapter(path: Path) -> Read:
    """The chapter of a file. Never raises for what the file says."""
    named = FILE_NAME.fullmatch(path.name)
    if named is None:
        return Read(None, (f"{path.name}: a chapter's file is named as 03_scaling.toml.",))
    try:
        table = tomllib.loads(path.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as wrong:
        return Read(None, (f"{path.name}: this is no TOML: {wrong}.",))
    except OSError as wrong:
        return Read(None, (f"{path.name}: it cannot be read: {wrong.strerror}.",))
    complaints = tuple(f"{place}, `{name}`: {fault}." for place, name, fault in _faults(path.name, table))
    return Read(None if complaints else _chapter(named[1], table), complaints)


_SHOWN = 40  # letters of a wrong value


@dataclass(frozen=True)
class Field:
    """One field: the values that it takes, in code and in words; an optional one may be left out."""

    accepts: Callable[[object], bool]
    needs: str
    optional: bool = False


def _problems(entry: Mapping[str, object], fields: Mapping[str, Field]) -> Iterator[tuple[str, str]]:
    """Each field that is missing, unknown or has a wrong value, and the rest of a sentence about it."""
    for name, one in fields.items():
        if name not in entry:
            if not one.optional:
                yield name, f"is missing, and needs {one.needs}"
        elif not one.accepts(entry[name]):
            yield name, f"needs {one.needs}, got {_shown(entry[name])}"
    for name in entry:
        if name not in fields:
            yield _shown(name)[1:-1], f"is no field; the fields are {', '.join(fields)}"


def _shown(value: object) -> str:
    text = repr(value)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"


def _are_names(value: object) -> bool:
    return isinstance(value, list) and all(isinstance(one, str) and one for one in value)


def _is_prose(value: object) -> bool:
    return isinstance(value, str) and bool(value.strip())


def _is_number(value: object) -> bool:
    return type(value) in (int, float) and math.isfinite(value)


def _are_tables(value: object) -> bool:
    return isinstance(value, list) and all(isinstance(one, dict) for one in value)


def _are_settings(value: object) -> bool:
    return isinstance(value, dict) and all(
        type(one) in (str, int, float, bool) or (_are_names(one) and any(one)) for one in value.values()
    )


def _or_none(accepts: Callable[[object], bool], needs: str) -> Field:
    return Field(accepts, needs, optional=True)


_PROSE, _SETTINGS = (
    Field(_is_prose, "text"),
    Field(_are_settings, "controls and their values, as { key = value }"),
)
_NUMBER, _MAYBE = Field(_is_number, "a number"), _or_none(_is_number, "a number")
_CHAPTER = {
    "title": _PROSE,
    "minutes": Field(
        lambda one: type(one) is int and 1 <= one <= MINUTES, f"a whole number from 1 to {MINUTES}"
    ),
    "after": _or_none(_are_names, "a list of chapters"),
    "steps": Field(
        lambda one: _are_tables(one) and STEPS[0] <= len(one) <= STEPS[1], f"{STEPS[0]} to {STEPS[1]} steps"
    ),
}
_STEP = {
    "title": _PROSE,
    "page": _PROSE,
    "set": _or_none(_are_settings, _SETTINGS.needs),
    "text": _PROSE,
    "do": _PROSE,
    "predict": _or_none(lambda one: isinstance(one, dict), "a table"),
}
_ASKED = {
    "ask": _PROSE,
    "kind": Field(lambda one: one in _KINDS, "choice, number or axis"),
    "truth": _PROSE,
    "reveal": _PROSE,
    "then": _STEP["set"],
}
_TYPED = _ASKED | {
    "low": _MAYBE,
    "high": _MAYBE,
    "unit": _or_none(_is_prose, "text"),
    "close": _MAYBE,
    "close_factor": _or_none(lambda one: _is_number(one) and one >= 1, "1 or more"),
}
_KINDS = {
    "choice": _ASKED | {"options": Field(lambda one: _are_tables(one) and len(one) > 1, "2 or more options")},
    "number": _TYPED,
    "axis": _TYPED
    | {"low": _NUMBER, "high": _NUMBER, "log": _or_none(lambda one: isinstance(one, bool), "true or false")},
}
_OPTION = {"say": _PROSE, "from": _MAYBE, "below": _MAYBE, "is": _or_none(_is_prose, "text")}
Fault = tuple[str, str, str]  # a place in a file, the name of a field there, and what is wrong with it


def _faults(file: str, table: Mapping[str, Any]) -> Iterator[Fault]:
    yield from _wrong(file, table, _CHAPTER)
    steps = table.get("steps")
    for number, step in enumerate(steps if _are_tables(steps) else (), 1):
        place = f"{file}, step {number}"
        yield from _wrong(place, step, _STEP)
        yield from _wordy(place, step, "text", "do")
        if isinstance(step.get("predict"), dict):
            yield from _wrong_prediction(f"{place}, predict", step["predict"])


def _wrong(place: str, table: Mapping[str, Any], fields: Mapping[str, Field]) -> Iterator[Fault]:
    return ((place, name, f"it {fault}") for name, fault in _problems(table, fields))


def _wrong_prediction(place: str, table: Mapping[str, Any]) -> Iterator[Fault]:
    wrong = list(_wrong(place, table, _KINDS.get(str(table.get("kind")), _KINDS["choice"])))
    yield from wrong
    yield from _wordy(place, table, "ask", "reveal")
    if wrong:
        return
    if table["kind"] == "choice":
        for number, option in enumerate(table["options"], 1):
            yield from _wrong_option(f"{place}, option {number}", option)
        said = [option.get("say") for option in table["options"]]
        if len(set(said)) < len(said):
            yield place, "options", "two options say the same"
        return
    low, high = table.get("low"), table.get("high")
    if low is not None and high is not None and not low < high:
        yield place, "high", f"it needs more than `low`, {low:g}, got {high:g}"
    if table.get("log") and low <= 0:
        yield place, "log", "it needs a `low` above 0"
    if ("close" in table) == ("close_factor" in table):
        yield place, "close", "give either `close`, a difference, or `close_factor`, a ratio"
    if table.get("close", 0) < 0:
        yield place, "close", f"it needs 0 or more, got {table['close']:g}"


def _wrong_option(place: str, table: Mapping[str, Any]) -> Iterator[Fault]:
    wrong = list(_wrong(place, table, _OPTION))
    yield from wrong
    if not wrong and ("is" in table) == ("from" in table or "below" in table):
        yield place, "say", "an option needs `from`, `below` or both, or `is` alone"
    elif not wrong and not table.get("from", -math.inf) < table.get("below", math.inf):
        yield place, "below", f"it needs more than `from`, {table['from']:g}, got {table['below']:g}"


def _wordy(place: str, table: Mapping[str, Any], *names: str) -> Iterator[Fault]:
    for name, text in ((name, table[name]) for name in names if _is_prose(table.get(name))):
        if (count := len(text.split())) > WORDS:
            yield place, name, f"it has {count} words, and {WORDS} at most can be read beside a picture"
        for sentence in _SENTENCE_ENDS.split(text):
            if (count := len(sentence.split())) > SENTENCE:
                start = " ".join(sentence.split()[:6])
                yield place, name, f"the sentence “{start} …” has {count} words, {SENTENCE} at most"
        if typed := _TYPED_FIGURE.search(_MATH.sub("", text)):
            yield place, name, f"the figure {typed[0]!r} is typed in; name a fact instead"


def _chapter(name: str, table: Mapping[str, Any]) -> Chapter:
    return Chapter(
        name=name,
        title=table["title"].strip(),
        minutes=table["minutes"],
        after=tuple(table.get("after", ())),
        steps=tuple(map(_step, table["steps"])),
    )


def _step(table: Mapping[str, Any]) -> Step:
    return Step(
        set=table.get("set", {}),
        predict=_prediction(table["predict"]) if "predict" in table else None,
        **{name: table[name].strip() for name in ("title", "page", "text", "do")},
    )


def _prediction(table: Mapping[str, Any]) -> Prediction:
    numbers = ("low", "high", "close", "close_factor")
    return Prediction(
        kind=Kind(table["kind"]),
        options=tuple(map(_option, table.get("options", ()))),
        unit=table.get("unit", ""),
        is_log=table.get("log", False),
        then=table.get("then", {}),
        **{name: table[name].strip() for name in ("ask", "truth", "reveal")},
        **{name: float(table[name]) for name in numbers if name in table},
    )


def _option(table: Mapping[str, Any]) -> Option:
    return Option(say=table["say"], low=table.get("from"), high=table.get("below"), word=table.get("is"))
