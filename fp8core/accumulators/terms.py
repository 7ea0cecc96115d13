"""Operands as a matrix unit splits them, and the roundings of its sums. All of it is exact in float64."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fp8core.formats import FloatFormat
from fp8core.rounding import Rounding, round_steps

Array = NDArray[np.float64]

ABSENT = -1_000
"""Exponent of a zero: it takes no part in finding the largest exponent."""
FLOAT64_FRACTION, FLOAT64_BIAS = 52, 1023
"""Of a float64: its fraction bits, and what is added to the exponent above them."""
_FLOAT64_EXPONENTS = 0x7FF


@dataclass(frozen=True)
class Terms:
    """float64 values and int16 exponents of one shape, exponents held at the format's smallest normal one."""

    value: Array
    exponent: NDArray[np.int16]

    def at(self, places: NDArray[np.integer] | slice | tuple[slice, slice]) -> "Terms":
        """The part at these places."""
        return Terms(self.value[places], self.exponent[places])


def terms(value: Array, format_: FloatFormat) -> Terms:
    """Operands as the unit splits them. A subnormal keeps the smallest normal exponent, so |s| < 1."""
    return Terms(value, exponents(value, format_, of_zero=ABSENT).astype(np.int16))


def exponents(value: Array, format_: FloatFormat, *, of_zero: int) -> NDArray[np.int32]:
    """int32, shape of value: floor(log2 |value|), at least the format's e_min; no meaning beside numbers."""
    return np.where(value == 0, np.int32(of_zero), np.maximum(np.frexp(value)[1] - 1, format_.e_min))


def biased_exponents(value: Array) -> NDArray[np.int64]:
    """int64, shape of value: exponents as they stand in float64, 0 for zero, the largest beside numbers."""
    return value.view(np.int64) >> FLOAT64_FRACTION & _FLOAT64_EXPONENTS


def rounded(x: Array, out: FloatFormat, rounding: Rounding) -> Array:
    """x rounded to a value of `out` by `rounding`. It is infinite beyond the range. A zero comes
    out as +0.
    """
    if rounding is Rounding.NEAREST_EVEN and out.ml_dtype is not None:
        with np.errstate(over="ignore"):
            return x.astype(out.ml_dtype).astype(np.float64) + 0.0
    unit = out.ulp(x)
    steps = round_steps(np.abs(x) / unit, rounding)
    size = np.where(steps * unit > out.max, np.inf, steps * unit)
    return np.where(size == 0, 0.0, np.copysign(size, x))


def fp32_sum(parts: list[Array]) -> Array:
    """The exact sum of float64 arrays, rounded once to fp32, nearest even, as float64.

    Error-free additions leave the sum as a float64 and a remainder. The sign of the remainder rounds the
    float64 to odd. One rounding to the narrower format then gives the rounding of the exact sum (Boldo &
    Melquiond, 2008).
    """
    parts = list(parts)
    for _ in range(len(parts) - 1):
        for i in range(len(parts) - 1):
            parts[i + 1], parts[i] = two_sum(parts[i + 1], parts[i])
    *below, total = parts
    if any(part.any() for part in below):
        total = _to_odd(total, below)
    with np.errstate(over="ignore"):
        return total.astype(np.float32).astype(np.float64)


def _to_odd(total: Array, below: list[Array]) -> Array:
    """The sum of all parts rounded to odd: an even `total` moves by one bit toward what lies below it."""
    remainder = np.zeros_like(total)
    for part in below:
        remainder = np.where(part != 0, part, remainder)
    is_even = (total.view(np.int64) & 1) == 0
    nudged = np.nextafter(total, np.copysign(np.inf, remainder))
    return np.where((remainder != 0) & is_even, nudged, total)


def two_sum(x: Array, y: Array) -> tuple[Array, Array]:
    """The rounded sum and its exact error (Knuth)."""
    with np.errstate(invalid="ignore"):
        total = x + y
        other = total - x
        return total, (x - (total - other)) + (y - other)
