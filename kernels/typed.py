"""Frozen dataclasses as plain data and back (msgspec). What is read is held to the types they declare."""

import sys
from collections.abc import Iterator, Mapping
from dataclasses import asdict, fields, is_dataclass
from enum import Enum
from functools import cache
from types import NoneType, UnionType
from typing import Annotated, Any, TypeVar, Union, get_args, get_origin, get_type_hints

import msgspec

T = TypeVar("T")

Count = Annotated[int, msgspec.Meta(ge=0, le=2**63 - 1)]
"""A whole number from 0 that a table's column holds."""
Positive = Annotated[float, msgspec.Meta(gt=0, le=sys.float_info.max)]
"""A finite number above 0."""


def to_data(thing: Any) -> dict[str, Any]:
    """A dataclass's instance as JSON has it: enums as their values."""

    # Not msgspec.to_builtins: that leaves out the defaults of an instance that msgspec made, and takes no
    # kind of str but str itself, such as torch's version.
    def plain(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        return {name: value.value if isinstance(value, Enum) else value for name, value in pairs}

    return asdict(thing, dict_factory=plain)


def from_data(kind: type[T], data: object) -> T:
    """The inverse of to_data. Raises ValueError naming the field that does not fit."""
    try:
        made = msgspec.convert(data, kind)
    except msgspec.ValidationError as error:
        raise ValueError(f"this is no {kind.__name__}: {error}") from error
    unknown = next(_unknown(data, made, "$"), None)
    if unknown:
        raise ValueError(f"this is no {kind.__name__}: Object contains unknown field {unknown}")
    return made


def _unknown(data: Any, made: object, path: str) -> Iterator[str]:
    """Fields of data that its dataclasses have not: msgspec passes over them."""
    if is_dataclass(made):
        names = {field.name for field in fields(made)}
        yield from (f"`{name}` - at `{path}`" for name in data if name not in names)
        for name in data:
            yield from _unknown(data[name], getattr(made, name), f"{path}.{name}")
    elif isinstance(made, tuple) and made and is_dataclass(made[0]):
        for number, (inner, one) in enumerate(zip(data, made, strict=True)):
            yield from _unknown(inner, one, f"{path}[{number}]")


_TOO_LARGE = 2**63
"""A whole number from here on fits neither a table's column nor, further on, a float."""
_WORDS = {int: "a whole number", float: "a number", str: "a text", bool: "true or false", NoneType: "null"}


def checked(made: T) -> T:
    """A dataclass's instance, if each field holds what its type says. Raises ValueError naming one that does
    not.
    """
    fault = _fault(type(made), made)
    if fault:
        raise ValueError(fault.removeprefix("."))
    return made


def whole(value: object, low: int, high: int) -> bool:
    """True if a value is an int from low to high, and no bool."""
    return isinstance(value, int) and not isinstance(value, bool) and low <= value <= high


@cache
def _hints(kind: type) -> dict[str, Any]:
    hints = get_type_hints(kind)
    return {field.name: hints[field.name] for field in fields(kind)}


def _fault(kind: Any, value: object) -> str:
    """Where in a value something is not of its type, and what is needed; empty where all is."""
    origin, parts = get_origin(kind), get_args(kind)
    if origin in (Union, UnionType):
        inner = [part for part in parts if is_dataclass(part) and isinstance(value, part)]
        if inner:
            return _fault(inner[0], value)
        if "" in [_fault(part, value) for part in parts]:
            return ""
        return f" is {' or '.join(map(_words, parts))}, got {_short(value)}"
    if origin is tuple:
        return _tuple_fault(parts, value)
    if origin is not None and issubclass(origin, Mapping):
        is_right = isinstance(value, Mapping) and all(
            not _fault(part, one) for pair in value.items() for part, one in zip(parts, pair, strict=True)
        )
        return "" if is_right else f" is an object of {_words(parts[1])} each, got {_short(value)}"
    if not _is_a(kind, value):
        return f" is {_words(kind)}, got {_short(value)}"
    if is_dataclass(kind):
        found = ((name, _fault(hint, getattr(value, name))) for name, hint in _hints(kind).items())
        return next((f".{name}{fault}" for name, fault in found if fault), "")
    return ""


def _tuple_fault(parts: tuple[Any, ...], value: object) -> str:
    if not isinstance(value, tuple):
        return f" is a list, got {_short(value)}"
    if parts[-1:] == (...,) and set(map(type, value)) <= {parts[0]} and parts[0] in _WORDS:
        return ""  # The usual case, told without a look at each of a thousand numbers.
    each = (parts[0],) * len(value) if parts[-1:] == (...,) else parts
    if len(each) != len(value):
        return f" has {len(each)} entries, got {len(value)}"
    found = ((number, _fault(part, one)) for number, (part, one) in enumerate(zip(each, value, strict=True)))
    return next((f"[{number}]{fault}" for number, fault in found if fault), "")


def _is_a(kind: type, value: object) -> bool:
    if kind in (int, float) and isinstance(value, bool):
        return False
    if kind in (int, float) and isinstance(value, int):
        return abs(value) < _TOO_LARGE
    return isinstance(value, kind)


def _words(kind: Any) -> str:
    if get_origin(kind) is not None:
        return "a list"
    if issubclass(kind, Enum):
        return f"one of {', '.join(str(member.value) for member in kind)}"
    return _WORDS.get(kind, "an object")


def _short(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 40 else f"{text[:40]}…"
