"""Controls as data: name, accepted values, and how to draw them.

A value from an address or another page that does not fit becomes the nearest that does, or the default.
"""

import math
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field, replace
from enum import Enum
from types import ModuleType
from typing import Any, Generic, Self, TypeAlias, TypeVar

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

Value: TypeAlias = str | int | float | bool
Settings: TypeAlias = Mapping[str, Any]  # values of a page's controls by key
Place: TypeAlias = DeltaGenerator | ModuleType  # a container, or the `streamlit` module: wherever the page is
T = TypeVar("T", bound=Value)

_WHOLE = re.compile(r"[+-]?[0-9]{1,18}", re.ASCII)
_DECIMAL = re.compile(
    r"[+-]?([0-9]{1,18}\.?[0-9]{0,18}|\.[0-9]{1,18})(e[+-]?[0-9]{1,3})?", re.ASCII | re.IGNORECASE
)
_NAMES_LIMIT = 8  # options that a sentence names
_TRUTH = {"true": True, "false": False}


def _listed(names: Collection[str]) -> str:
    return ", ".join(names) if len(names) <= _NAMES_LIMIT else f"the {len(names)} in its list"


class NumberStyle(Enum):
    """Look of a number: a field for any value, or a slider in whole steps."""

    FIELD = "field"
    SLIDER = "slider"


@dataclass(frozen=True, kw_only=True, eq=False)
class Control(ABC, Generic[T]):
    """A value that the reader sets. `key` names it in the address and in the session."""

    key: str
    label: str
    default: T
    help: str | None = None

    def __post_init__(self) -> None:
        if not self.accepts(self.default):
            raise ValueError(f"{self.key}: the default {self.default!r} is not {self.needs}")

    @property
    @abstractmethod
    def needs(self) -> str:
        """Accepted values, to end a sentence with."""

    @abstractmethod
    def accepts(self, value: object) -> bool:
        """Return True if the control can have `value`, of any type."""

    @abstractmethod
    def parse(self, text: str) -> object:
        """Value that `text` writes, unchecked; None if none."""

    @abstractmethod
    def widget(self, place: Place, on_change: Callable[[], None] | None) -> T | None:
        """Draw the widget; its value is in the session already."""

    def text(self, value: T) -> str:
        return str(value)

    def _common(self, on_change: Callable[[], None] | None) -> dict[str, Any]:
        return {"key": self.key, "help": self.help, "on_change": on_change, "persist_state": "session"}

    def fit(self, value: object) -> T:
        """The value if accepted, else the nearest accepted one, else the default."""
        return value if self.accepts(value) else self.default  # type: ignore[return-value]

    def narrow(self, **limits: Any) -> Self:
        return replace(self, **limits)


@dataclass(frozen=True, kw_only=True, eq=False)
class Choice(Control[T]):
    """One of `options`, side by side: values with their labels. Without a default, the first is it.

    `moved`: values of old addresses with their successors.
    """

    options: Mapping[T, str]
    default: T = None  # type: ignore[assignment]
    moved: Mapping[str, T] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.default is None:
            object.__setattr__(self, "default", next(iter(self.options)))
        super().__post_init__()
        if len(set(self.options.values())) != len(self.options):
            raise ValueError(f"{self.key}: two options share a label: {list(self.options.values())}")

    @property
    def needs(self) -> str:
        return f"one of {_listed([text for text in map(self.text, self.options) if text])}"

    def accepts(self, value: object) -> bool:
        return any(type(value) is type(option) and value == option for option in self.options)

    def parse(self, text: str) -> object:
        value = next((option for option in self.options if self.text(option) == text), None)
        return self.moved.get(text) if value is None else value

    def narrow(self, *, options: Mapping[T, str]) -> Self:
        """Restrict the options. The first is the default if the old default is gone."""
        return replace(self, options=options, default=self.default if self.default in options else None)

    def widget(self, place: Place, on_change: Callable[[], None] | None) -> T | None:
        return self._draw(place.segmented_control, on_change, required=True)

    def _draw(
        self, draw: Callable[..., T | None], on_change: Callable[[], None] | None, **more: Any
    ) -> T | None:
        more |= self._common(on_change)
        return draw(self.label, list(self.options), format_func=self.options.__getitem__, **more)


class Select(Choice[T]):
    """One of a list that opens on demand."""

    def widget(self, place: Place, on_change: Callable[[], None] | None) -> T | None:
        return self._draw(place.selectbox, on_change)


class Radio(Choice[T]):
    """One of `options`, below one another."""

    def widget(self, place: Place, on_change: Callable[[], None] | None) -> T | None:
        return self._draw(place.radio, on_change)


