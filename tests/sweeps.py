"""The part of a sweep that `make test` takes; `make test-all` takes all of it."""

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from itertools import product
from random import Random
from typing import TypeVar

import pytest

T = TypeVar("T")
exhaustive = pytest.mark.exhaustive


def distinct(cases: Mapping[str, T], key: Callable[..., Hashable]) -> dict[str, T]:
    """The first case of each key, in every target."""
    first: dict[Hashable, str] = {}
    for name, case in cases.items():
        first.setdefault(key(*case), name)
    return {name: cases[name] for name in first.values()}


def label(value: object) -> str:
    """Text of a value in a test's name."""
    return str(getattr(value, "name", value))


def each(values: Iterable[T]) -> dict[str, tuple[T]]:
    """Cases of one value each."""
    return {label(value): (value,) for value in values}


def some_pairs(cases: Mapping[str, tuple], others: Iterable[object], every: int = 2) -> list:
    """Parameters (*case, other) of all pairs; `make test` takes one in `every` others of a case.

    The case beside it takes the next ones.
    """
    pairs = product(enumerate(cases.items()), enumerate(others))
    return [
        exhaustive_unless((row + column) % every == 0, f"{name}-{label(other)}", (*case, other))
        for (row, (name, case)), (column, other) in pairs
    ]


def some_cases(every: int, cases: Mapping[str, tuple]) -> list:
    """Parameters of all cases; `make test` takes each `every`-th."""
    return [
        exhaustive_unless(place % every == 0, name, case) for place, (name, case) in enumerate(cases.items())
    ]


def some_values(values: Sequence[T], request: pytest.FixtureRequest, count: int = 2) -> list[T]:
    """All values in `make test-all`, else `count`, drawn by the test's name: each takes long."""
    if "not exhaustive" not in request.config.option.markexpr or len(values) <= count:
        return list(values)
    return Random(request.node.name).sample(values, count)


def exhaustive_unless(always: bool, name: str, values: tuple) -> object:
    """A parameter of `make test`, or of `make test-all` only."""
    return pytest.param(*values, id=name, marks=[] if always else exhaustive)
