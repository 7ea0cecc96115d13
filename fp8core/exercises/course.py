"""All exercises in order, and the file in which they are filled in."""

import ast
import traceback
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import Any

from fp8core.exercises.exercise import Exercise, fault
from fp8core.exercises.numbers import NUMBERS
from fp8core.exercises.scales import SCALES
from fp8core.exercises.sums import SUMS
from fp8core.exercises.tiles import TILES

EXERCISES: tuple[Exercise, ...] = (*NUMBERS, *SCALES, *TILES, *SUMS)

_HEAD = '''"""Ten small functions of FP8 training. Fill them in, in any order, and check them:

    python -m fp8core.exercises check {name}

The page named above a function shows in FP8 Explorer what it is about.
"""

import ml_dtypes  # noqa: F401  rounds: x.astype(ml_dtypes.float8_e4m3fn)
import numpy as np
'''


_RAISED = (
    ArithmeticError,
    AssertionError,
    AttributeError,
    ImportError,
    LookupError,
    MemoryError,
    NameError,
    OSError,
    RuntimeError,
    StopIteration,
    TypeError,
    ValueError,
)
"""Errors of unfinished code: the student gets a message, and the other exercises are checked."""


class State(Enum):
    TO_DO = "to do"
    WRONG = "not yet right"
    RIGHT = "right"


@dataclass(frozen=True, kw_only=True)
class Result:
    """State of one exercise, with a message for the reader if there is one."""

    exercise: Exercise
    state: State
    message: str = ""


def blank(name: str) -> str:
    """Text of a file `name` with all exercises to fill in."""
    parts = [
        f"# {number}. {one.title}. Page: {one.page}\n{one.stub}" for number, one in enumerate(EXERCISES, 1)
    ]
    return "\n\n".join([_HEAD.format(name=name), *parts])


def functions(path: Path) -> dict[str, Any]:
    """Names that the file defines.

    Raises OSError if the file cannot be read, and ValueError, a sentence, if it is no Python or fails.
    """
    try:
        text = path.read_text(encoding="utf-8")
        code = compile(ast.parse(text, filename=str(path)), str(path), "exec")
    except SyntaxError as error:
        raise ValueError(f"{path.name}, line {error.lineno}: this is no Python yet: {error.msg}") from None
    except ValueError as error:  # another encoding, or a null character
        raise ValueError(f"{path.name} is no text in UTF-8: {error}") from None
    names: dict[str, Any] = {"__name__": path.stem, "__file__": str(path)}
    failure = _failure(lambda: exec(code, names), path)
    if failure:
        raise ValueError(f"{path.name} cannot be run: {failure}")
    return names


def results(path: Path, name: str | None = None) -> Iterator[Result]:
    """State of each exercise, or of one.

    Raises as `functions` does, and ValueError for an unknown name.
    """
    exercises = [one for one in EXERCISES if name in (None, one.name)]
    if not exercises:
        raise ValueError(f"no exercise is named {name!r}; there are {', '.join(e.name for e in EXERCISES)}")
    names = functions(path)
    for one in exercises:
        yield _result(names.get(one.name), one, path)


def _result(function: object, exercise: Exercise, path: Path) -> Result:
    if not callable(function):
        return Result(
            exercise=exercise, state=State.TO_DO, message=f"{path.name} defines no function of this name."
        )
    faults: list[str | None] = []
    failure = _failure(lambda: faults.append(fault(function, exercise)), path)
    if failure == NotImplementedError.__name__:
        return Result(exercise=exercise, state=State.TO_DO)
    message = f"It raised {failure}" if failure else faults[0]
    return Result(exercise=exercise, state=State.WRONG if message else State.RIGHT, message=message or "")


def _failure(run: Callable[[], object], path: Path) -> str:
    """Words and line of an error in the reader's code, or ""."""
    try:
        run()
    except _RAISED as error:
        if isinstance(error, NotImplementedError):
            return NotImplementedError.__name__
        lines = [
            frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == str(path)
        ]
        where = f" (line {lines[-1]})" if lines else ""
        return f"{type(error).__name__}{where}: {error}"
    return ""