@dataclass(frozen=True, kw_only=True, eq=False)
class _Ranged(Control[T]):
    """A number from `low` to `high`; a slider takes whole steps from `low` only."""

    low: T
    high: T
    step: T
    style: NumberStyle = NumberStyle.FIELD

    def narrow(self, *, low: T | None = None, high: T | None = None) -> Self:
        """Intersect the range with `low` to `high`, at least one value wide."""
        bottom = self.low if low is None else min(max(self.low, low), self.high)
        top = self.high if high is None else max(min(self.high, high), bottom)
        if (bottom, top) == (self.low, self.high):
            return self
        control = replace(self, low=bottom, high=top, default=bottom)
        return replace(control, default=control.fit(self.default))

    def widget(self, place: Place, on_change: Callable[[], None] | None) -> T | None:
        is_slider = self.style is NumberStyle.SLIDER and self.low < self.high
        limits = {"min_value": self.low, "max_value": self.high, "step": self.step}
        draw = place.slider if is_slider else place.number_input
        return draw(self.label, **limits, **self._common(on_change))


@dataclass(frozen=True, kw_only=True, eq=False)
class Whole(_Ranged[int]):
    step: int = 1

    @property
    def needs(self) -> str:
        steps = f" in steps of {self.step}" if self._steps_only else ""
        return f"a whole number from {self.low} to {self.high}{steps}"

    @property
    def _steps_only(self) -> bool:
        return self.style is NumberStyle.SLIDER and self.step > 1

    def accepts(self, value: object) -> bool:
        if type(value) is not int or not self.low <= value <= self.high:
            return False
        return not self._steps_only or (value - self.low) % self.step == 0

    def parse(self, text: str) -> object:
        return int(text) if _WHOLE.fullmatch(text) else None

    def fit(self, value: object) -> int:
        if type(value) is not int:
            return self.default
        inside = min(max(value, self.low), self.high)
        return inside - (inside - self.low) % self.step if self._steps_only else inside


@dataclass(frozen=True, kw_only=True, eq=False)
class Number(_Ranged[float]):
    """A finite number; all fields are floats."""

    @property
    def needs(self) -> str:
        return f"a number from {self.low:g} to {self.high:g}"

    def accepts(self, value: object) -> bool:
        return type(value) is float and self.low <= value <= self.high

    def parse(self, text: str) -> object:
        return float(text) if _DECIMAL.fullmatch(text) else None

    def fit(self, value: object) -> float:
        finite = type(value) is float and math.isfinite(value)
        return min(max(value, self.low), self.high) if finite else self.default


@dataclass(frozen=True, kw_only=True, eq=False)
class Toggle(Control[bool]):
    default: bool = False

    @property
    def needs(self) -> str:
        return "true or false"

    def accepts(self, value: object) -> bool:
        return type(value) is bool

    def parse(self, text: str) -> object:
        return _TRUTH.get(text.lower())

    def text(self, value: bool) -> str:
        return str(value).lower()

    def widget(self, place: Place, on_change: Callable[[], None] | None) -> bool | None:
        return place.toggle(self.label, **self._common(on_change))


_NONE = "none"
_SEPARATOR = ","


@dataclass(frozen=True, kw_only=True, eq=False)
class Text(Control[str]):
    """A line of at most `longest` characters.

    Any characters are accepted: only the page knows their meaning.
    """

    longest: int
    placeholder: str | None = None

    @property
    def needs(self) -> str:
        return f"at most {self.longest} characters"

    def accepts(self, value: object) -> bool:
        return type(value) is str and len(value) <= self.longest

    def parse(self, text: str) -> object:
        return text

    def widget(self, place: Place, on_change: Callable[[], None] | None) -> str | None:
        return place.text_input(
            self.label,
            max_chars=self.longest,
            placeholder=self.placeholder,
            **self._common(on_change),
        )


@dataclass(frozen=True, kw_only=True, eq=False)
class Several(Control[list[str]]):  # type: ignore[type-var]
    """Any of `options`, each once, joined by commas in the address.

    With `most`: one to that many, of a list that opens on demand.
    """

    options: Mapping[str, str]
    most: int | None = None

    @property
    def needs(self) -> str:
        if self.most is not None:
            return f"from 1 to {self.most} of {_listed(self.options)}, joined by commas"
        return f"some of {_listed(self.options)}, joined by commas, or {_NONE}"

    def accepts(self, value: object) -> bool:
        return (
            type(value) is list
            and all(type(one) is str and one in self.options for one in value)
            and len(set(value)) == len(value)
            and (self.most is None or 1 <= len(value) <= self.most)
        )

    def parse(self, text: str) -> object:
        return [] if text == _NONE else text.split(_SEPARATOR)

    def text(self, value: list[str]) -> str:
        return _SEPARATOR.join(value) or _NONE

    def widget(self, place: Place, on_change: Callable[[], None] | None) -> list[str] | None:
        draw, most = place.multiselect, {"max_selections": self.most}
        if self.most is None:
            draw, most = place.pills, {"selection_mode": "multi"}
        common = self._common(on_change) | most
        return draw(self.label, list(self.options), format_func=self.options.__getitem__, **common)


def selected(key: str, parameter: str) -> list[dict[str, Any]] | None:
    """Selected marks of the chart `key`; None if Streamlit has forgotten it."""
    event = st.session_state.get(key)
    return None if event is None else list(event.get("selection", {}).get(parameter) or [])
