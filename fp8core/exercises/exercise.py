"""An exercise: the function to write, and the cases of its check."""

import inspect
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from fp8core.arrays import Float64

_SHOWN = 4
"""Numbers of an array in a message."""


@dataclass(frozen=True, kw_only=True)
class Case:
    """One call: its arguments, the parts of its result by name, and a lesson for a wrong answer.

    Numbers are compared exactly; NaN equals NaN.
    """

    arguments: tuple[Any, ...]
    expected: dict[str, Any]
    lesson: str


@dataclass(frozen=True, kw_only=True)
class Exercise:
    """A function to write, which has the task as docstring; `page` shows it in the app."""

    function: Callable[..., Any]
    title: str
    page: str
    cases: Callable[[], Iterator[Case]]

    @property
    def name(self) -> str:
        return self.function.__name__

    @property
    def stub(self) -> str:
        """Text to fill in."""
        return inspect.getsource(self.function)


def exercise(
    function: Callable[..., Any], title: str, *, page: str
) -> Callable[[Callable[[], Iterator[Case]]], Exercise]:
    """Make an exercise of the function that yields its cases."""
    return lambda cases: Exercise(function=function, title=title, page=page, cases=cases)


def fault(function: Callable[..., Any], task: Exercise) -> str | None:
    """First fault of an answer in words, or None. An error of the function reaches the caller."""
    for case in task.cases():
        # A function may write into its arguments: the message shows what it was given.
        arguments = tuple(a.copy() if isinstance(a, np.ndarray) else a for a in case.arguments)
        difference = _fault_of(function(*case.arguments), case)
        if difference is not None:
            words = ", ".join(map(shown, arguments))
            return f"{task.name}({words}): {difference} {case.lesson}"
    return None


def _fault_of(answer: object, case: Case) -> str | None:
    names = list(case.expected)
    parts = answer if isinstance(answer, tuple) else (answer,)
    if len(parts) != len(names):
        need = f"{len(names)} are needed: {', '.join(names)}." if len(names) > 1 else "one is needed."
        return f"the number of its results is {len(parts)}, and {need}"
    for name, part in zip(names, parts, strict=True):
        difference = _difference(name, part, np.asarray(case.expected[name], dtype=np.float64))
        if difference is not None:
            return difference
    return None


def _difference(name: str, part: object, expected: Float64) -> str | None:
    try:
        got = np.asarray(part, dtype=np.float64)
        is_missing = part is None
    except (TypeError, ValueError):
        is_missing = True
    if is_missing:
        kind = f"an array of the shape {expected.shape}" if expected.shape else "a number"
        return f"the {name} is {_cut(repr(part))}, and {kind} is needed."
    if got.shape != expected.shape:
        return f"the {name} has the shape {got.shape}, and {expected.shape} is needed."
    wrong = ~((got == expected) | (np.isnan(got) & np.isnan(expected)))
    if not wrong.any():
        return None
    if not expected.shape:
        return f"the {name} is {shown(got[()])}, and {shown(expected[()])} is needed."
    at = tuple(int(place[0]) for place in np.nonzero(wrong))
    where = f"[{', '.join(map(str, at))}]"
    count = f"{wrong.sum():,} of {wrong.size:,} differ" if wrong.size > 1 else "it differs"
    return f"the {name} at {where} is {shown(got[at])}, and {shown(expected[at])} is needed; {count}."


def shown(value: object) -> str:
    """Write a value for a message: a number to its last bit, an array by shape and first numbers."""
    if callable(value):
        return getattr(value, "__name__", "a function")
    array = np.asarray(value)
    if array.dtype.kind in "iub" and not array.shape:
        return str(int(array))
    if not array.shape:
        return f"{float(array):.9g}"
    first = ", ".join(f"{float(one):.4g}" for one in array.ravel()[:_SHOWN])
    return f"<{array.dtype}{list(array.shape)}: {first}{', …' * (array.size > _SHOWN)}>"


def _cut(text: str) -> str:
    return text if len(text) <= 60 else text[:57] + "…"
