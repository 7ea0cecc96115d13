"""Checks of a recipe from outside: each wrong field is named, with its value and the need."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

WRONG: Any = object()
"""Result of a reader for a refused value."""

REQUIRED: Any = object()
"""Default of a field without one."""

Reader = Callable[["Report", str, object], Any]
"""Function of the report, a value's path and the value; returns its meaning, or WRONG."""

_NAMED, _QUOTED = 8, 40
_UNSAFE = re.compile(r"[^\w ,.;:()/+=%'²×·-]|www\.|//|:[\w+/-]*:", re.IGNORECASE)


@dataclass
class Report:
    """Clauses on wrong fields, and on refusals of constructors."""

    wrong: list[str] = field(default_factory=list)
    refused: list[str] = field(default_factory=list)

    def say(self, path: str, needed: str, got: object) -> Any:
        """Note one wrong value. Returns WRONG."""
        return self.refuse(f"{path or 'the recipe'} is {needed}, got {described(got)}")

    def refuse(self, clause: str) -> Any:
        """Note one clause. Returns WRONG."""
        self.wrong.append(clause)
        return WRONG

    def raise_if_wrong(self) -> None:
        """Raise one ValueError with all clauses, if any."""
        clauses = self.wrong + self.refused
        if clauses:
            count = len(clauses)
            head = "One field of the recipe is wrong" if count == 1 else f"{count} fields are wrong"
            raise ValueError(f"{head}: {'; '.join(clauses)}.")

    @property
    def faults(self) -> int:
        return len(self.wrong) + len(self.refused)


def described(value: object) -> str:
    """Write a value from outside in a few letters: a dict or a list by its size."""
    if isinstance(value, dict):
        return f"an object of {len(value)} fields"
    if isinstance(value, list):
        return f"a list of {len(value)}"
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    text = repr(value) if isinstance(value, str) else str(value)
    return text if len(text) <= _QUOTED else f"{text[:_QUOTED]}…"


def value_that(
    fits: Callable[[Any], bool], needed: str, meaning: Callable[[Any], Any] = lambda value: value
) -> Reader:
    """Read a value that fits as its meaning; `needed` says in words which do."""

    def read(report: Report, path: str, value: object) -> Any:
        return meaning(value) if fits(value) else report.say(path, needed, value)

    return read


def one_of(options: Mapping[str, Any]) -> Reader:
    return value_that(
        lambda value: isinstance(value, str) and value in options,
        f"one of {', '.join(options)}",
        options.__getitem__,
    )


def whole_from(low: int, high: int) -> Reader:
    return value_that(
        lambda value: type(value) is int and low <= value <= high, f"a whole number from {low} to {high}"
    )


def real_from(low: float, high: float, *, or_zero: bool = False) -> Reader:
    """Read a number from `low` to `high`, or 0 if allowed."""
    return value_that(
        lambda value: type(value) in (int, float) and (low <= value <= high or (or_zero and value == 0)),
        f"{'0 or ' if or_zero else ''}a number from {low:g} to {high:g}",
        float,
    )


def text_of(longest: int, pattern: str = ".*", needed: str | None = None) -> Reader:
    """Read a line of plain text: no markup and no links. `pattern` narrows it, `needed` words that."""

    def fits(value: Any) -> bool:
        is_safe = isinstance(value, str) and len(value) <= longest and not _UNSAFE.search(value)
        return is_safe and bool(re.fullmatch(pattern, value))

    letters = "letters, digits, spaces and , . ; : ( ) / + - = % ' without links"
    return value_that(fits, needed or f"a line of at most {longest} {letters}")


def or_none(reader: Reader) -> Reader:
    def read(report: Report, path: str, value: object) -> Any:
        return None if value is None else reader(report, path, value)

    return read


def several(reader: Reader, most: int) -> Reader:
    """Read one to `most` values as a tuple."""

    def read(report: Report, path: str, value: object) -> Any:
        if not isinstance(value, list) or not 1 <= len(value) <= most:
            return report.say(path, f"a list of 1 to {most} values", value)
        values = tuple(reader(report, f"{path}[{at}]", one) for at, one in enumerate(value))
        return WRONG if any(one is WRONG for one in values) else values

    return read


def fields(build: Callable[..., Any], needed: str, **readers: tuple[Reader, Any] | Reader) -> Reader:
    """Read an object with these fields, each a reader or (reader, default); returns `build(**values)`.

    A ValueError of `build` becomes a clause under the object's path; `needed` words the object.
    """
    readers_by_name = {
        name: one if isinstance(one, tuple) else (one, REQUIRED) for name, one in readers.items()
    }

    def read(report: Report, path: str, value: object) -> Any:
        if not isinstance(value, dict):
            return report.say(path, needed, value)
        before = report.faults
        unknown = [described(key) for key in value if key not in readers_by_name]
        if unknown:
            more = f" and {len(unknown) - _NAMED} more" if len(unknown) > _NAMED else ""
            report.refuse(
                f"{path or 'the recipe'} has the fields {', '.join(readers_by_name)}, "
                f"got {', '.join(unknown[:_NAMED])}{more} beside them"
            )
        values = {}
        for name, (reader, default) in readers_by_name.items():
            where = f"{path}.{name}" if path else name
            if name in value:
                values[name] = reader(report, where, value[name])
            elif default is REQUIRED:
                report.refuse(f"{where} is missing")
            else:
                values[name] = default
        if report.faults > before:
            return WRONG
        try:
            return build(**values)
        except ValueError as error:
            report.refused.append(f"{path}: {error}" if path else str(error))
            return WRONG

    return read
