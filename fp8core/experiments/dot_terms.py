"""Operands of dot products, seeded, whose terms show what an accumulator does to small ones."""

from dataclasses import dataclass
from enum import Enum

import numpy as np
from numpy.typing import NDArray

from fp8core.checks import instance, whole

LARGE = 16.0
LARGE_AT, GONE_AT = 0, 48


class TermKind(Enum):
    """What the terms of the dot products look like."""

    ZERO_MEAN = "zero_mean"
    SAME_SIGN = "same_sign"
    ONE_LARGE = "one_large"
    CANCELED = "canceled"


@dataclass(frozen=True)
class TermNote:
    """A kind in words: a title and the exact rule."""

    title: str
    rule: str


_LARGE_TERM = f"product {LARGE_AT} is {LARGE:g} · {LARGE:g}"

TERM_NOTES: dict[TermKind, TermNote] = {
    TermKind.ZERO_MEAN: TermNote("Zero mean", "a and b from N(0, 1), so that signs cancel"),
    TermKind.SAME_SIGN: TermNote(
        "Same sign", "a and b uniform between 0 and 1, so that every product is positive"
    ),
    TermKind.ONE_LARGE: TermNote("One large term", f"a and b from N(0, 1), but {_LARGE_TERM}"),
    TermKind.CANCELED: TermNote(
        "Large, then canceled",
        f"a and b from N(0, 1), but {_LARGE_TERM} and product {GONE_AT} is minus that",
    ),
}


def draw_terms(
    kind: TermKind, rows: tuple[int, int], k: int, seed: int
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """float64 a[rows[0], K] and b[rows[1], K]; equal arguments give equal numbers.

    A longer K begins with the numbers of a shorter one.
    """
    instance("kind", kind, TermKind)
    for what, value in (("rows of a", rows[0]), ("rows of b", rows[1]), ("k", k), ("a seed", seed)):
        whole(what, value, 0)
    rng = np.random.default_rng(seed)
    shape = (k, sum(rows))
    x = (rng.uniform(0, 1, shape) if kind is TermKind.SAME_SIGN else rng.standard_normal(shape)).T
    a, b = x[: rows[0]].copy(), x[rows[0] :].copy()
    if kind in (TermKind.ONE_LARGE, TermKind.CANCELED):
        a[:, LARGE_AT : LARGE_AT + 1] = b[:, LARGE_AT : LARGE_AT + 1] = LARGE
    if kind is TermKind.CANCELED:
        a[:, GONE_AT : GONE_AT + 1], b[:, GONE_AT : GONE_AT + 1] = -LARGE, LARGE
    return a, b
