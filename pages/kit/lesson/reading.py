"""Chapters as they stand in `assets/lessons`: TOML in, a chapter or sentences about it out.

Here a chapter is checked by itself. `pages.kit.lesson.check` asks the pages as well.
"""

import re
import tomllib
from dataclasses import dataclass
from pathlib import Path

from kernels.paths import TOP
from pages.kit.lesson.chapter import Chapter, Kind, Option, Prediction, Step
from pages.kit.lesson.fields import Fields

LESSONS = TOP / "assets" / "lessons"
WORDS, SENTENCE, MINUTES, STEPS = 80, 25, 12, (3, 6)
"""The most words of a text and of a sentence, the most minutes, and the fewest and most steps."""
FILE_NAME = re.compile(r"\d\d_([a-z][a-z0-9_]*)\.toml")
_TYPED_FIGURE = re.compile(r"(?<![\w.{])\d[\d.,]*\s?(?:%|dB\b|TFLOP)")
_MATH = re.compile(r"\$[^$]*\$")
_SENTENCE_ENDS = re.compile(r"(?<=[.?!;:])\s+|\n\s*\n|\n(?=[-*] )")


@dataclass(frozen=True)
class Read:
    """What a file gave: a chapter, or None where too little of one is there; and what is wrong."""

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
    complaints: list[str] = []
    chapter = _chapter(named[1], Fields(table, path.name, complaints))
    return Read(chapter if not complaints else None, tuple(complaints))


def _chapter(name: str, fields: Fields) -> Chapter:
    chapter = Chapter(
        name=name,
        title=fields.text("title"),
        minutes=fields.whole("minutes", 1, MINUTES),
        after=fields.words("after"),
        steps=tuple(map(_step, fields.tables("steps", "step"))),
    )
    if not STEPS[0] <= len(chapter.steps) <= STEPS[1]:
        fields.complain("steps", f"a chapter has {STEPS[0]} to {STEPS[1]} steps, got {len(chapter.steps)}")
    fields.end()
    return chapter


def _step(fields: Fields) -> Step:
    predict = fields.table("predict")
    step = Step(
        title=fields.text("title"),
        page=fields.text("page"),
        set=fields.settings("set"),
        text=fields.text("text"),
        do=fields.text("do"),
        predict=None if predict is None else _prediction(predict),
    )
    _check_words(fields, text=step.text, do=step.do)
    fields.end()
    return step


def _prediction(fields: Fields) -> Prediction | None:
    kinds = [kind.value for kind in Kind]
    kind = fields.text("kind")
    if fields.has("kind") and kind not in kinds:
        fields.complain("kind", f"it needs one of {', '.join(kinds)}, got {kind!r}")
    prediction = Prediction(
        ask=fields.text("ask"),
        kind=Kind(kind) if kind in kinds else Kind.CHOICE,
        truth=fields.text("truth"),
        reveal=fields.text("reveal"),
        options=tuple(map(_option, fields.tables("options", "option"))),
        low=fields.number("low"),
        high=fields.number("high"),
        unit=fields.text("unit", ""),
        is_log=fields.truth("log"),
        close=fields.number("close"),
        close_factor=fields.number("close_factor"),
        then=fields.settings("then"),
    )
    if kind in kinds:
        (_check_choice if prediction.kind is Kind.CHOICE else _check_range)(fields, prediction)
    _check_words(fields, ask=prediction.ask, reveal=prediction.reveal)
    fields.end()
    return prediction


def _option(fields: Fields) -> Option:
    has_word = fields.has("is")
    option = Option(
        say=fields.text("say"),
        low=fields.number("from"),
        high=fields.number("below"),
        word=fields.text("is") if has_word else None,
    )
    bounds = (option.low is not None) + (option.high is not None)
    if has_word == (bounds > 0):
        fields.complain("say", "an option needs `from`, `below` or both, or `is` alone")
    if bounds == 2 and not option.low < option.high:
        fields.complain("below", f"it needs more than `from`, {option.low:g}, got {option.high:g}")
    fields.end()
    return option


def _check_choice(fields: Fields, prediction: Prediction) -> None:
    said = [option.say for option in prediction.options]
    if len(said) < 2:
        fields.complain("options", f"a choice needs 2 or more, got {len(said)}")
    if len(set(said)) < len(said):
        fields.complain("options", "two options say the same")
    for name in ("low", "high", "unit", "log", "close", "close_factor"):
        if fields.has(name):
            fields.complain(name, "a choice has no such field")


def _check_range(fields: Fields, prediction: Prediction) -> None:
    if fields.has("options"):
        fields.complain("options", f"kind = {prediction.kind.value!r} has none")
    low, high = prediction.low, prediction.high
    if prediction.kind is Kind.AXIS and (low is None or high is None):
        fields.complain("low", "an axis needs `low` and `high`")
    if low is not None and high is not None and not low < high:
        fields.complain("high", f"it needs more than `low`, {low:g}, got {high:g}")
    if prediction.is_log and (low is None or low <= 0):
        fields.complain("log", "it needs a `low` above 0")
    if (prediction.close is None) == (prediction.close_factor is None):
        fields.complain("close", "give either `close`, a difference, or `close_factor`, a ratio")
    if prediction.close is not None and prediction.close < 0:
        fields.complain("close", f"it needs 0 or more, got {prediction.close:g}")
    if prediction.close_factor is not None and prediction.close_factor < 1:
        fields.complain("close_factor", f"it needs 1 or more, got {prediction.close_factor:g}")


def _check_words(fields: Fields, **texts: str) -> None:
    for name, text in texts.items():
        if (count := len(text.split())) > WORDS:
            fields.complain(name, f"it has {count} words, and {WORDS} at most can be read beside a picture")
        for sentence in _SENTENCE_ENDS.split(text):
            if (count := len(sentence.split())) > SENTENCE:
                start = " ".join(sentence.split()[:6])
                fields.complain(name, f"the sentence “{start} …” has {count} words, {SENTENCE} at most")
        if typed := _TYPED_FIGURE.search(_MATH.sub("", text)):
            fields.complain(name, f"the figure {typed[0]!r} is typed in; name a fact instead")
