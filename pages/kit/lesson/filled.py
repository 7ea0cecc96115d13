"""Texts of a lesson with their facts filled in: `{scaling.zeros_share:.0%}` becomes a figure.

Braces hold a fact, everywhere but in a formula between $ signs, which may hold others of its own.
"""

import re
from collections.abc import Mapping

from pages.kit.lesson.chapter import Fact, Step
from pages.kit.lesson.facts import fact
from pages.kit.widgets import Value

TRUTH = "truth"
_FACT = re.compile(r"\{([a-z0-9_]+\.[a-z0-9_]+|truth)(?::([^{}]*))?\}")
_BRACES = re.compile(r"\{[^{}]*\}")
_MATH = re.compile(r"\$[^$]*\$")


def names_in(text: str) -> list[str]:
    """The facts that a text names, `truth` among them, in order."""
    return [found[1] for found in _FACT.finditer(text)]


def unknown_in(text: str) -> list[str]:
    """The braces of a text that name no fact."""
    return _BRACES.findall(_MATH.sub("", _FACT.sub("", text)))


def filled(text: str, settings: Mapping[str, Value], truth: Fact | None = None) -> str:
    """The text with every fact as it is with these settings.

    Raises ValueError, a sentence, for a fact that does not exist or does not take its format.
    """

    def value(found: re.Match[str]) -> str:
        name, form = found[1], found[2] or ""
        if name == TRUTH and truth is None:
            raise ValueError("{truth} is known only in `reveal`")
        known = truth if name == TRUTH else fact(name, settings)
        try:
            return format(known, form)
        except ValueError as wrong:
            raise ValueError(f"{found[0]} does not fit {known!r}: {wrong}") from None

    return _FACT.sub(value, text)


def truth_of(step: Step) -> Fact:
    """The truth of a step's prediction, computed with the settings that the page has afterwards.

    Raises ValueError where the step asks nothing, or the fact does not exist.
    """
    if step.predict is None:
        raise ValueError(f"the step {step.title!r} predicts nothing")
    return fact(step.predict.truth, step.settings(is_locked=True))
