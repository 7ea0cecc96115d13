"""Stochastic rounding with N random bits a value, as in hardware, and its exact moments.

The random R in 0..2**N is added to the N bits below the last place; a carry rounds up (PTX `cvt.rs`; IEEE
P3109's StochasticA). Bits below those N are dropped, a bias toward zero of less than 2**-N of a step.
Variants B and C round these bits, which removes most of the bias.
"""

from dataclasses import dataclass
from enum import Enum
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fp8core.arrays import Float64, Int64, Integers
from fp8core.checks import instance, reals, whole
from fp8core.formats import Format
from fp8core.ladder import ladder, signed
from fp8core.rounding import Overflow, Rounding

MAX_RANDOM_BITS = 24
ALMOST_ONE = np.nextafter(1.0, 0.0)


class Debias(Enum):
    """Treatment of the fraction's bits below the N random ones (P3109's A, B, C)."""

    TRUNCATE = "A: dropped"
    HALF_UP = "B: rounded, ties up"
    NEAREST_EVEN = "C: rounded, ties to even"


@dataclass(frozen=True, kw_only=True)
class Neighbors:
    """Values around each x: `low` toward zero, `high` away, and x's share of the gap."""

    low: Float64
    high: Float64
    fraction: Float64

    @property
    def gap(self) -> Float64:
        """high - low, with the sign of `high` also for zero: -0 plus a gap of -0 stays -0."""
        return np.copysign(self.high - self.low, self.high)


def neighbors(format_: Format, x: ArrayLike) -> Neighbors:
    """Values of the format around x; both are the largest beyond it."""
    x = reals("x", x).astype(np.float64, copy=False)
    steps = ladder(format_)
    if steps is None or np.isnan(x).any():
        return _encoded_neighbors(format_, x)
    negative = np.signbit(x).any()
    if negative and not steps.is_symmetric:
        return _encoded_neighbors(format_, x)
    size = np.minimum(np.abs(x), steps.top)
    at = steps.below(size)
    low, gap = steps.steps[at], steps.gaps[at]
    beyond = size - low
    fraction = beyond / gap
    high = np.where(beyond > 0, low + gap, low)
    if negative:
        low, high = (signed(one, x, steps.has_minus_zero) for one in (low, high))
    return Neighbors(low=low, high=high, fraction=fraction)


def _encoded_neighbors(format_: Format, x: Float64) -> Neighbors:
    low = format_.decode(format_.encode(x, Rounding.TOWARD_ZERO))
    high = format_.decode(codes_away(format_, low, x))
    high = np.where(np.abs(low) < np.abs(x), high, low)
    gap = np.abs(high - low)
    inside = gap > 0
    fraction = np.where(inside, np.abs(x - low) / np.where(inside, gap, 1.0), 0.0)
    return Neighbors(low=low, high=high, fraction=fraction)


def codes_away(
    format_: Format, low: ArrayLike, x: ArrayLike, overflow: Overflow = Overflow.SATURATE
) -> NDArray[Any]:
    """Codes of the values next to `low` away from zero, with the sign of x."""
    gap = np.where(np.abs(np.asarray(low)) >= format_.max, format_.gap_beyond, format_.ulp(low))
    # The middle of the gap rounds away whatever the size of x; noise next to 1 would miss a tiny x.
    middle = np.copysign(np.abs(low) + gap / 2, x)
    return format_.encode(middle, Rounding.STOCHASTIC, overflow, np.full(middle.shape, ALMOST_ONE))


def chances(fraction: ArrayLike, bits: int, debias: Debias = Debias.TRUNCATE) -> Int64:
    """Number of the 2**bits values of R that round up, for fractions in [0, 1) of a step.

    Raises ValueError for bits outside 1 to 24, or a fraction outside [0, 1).
    """
    return _whole_chances(fraction, bits, debias).astype(np.int64)


def _whole_chances(fraction: ArrayLike, bits: int, debias: Debias) -> Float64:
    whole("the number of random bits", bits, 1, MAX_RANDOM_BITS)
    fraction = reals("a fraction", fraction).astype(np.float64, copy=False)
    if fraction.size and not (fraction.min() >= 0 and fraction.max() < 1):
        raise ValueError(f"a fraction lies in [0, 1), got {fraction.min()} to {fraction.max()}")
    chance = fraction * float(1 << bits)
    match instance("debias", debias, Debias):
        case Debias.TRUNCATE:
            return np.floor(chance)
        case Debias.HALF_UP:
            return np.floor(chance + 0.5)
        case Debias.NEAREST_EVEN:
            return np.rint(chance)


def nearest_of(format_: Format, x: Float64, around: Neighbors) -> Float64:
    """Round each x to nearest even by its neighbors; the largest value beyond it."""
    nearest = around.low + (around.fraction > 0.5) * around.gap
    ties = around.fraction == 0.5
    if ties.any():
        nearest[ties] = format_.decode(format_.encode(x[ties]))
    return nearest


def draw(around: Neighbors, random: Integers, bits: int, debias: Debias = Debias.TRUNCATE) -> Float64:
    """Choose one neighbor of each x by `random`, R in 0..2**bits."""
    chance = _whole_chances(around.fraction, bits, debias)
    random = reals("random", random)
    if random.dtype.kind not in "iu" or (random.size and not 0 <= random.min() <= random.max() < 1 << bits):
        raise ValueError(f"random holds integers from 0 to {(1 << bits) - 1}, got {random.dtype} beyond them")
    # A choice between two numbers would take several times as long as the product.
    return around.low + (chance + random >= 1 << bits) * around.gap


def round_stochastic(
    format_: Format, x: ArrayLike, random: Integers, bits: int, debias: Debias = Debias.TRUNCATE
) -> Float64:
    """Round x to values of the format by `random`, R in 0..2**bits.

    A negative number that becomes zero, and -0, become -0 if the format has it, as in `encode`.
    """
    return draw(neighbors(format_, x), random, bits, debias)


@dataclass(frozen=True, kw_only=True)
class Moments:
    """Exact mean and variance of the rounded value over all 2**bits equally likely R."""

    mean: Float64
    variance: Float64


def moments(format_: Format, x: ArrayLike, bits: int, debias: Debias = Debias.TRUNCATE) -> Moments:
    """E = low + p · (high - low), Var = p (1 - p) (high - low)², with p = chances / 2**bits."""
    around = neighbors(format_, x)
    p = _whole_chances(around.fraction, bits, debias) / float(1 << bits)
    gap = around.gap
    return Moments(mean=around.low + p * gap, variance=p * (1 - p) * gap**2)
