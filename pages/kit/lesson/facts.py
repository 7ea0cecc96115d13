"""Controls of the pages, and facts that they compute.

Each `pages/<page>/facts.py` exports

    CONTROLS = ALL_CONTROLS                          # the controls of its page
    FACTS = {"zeros_share": zeros_share, …}          # a function of all controls' values, by key
    OPENING = {…}                                    # only where the page opens with values of its own

A fact is computed by the functions that the page draws from. Texts name it `{scaling.zeros_share:.0%}`.
"""

import importlib
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from kernels.paths import TOP
from pages.kit.lesson.chapter import MATH, Fact, Step
from pages.kit.widgets import Control, Settings, Value


@dataclass(frozen=True, kw_only=True)
class PageFacts:
    page: str
    controls: Mapping[str, Control[Any]]
    facts: Mapping[str, Callable[[Mapping[str, Value]], Fact]]
    opening: Mapping[str, Value]

    def wrong(self, key: str, value: Value) -> str | None:
        control = self.controls.get(key)
        if control is None:
            return f"{key!r} is no control of {self.page}; it has {', '.join(self.controls)}"
        if not control.accepts(_as_control(control, value)):
            return f"{key} got {value!r} and needs {control.needs}"
        return None

    def settings(self, parameters: Mapping[str, Value]) -> dict[str, Value]:
        """Values of all controls at an address with these."""
        values = {key: control.default for key, control in self.controls.items()}
        own = {
            key: _as_control(self.controls[key], value)
            for key, value in (parameters or self.opening).items()
            if key in self.controls
        }
        return values | own

    def query(self, parameters: Mapping[str, Value]) -> dict[str, str]:
        return {
            key: self.controls[key].text(_as_control(self.controls[key], value))
            for key, value in parameters.items()
            if key in self.controls
        }


@lru_cache(maxsize=64)
def facts_of(page: str) -> PageFacts:
    """Facts of a page. Raises ValueError."""
    if not page.isidentifier() or not (TOP / "pages" / f"{page}.py").is_file():
        raise ValueError(f"there is no page {page!r}")
    if not (TOP / "pages" / page / "facts.py").is_file():
        raise ValueError(f"pages/{page}/facts.py does not exist")
    module = importlib.import_module(f"pages.{page}.facts")
    return PageFacts(
        page=page,
        controls={control.key: control for control in module.CONTROLS},
        facts=module.FACTS,
        opening=getattr(module, "OPENING", {}),
    )


def misfits(step: Step) -> list[tuple[str, str]]:
    try:
        page = facts_of(step.page)
    except ValueError as wrong:
        return [("page", str(wrong))]
    then = {} if step.predict is None else step.predict.then
    return [
        (field, reason)
        for field, settings in (("set", step.set), ("then", then))
        for key, value in settings.items()
        if (reason := page.wrong(key, value))
    ]


def fact(name: str, parameters: Mapping[str, Value]) -> Fact:
    """The fact `page.name` at these settings, computed once. Raises ValueError."""
    page, _, own = name.partition(".")
    of_page = facts_of(page)
    if own not in of_page.facts:
        raise ValueError(f"{name} is no fact; {page} has {', '.join(of_page.facts) or 'none'}")
    texts = ((key, of_page.controls[key].text(value)) for key, value in of_page.settings(parameters).items())
    return _computed(page, own, tuple(texts))


@lru_cache(maxsize=512)
def _computed(page: str, own: str, texts: tuple[tuple[str, str], ...]) -> Fact:
    of_page = facts_of(page)
    # As an address writes them, settings can be a key of the cache, lists too.
    value = of_page.facts[own]({key: of_page.controls[key].parse(text) for key, text in texts})
    # A NumPy scalar formats as Python's own, but compares and prints otherwise.
    return value.item() if hasattr(value, "item") else value


def _as_control(control: Control[Any], value: Value) -> Value:
    """Convert a file's value to its control's type: TOML writes 1 for a float."""
    return float(value) if type(value) is int and type(control.default) is float else value


TRUTH = "truth"
_FACT = re.compile(r"\{([a-z0-9_]+\.[a-z0-9_]+|truth)(?::([^{}]*))?\}")
_BRACES = re.compile(r"\{[^{}]*\}")


def names_in(text: str) -> list[str]:
    return [match[1] for match in _FACT.finditer(text)]


def unknown_in(text: str) -> list[str]:
    return _BRACES.findall(MATH.sub("", _FACT.sub("", text)))


def filled(text: str, settings: Settings, truth: Fact | None = None) -> str:
    """Fill in a text's facts at these settings. Raises ValueError."""

    def value(match: re.Match[str]) -> str:
        name, form = match[1], match[2] or ""
        if name == TRUTH and truth is None:
            raise ValueError("{truth} is known only in `reveal`")
        figure = truth if name == TRUTH else fact(name, settings)
        try:
            return format(figure, form)
        except ValueError as wrong:
            raise ValueError(f"{match[0]} does not fit {figure!r}: {wrong}") from None

    return _FACT.sub(value, text)


def truth_of(step: Step) -> Fact:
    """Truth of a step's prediction, after the answer. Raises ValueError."""
    if step.predict is None:
        raise ValueError(f"the step {step.title!r} predicts nothing")
    return fact(step.predict.truth, step.settings(is_locked=True))
