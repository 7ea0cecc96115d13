"""Operands as a matrix unit splits them, and roundings of its sums, exact in float64."""

from dataclasses import dataclass
from functools import reduce

import numpy as np
from numpy.typing import NDArray

from fp8core.arrays import Float64, Int32, Int64, Integers
from fp8core.formats import FloatFormat, Format
from fp8core.rounding import Rounding, round_steps

ABSENT = -1_000
"""Exponent of a zero, which never is the largest."""
FLOAT64_FRACTION, FLOAT64_BIAS = 52, 1023
"""Fraction bits and exponent bias of float64."""
_FLOAT64_EXPONENTS = 0x7FF


@dataclass(frozen=True)
class Terms:
    """Values and exponents of one shape; exponents are at least the smallest normal one."""

    value: Float64
    exponent: NDArray[np.int16]

    def at(self, places: Integers | slice | tuple[slice, slice]) -> "Terms":
        return Terms(self.value[places], self.exponent[places])


def terms(value: Float64, format_: Format) -> Terms:
    """Split operands. A subnormal keeps the smallest normal exponent, so |s| < 1."""
    return Terms(value, exponents(value, format_, of_zero=ABSENT).astype(np.int16))


def exponents(value: Float64, format_: Format, *, of_zero: int) -> Int32:
    """int32, shape of value: floor(log2 |value|), at least min_normal's; undefined for non-finite values."""
    least = np.frexp(format_.min_normal)[1] - 1
    return np.where(value == 0, np.int32(of_zero), np.maximum(np.frexp(value)[1] - 1, least))


def biased_exponents(value: Float64) -> Int64:
    """int64, shape of value: float64's exponent field; 0 for zero, the largest if not finite."""
    return value.view(np.int64) >> FLOAT64_FRACTION & _FLOAT64_EXPONENTS


def rounded(x: Float64, out: FloatFormat, rounding: Rounding) -> Float64:
    """Round to a value of `out`: infinite beyond the range; zero is +0."""
    if rounding is Rounding.NEAREST_EVEN and out.ml_dtype is not None:
        with np.errstate(over="ignore"):
            return x.astype(out.ml_dtype).astype(np.float64) + 0.0
    unit = out.ulp(x)
    steps = round_steps(np.abs(x) / unit, rounding)
    size = np.where(steps * unit > out.max, np.inf, steps * unit)
    return np.where(size == 0, 0.0, np.copysign(size, x))


def fp32_sum(parts: list[Float64]) -> Float64:
    """Exact sum of float64 arrays, rounded once to fp32, nearest even, as float64.

    Error-free additions leave a float64 and a remainder, whose sign rounds the float64 to odd. Rounding that
    to fp32 rounds the exact sum (Boldo & Melquiond, 2008).
    """
    parts = list(parts)
    for _ in range(len(parts) - 1):
        for i in range(len(parts) - 1):
            parts[i + 1], parts[i] = two_sum(parts[i + 1], parts[i])
    *below, total = parts
    if any(part.any() for part in below):
        total = to_odd(total, reduce(lambda sign, part: np.where(part != 0, part, sign), below))
    with np.errstate(over="ignore"):
        return total.astype(np.float32).astype(np.float64)


def to_odd(total: Float64, remainder: Float64) -> Float64:
    """Round an inexact sum, a float64 and what it lost, to the neighbor whose last bit is 1."""
    is_even = (total.view(np.int64) & 1) == 0
    nudged = np.nextafter(total, np.copysign(np.inf, remainder))
    return np.where((remainder != 0) & is_even, nudged, total)


def two_sum(x: Float64, y: Float64) -> tuple[Float64, Float64]:
    """Rounded sum and its exact error (Knuth)."""
    with np.errstate(invalid="ignore"):
        total = x + y
        other = total - x
        return total, (x - (total - other)) + (y - other)
