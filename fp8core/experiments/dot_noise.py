"""Sum of rounding errors in a dot product of K terms: noise grows as √K, a bias as K."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from fp8core.arrays import Float64, Int64, Integers
from fp8core.formats import Format
from fp8core.stochastic import MAX_RANDOM_BITS, draw, nearest_of, neighbors

_SHRINKAGES_KEPT = 64
_ROWS_AT_ONCE = 4
_SAMPLES, _FARTHEST = 1 << 14, 8.0


class Rounded(NamedTuple):
    """|x| and its two roundings, which treat both signs alike: a sign can come later."""

    exact: Float64
    nearest: Float64
    stochastic: Float64


def rounded(format_: Format, x: Float64, random: Integers) -> Rounded:
    """Round x in both ways, without a scale. `random`: MAX_RANDOM_BITS bits each, shape of x."""
    around = neighbors(format_, x)
    return Rounded(
        exact=x,
        nearest=nearest_of(format_, x, around),
        stochastic=draw(around, random, MAX_RANDOM_BITS),
    )


@dataclass(frozen=True, kw_only=True)
class DotErrors:
    """Error of dot products of `terms` terms: its rms over the exact results'."""

    terms: Int64
    nearest: Float64
    stochastic: Float64


@dataclass(frozen=True, kw_only=True)
class Unrounded:
    x: Float64
    random: Integers


def dot_errors(
    format_: Format,
    a: Unrounded,
    b: Unrounded,
    terms: Int64,
    signs: Sequence[NDArray[np.number] | None] = (None,),
) -> list[DotErrors]:
    """Errors of one dot product a row, after each of `terms`, which ascend.

    One result for each of `signs`, [trials, K] of ±1, or None. Sums are in float64; both operands are
    rounded.
    """
    trials, last = a.x.shape[0], terms[-1]
    sums: list[list[Float64]] = [[] for _ in signs]
    # A few rows at a time: for larger arrays in between, the system clears fresh memory each time.
    for start in range(0, trials, _ROWS_AT_ONCE):
        rows = slice(start, start + _ROWS_AT_ONCE), slice(0, last)
        ours, theirs = (rounded(format_, one.x[rows], one.random[rows]) for one in (a, b))
        products = [left * right for left, right in zip(ours, theirs, strict=True)]
        for parts, sign in zip(sums, signs, strict=True):
            parts.append(_sums(products, terms, None if sign is None else sign[rows]))
    return [_errors(terms, np.concatenate(parts, axis=1)) for parts in sums]


def _sums(products: Sequence[Float64], terms: Int64, sign: NDArray[np.number] | None) -> Float64:
    """float64[3, rows, terms]: exact, nearest and stochastic sums."""
    starts = np.concatenate([[0], terms[:-1]])
    signed = products if sign is None else [each * sign for each in products]
    return np.stack([np.cumsum(np.add.reduceat(each, starts, axis=1), axis=1) for each in signed])


def _errors(terms: Int64, sums: Float64) -> DotErrors:
    exact, nearest, stochastic = sums
    size = _rms(exact)
    return DotErrors(
        terms=terms, nearest=_rms(nearest - exact) / size, stochastic=_rms(stochastic - exact) / size
    )


def _rms(error: Float64) -> Float64:
    return np.sqrt(np.mean(error**2, axis=0))


@lru_cache(maxsize=_SHRINKAGES_KEPT)
def nearest_shrinkage(format_: Format) -> float:
    """E[round(|z|)] / E[|z|] of round-to-nearest for z from N(0, 1), exactly; 1 without bias.

    |z| reaches the k-th value beyond the midpoint m below it: E = Σ gap · P(|z| > m), P = erfc(m / √2), over
    E[|z|] = √(2/π).
    """
    values = np.unique(np.abs(format_.values[np.isfinite(format_.values)]))
    middles = (values[1:] + values[:-1]) / 2
    beyond = np.array([math.erfc(m / math.sqrt(2)) for m in middles])
    return float(np.diff(values) @ beyond / math.sqrt(2 / math.pi))


@lru_cache(maxsize=_SHRINKAGES_KEPT)
def noise_ratio(format_: Format) -> float:
    """Stochastic's rms error over nearest's, in dot products of N(0, 1) terms, for any K.

    Errors of products have both signs, so they add up as √K under either rounding. With r the rounded number,
    E[(r r' - z z')²] = E[r²]² - 2 E[z r]² + E[z²]², summed over |z| with N(0, 1)'s density.
    """
    z = (np.arange(_SAMPLES) + 0.5) * (_FARTHEST / _SAMPLES)
    density = np.exp(-(z**2) / 2)
    density /= density.sum()
    around = neighbors(format_, z)
    low, high, up = around.low, around.high, around.fraction

    def squared(mean: Float64, square: Float64) -> float:
        return float((density @ square) ** 2 - 2 * (density @ (z * mean)) ** 2 + (density @ z**2) ** 2)

    nearest = nearest_of(format_, z, around)
    noisy = squared(low + (high - low) * up, low**2 * (1 - up) + high**2 * up)
    return math.sqrt(noisy / squared(nearest, nearest**2))
