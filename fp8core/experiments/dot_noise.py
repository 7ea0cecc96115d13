"""How the errors of rounded terms add up in a dot product of K terms: noise as √K, a bias as K."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from fp8core.formats import Format
from fp8core.stochastic import MAX_RANDOM_BITS, draw, nearest_of, neighbors

_SHRINKAGES_KEPT = 64
_ROWS_AT_ONCE = 4
_SAMPLES, _FARTHEST = 1 << 14, 8.0
_KINDS = ("exact", "nearest", "stochastic")


@dataclass(frozen=True, kw_only=True)
class Rounded:
    """|x|, and |x| rounded in two ways. Both roundings treat the two signs alike, so a sign can
    come later.
    """

    exact: NDArray[np.float64]
    nearest: NDArray[np.float64]
    stochastic: NDArray[np.float64]


def rounded(format_: Format, x: NDArray[np.float64], random: NDArray[np.integer]) -> Rounded:
    """Round x in both ways, without a scale. `random` has the shape of x and holds MAX_RANDOM_BITS
    bits each.
    """
    around = neighbors(format_, x)
    return Rounded(
        exact=x,
        nearest=nearest_of(format_, x, around),
        stochastic=draw(around, random, MAX_RANDOM_BITS),
    )


@dataclass(frozen=True, kw_only=True)
class DotErrors:
    """Relative error of dot products of `terms` terms: rms of the error over rms of the exact result."""

    terms: NDArray[np.int64]
    nearest: NDArray[np.float64]
    stochastic: NDArray[np.float64]


@dataclass(frozen=True, kw_only=True)
class Unrounded:
    """|x| [trials, K] of one operand, and the random bits that round each of them."""

    x: NDArray[np.float64]
    random: NDArray[np.integer]


def dot_errors(
    format_: Format,
    a: Unrounded,
    b: Unrounded,
    terms: NDArray[np.int64],
    signs: Sequence[NDArray[np.number] | None] = (None,),
) -> list[DotErrors]:
    """The errors of one dot product a row, cut off after each of `terms`, which ascend.

    There is a result for each of `signs`, the signs [trials, K] of the terms, 1 or -1; None for no minus. The
    sums are in float64; both operands are rounded.
    """
    trials, last = a.x.shape[0], terms[-1]
    sums: list[list[_Sums]] = [[] for _ in signs]
    # A few rows at a time: for larger arrays in between, the system clears fresh memory each time.
    for start in range(0, trials, _ROWS_AT_ONCE):
        rows = slice(start, start + _ROWS_AT_ONCE), slice(0, last)
        ours, theirs = (rounded(format_, one.x[rows], one.random[rows]) for one in (a, b))
        products = [getattr(ours, name) * getattr(theirs, name) for name in _KINDS]
        for found, sign in zip(sums, signs, strict=True):
            found.append(_sums(products, terms, None if sign is None else sign[rows]))
    return [_errors(terms, found) for found in sums]


_Sums = tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]
"""Exact, rounded to nearest and stochastically, each float64[rows, terms]."""


def _sums(
    products: Sequence[NDArray[np.float64]], terms: NDArray[np.int64], sign: NDArray[np.number] | None
) -> _Sums:
    starts = np.concatenate([[0], terms[:-1]])
    exact, nearest, stochastic = (
        np.cumsum(np.add.reduceat(each if sign is None else each * sign, starts, axis=1), axis=1)
        for each in products
    )
    return exact, nearest, stochastic


def _errors(terms: NDArray[np.int64], sums: Sequence[_Sums]) -> DotErrors:
    exact, nearest, stochastic = (np.concatenate(found) for found in zip(*sums, strict=True))
    size = _rms(exact)
    return DotErrors(
        terms=terms, nearest=_rms(nearest - exact) / size, stochastic=_rms(stochastic - exact) / size
    )


def _rms(error: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.sqrt(np.mean(error**2, axis=0))


@lru_cache(maxsize=_SHRINKAGES_KEPT)
def nearest_shrinkage(format_: Format) -> float:
    """E[round(|z|)] / E[|z|] of round-to-nearest for z from N(0, 1), exactly: 1 where nearest has no bias.

    |z| reaches the k-th value where it is beyond the midpoint m below that value. So E = Σ gap · P(|z| > m),
    with P = erfc(m / √2), divided by E[|z|] = √(2/π).
    """
    values = np.unique(np.abs(format_.values[np.isfinite(format_.values)]))
    middles = (values[1:] + values[:-1]) / 2
    beyond = np.array([math.erfc(m / math.sqrt(2)) for m in middles])
    return float(np.diff(values) @ beyond / math.sqrt(2 / math.pi))


@lru_cache(maxsize=_SHRINKAGES_KEPT)
def noise_ratio(format_: Format) -> float:
    """Stochastic's rms error over nearest's in dot products of terms from N(0, 1), for any K.

    The error of a product has both signs, so K of them add up as √K under either rounding. With r the
    rounded number, E[(r r' - z z')²] = E[r²]² - 2 E[z r]² + E[z²]², summed over |z| with N(0, 1)'s density.
    """
    z = (np.arange(_SAMPLES) + 0.5) * (_FARTHEST / _SAMPLES)
    density = np.exp(-(z**2) / 2)
    density /= density.sum()
    around = neighbors(format_, z)
    low, high, up = around.low, around.high, around.fraction

    def squared(mean: NDArray[np.float64], square: NDArray[np.float64]) -> float:
        return float((density @ square) ** 2 - 2 * (density @ (z * mean)) ** 2 + (density @ z**2) ** 2)

    nearest = nearest_of(format_, z, around)
    noisy = squared(low + (high - low) * up, low**2 * (1 - up) + high**2 * up)
    return math.sqrt(noisy / squared(nearest, nearest**2))
