"""The part of a sweep that `make test` takes; `make test-all` takes all of it."""

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from itertools import product
from random import Random
from typing import TypeVar

import pytest

T = TypeVar("T")
exhaustive = pytest.mark.exhaustive


def distinct(cases: Mapping[str, T], key: Callable[..., Hashable]) -> dict[str, T]:
    """The first case of each key: a case that asks for nothing new is left out of every target."""
    first: dict[Hashable, str] = {}
    for name, case in cases.items():
        first.setdefault(key(*case), name)
    return {name: cases[name] for name in first.values()}


def label(value: object) -> str:
    """What a value is called in a test's name."""
    return str(getattr(value, "name", value))


def each(values: Iterable[T]) -> dict[str, tuple[T]]:
    """Cases of one value each."""
    return {label(value): (value,) for value in values}


def crossed(cases: Mapping[str, tuple], others: Iterable[object], every: int = 2) -> list:
    """Parameters (*case, other) of each pair.

    A case meets one in `every` of the others, its neighbor the next ones; all other pairs are exhaustive.
    """
    pairs = product(enumerate(cases.items()), enumerate(others))
    return [
        taken((*case, other), f"{name}-{label(other)}", (row + column) % every == 0)
        for (row, (name, case)), (column, other) in pairs
    ]


def one_in(every: int, cases: Mapping[str, tuple]) -> list:
    """Parameters of the cases; all but each `every`-th are exhaustive."""
    return [taken(case, name, place % every == 0) for place, (name, case) in enumerate(cases.items())]


def drawn(values: Sequence[T], request: pytest.FixtureRequest, count: int = 2) -> list[T]:
    """A few values of a test that compiles code for each: its name draws them. `make test-all` takes all."""
    if "not exhaustive" not in request.config.option.markexpr or len(values) <= count:
        return list(values)
    return Random(request.node.name).sample(values, count)


def taken(values: tuple, name: str, always: bool) -> object:
    """A parameter that every target takes, or `make test-all` only."""
    return pytest.param(*values, id=name, marks=[] if always else exhaustive)
