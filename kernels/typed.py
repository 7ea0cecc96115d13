"""Frozen dataclasses as plain data and back, checked against their types (msgspec)."""

import sys
from collections.abc import Iterable, Iterator
from dataclasses import asdict, fields, is_dataclass
from enum import Enum
from typing import Annotated, Any, TypeVar

import msgspec

from fp8core.checks import whole

T = TypeVar("T")

Count = Annotated[int, msgspec.Meta(ge=0, le=2**63 - 1)]
"""A whole number from 0, within a table's column."""
Positive = Annotated[float, msgspec.Meta(gt=0, le=sys.float_info.max)]
"""A finite number above 0."""


_LEAVES = (str, int, float, Enum, type(None))


def to_data(thing: Any) -> dict[str, Any]:
    """A dataclass's instance as JSON: enums as values."""

    # Not msgspec.to_builtins: that leaves out the defaults of an instance that msgspec made, and takes no
    # kind of str but str itself, such as torch's version.
    def plain(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        return {name: value.value if isinstance(value, Enum) else value for name, value in pairs}

    return asdict(thing, dict_factory=plain)


def from_data(kind: type[T], data: object) -> T:
    """The inverse of to_data. Raises ValueError that names the field that does not fit.

    Fields by default are missing in its vars(): msgspec leaves them to the class. to_data has all.
    """
    try:
        value = msgspec.convert(data, kind)
    except msgspec.ValidationError as error:
        raise ValueError(f"this is no {kind.__name__}: {error}") from error
    unknown = next(_unknown(data, value, "$"), None)
    if unknown:
        raise ValueError(f"this is no {kind.__name__}: Object contains unknown field {unknown}")
    return value


def _unknown(data: Any, value: object, path: str) -> Iterator[str]:
    """Fields of data that its dataclasses lack: msgspec ignores them."""
    if is_dataclass(value):
        names = {field.name for field in fields(value)}
        yield from (f"`{name}` - at `{path}`" for name in data if name not in names)
        for name in data:
            if not isinstance(inner := getattr(value, name), _LEAVES):
                yield from _unknown(data[name], inner, f"{path}.{name}")
    elif isinstance(value, dict):
        for name, inner in data.items() if isinstance(data, dict) else ():
            yield from _unknown(inner, value.get(name), f"{path}[{name}]")
    elif isinstance(value, tuple) and value and is_dataclass(value[0]):
        for number, (inner, one) in enumerate(zip(data, value, strict=True)):
            yield from _unknown(inner, one, f"{path}[{number}]")


def check_whole(low: int, high: int, **values: object) -> None:
    """Raise ValueError for a value that is no whole number from low to high."""
    for name, value in values.items():
        whole(name, value, low, high)


def check_known(kind: str, name: str, names: Iterable[str]) -> None:
    """Raise ValueError, with the known names of a kind, for another name."""
    known = list(names)
    if name not in known:
        raise ValueError(f"unknown {kind} {name!r}; there are {', '.join(known)}")
