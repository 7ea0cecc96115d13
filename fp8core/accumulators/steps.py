"""One step of a matrix unit: some products and the running sum, added as the silicon adds them.

Every function takes the step's operands a [M, p] and b [N, p] and c, the running sum float64[M, N], and
returns the new running sum. All of float64 is exact here: significands of at most 24 bits, aligned terms
that are integers below 2**53, scalings by powers of two. Loops run over the products of a step, with [M, N]
arrays inside that fit a cache.

Sources: MMA-Sim, arXiv 2511.10909 (its names for the steps are given below); Khattak & Mikaitis,
arXiv 2512.07004, for NVIDIA's.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fp8core.formats import FORMATS, FloatFormat
from fp8core.rounding import Rounding, round_steps

Array = NDArray[np.float64]

GROUP = 16
"""Products that a block-scaled step adds exactly before it aligns their sum."""
ABSENT = -1_000
"""Exponent of a zero where zeros take no part in finding the largest exponent."""

_FP32 = FORMATS["fp32"]


@dataclass(frozen=True)
class Terms:
    """float64[rows, p] values, and int64[rows, p] exponents, held at the format's smallest normal one."""

    value: Array
    exponent: NDArray[np.int64]

    def columns(self, which: slice) -> "Terms":
        return Terms(self.value[:, which], self.exponent[:, which])


def terms(value: Array, format_: FloatFormat) -> Terms:
    """Operands as the unit splits them. A subnormal keeps the smallest normal exponent, so |s| < 1."""
    return Terms(value, exponents(value, format_))


def exponents(value: Array, format_: FloatFormat) -> NDArray[np.int64]:
    """int64, shape of value: floor(log2 |value|), at least the format's e_min; e_min for zero."""
    _, exponent = np.frexp(value)
    return np.where(
        (value == 0) | ~np.isfinite(value),
        format_.e_min,
        np.maximum(exponent.astype(np.int64) - 1, format_.e_min),
    )


def all_finite(*arrays: Array) -> bool:
    return all(np.isfinite(x).all() for x in arrays)


def all_below(limit: float, a: Array, b: Array, c: Array) -> bool:
    """True if all numbers are finite and no product of a and b reaches the limit."""
    if not all_finite(a, b, c):
        return False
    return limit == np.inf or np.abs(a).max(initial=0.0) * np.abs(b).max(initial=0.0) < limit


def split_special(
    a: Terms, b: Terms, c: Array, limit: float = np.inf
) -> tuple[tuple[Terms, Terms, Array], Array]:
    """(a, b, c with zeros for what is not finite) and float64[M, N]: the special value of each output.

    The special value is the NaN or infinity that the terms of an output give, else 0. An infinity times zero
    gives NaN, and so do infinities of both signs. A product that reaches the limit is infinite.
    """

    def meet(x: NDArray[np.bool_], y: NDArray[np.bool_]) -> NDArray[np.bool_]:
        return x.astype(np.float32) @ y.astype(np.float32).T > 0

    def infinite(x: Array, y: Array) -> NDArray[np.bool_]:
        positive = meet(x == np.inf, y > 0) | meet(x > 0, y == np.inf)
        return positive | meet(x == -np.inf, y < 0) | meet(x < 0, y == -np.inf)

    left, right = a.value, b.value
    plus, minus = (c == np.inf) | infinite(left, right), (c == -np.inf) | infinite(-left, right)
    finite = tuple(Terms(np.where(np.isfinite(x.value), x.value, 0.0), x.exponent) for x in (a, b))
    for k in range(left.shape[1] if limit < np.inf else 0):
        product = np.multiply.outer(finite[0].value[:, k], finite[1].value[:, k])
        plus, minus = plus | (product >= limit), minus | (product <= -limit)
    nan = np.isnan(left).any(1)[:, None] | np.isnan(right).any(1)[None] | np.isnan(c) | (plus & minus)
    nan |= meet(np.isinf(left), right == 0) | meet(left == 0, np.isinf(right))
    special = np.where(nan, np.nan, np.where(plus, np.inf, np.where(minus, -np.inf, 0.0)))
    return (*finite, np.where(np.isfinite(c), c, 0.0)), special


def truncated(
    a: Terms,
    b: Terms,
    c: Array,
    *,
    fraction_bits: int,
    zero_exponent: int,
    out: FloatFormat,
    rounding: Rounding,
) -> Array:
    """NVIDIA's step (T-FDPA): align all terms to the largest, cut them, add exactly, round the sum to `out`.

    The terms are all products and c. E is their largest exponent, and each loses what lies below 2**(E -
    fraction_bits). Products are not renormalized: their exponent is the sum of the operands' exponents. A
    zero term has `zero_exponent`.
    """
    largest = np.where(c == 0, zero_exponent, exponents(c, out))
    largest = _largest_exponent(a, b, largest, zero_exponent)
    unit = np.ldexp(1.0, fraction_bits - largest)
    total = np.trunc(c * unit)
    _add_truncated(total, a, b, unit)
    return rounded(total / unit, out, rounding)


def scaled_groups(
    a: Terms,
    b: Terms,
    c: Array,
    *,
    scales: tuple[Terms, Terms],
    fraction_bits: int,
    zero_exponent: int,
    out: FloatFormat,
    rounding: Rounding,
) -> Array:
    """Blackwell's block-scaled FP4 step (GST-FDPA).

    Products are added exactly within each GROUP. The group sums, times the significands of the scales, are
    aligned by the exponents of the scales. `scales` holds one value a group for a [M, groups] and b [N,
    groups].
    """
    scale_a, scale_b = scales
    groups = scale_a.value.shape[1]
    largest = np.where(c == 0, zero_exponent, exponents(c, _FP32))
    sums = []
    for group in range(groups):
        part = slice(group * GROUP, (group + 1) * GROUP)
        products = a.value[:, part] @ b.value[:, part].T
        factor = np.multiply.outer(scale_a.value[:, group], scale_b.value[:, group])
        exponent = np.add.outer(scale_a.exponent[:, group], scale_b.exponent[:, group])
        is_absent = (np.abs(a.value[:, part]) @ np.abs(b.value[:, part]).T == 0) | (factor == 0)
        largest = np.maximum(largest, np.where(is_absent, zero_exponent, exponent))
        sums.append(products * factor)
    unit = np.ldexp(1.0, fraction_bits - largest)
    total = np.trunc(c * unit)
    for group_sum in sums:
        total += np.trunc(group_sum * unit)
    return rounded(total / unit, out, rounding)


def exact(a: Terms, b: Terms, c: Array) -> Array:
    """CDNA1's step (E-FDPA): add products and c without error, then round once to fp32, nearest even."""
    columns = range(a.value.shape[1])
    products = [np.multiply.outer(a.value[:, k], b.value[:, k]) for k in columns]
    return fp32_sum([*products, c])


def flushed_pairs(a: Terms, b: Terms, c: Array) -> Array:
    """CDNA2's step (FTZ-MUL-ADD): fp32 additions in a tree of pairs, then one to c. Subnormals flush to 0."""
    with np.errstate(invalid="ignore"):
        sums = [
            _flush(np.multiply.outer(_flush_operand(a, k), _flush_operand(b, k)))
            for k in range(a.value.shape[1])
        ]
    while len(sums) > 1:
        sums = [_flushed_sum(x, y) for x, y in zip(sums[::2], sums[1::2], strict=True)]
    return _flushed_sum(_flush(c), sums[0])


def floored(a: Terms, b: Terms, c: Array, *, fraction_bits: int, sum_bits: int, by_parity: bool) -> Array:
    """CDNA3's step (TR-FDPA): truncate the products and add them without c, then align that sum with c.

    Both are rounded down and added. The result is rounded down to `sum_bits`, then to nearest in fp32. For
    fp8 (`by_parity`, GTR-FDPA) even and odd products are first added apart, and a c too small for the sum is
    dropped.
    """
    parts = [slice(0, None, 2), slice(1, None, 2)] if by_parity else [slice(None)]
    sums = [_products(a.columns(part), b.columns(part), fraction_bits) for part in parts]
    exponent = np.maximum.reduce([largest for _, largest in sums])
    if by_parity:
        unit = np.ldexp(1.0, fraction_bits - exponent)
        total = sum(np.floor(value * unit) for value, _ in sums) / unit
    else:
        total = sums[0][0]
    c_exponent = exponents(c, _FP32)
    largest = np.maximum(exponent, c_exponent)
    total_unit = np.ldexp(1.0, sum_bits + 1 - largest)
    c_unit = np.ldexp(1.0, fraction_bits - largest)
    kept_c = np.floor(c * c_unit) / c_unit
    if by_parity:
        kept_c = np.where(c_exponent < largest - fraction_bits - 1, 0.0, kept_c)
    total = np.floor(total * total_unit) / total_unit + kept_c
    unit = np.ldexp(1.0, sum_bits - exponents(total, _FP32))
    return rounded(np.floor(total * unit) / unit, _FP32, Rounding.NEAREST_EVEN)


def fp32_chain(a: Terms, b: Terms, c: Array) -> Array:
    """One fused multiply-add a product, in fp32, nearest even."""
    for k in range(a.value.shape[1]):
        c = fp32_sum([np.multiply.outer(a.value[:, k], b.value[:, k]), c])
    return c


def fp64_chain(a: Terms, b: Terms, c: Array) -> Array:
    """One addition a product, in float64; the products of operands up to 16 bits are exact there."""
    with np.errstate(invalid="ignore"):
        for k in range(a.value.shape[1]):
            c = c + np.multiply.outer(a.value[:, k], b.value[:, k])
    return c


def rounded(x: Array, out: FloatFormat, rounding: Rounding) -> Array:
    """x rounded to a value of `out` by `rounding`. It is infinite beyond the range. A zero comes
    out as +0.
    """
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
            parts[i + 1], parts[i] = _two_sum(parts[i + 1], parts[i])
    total, remainder = parts[-1], np.zeros_like(parts[-1])
    for part in parts[:-1]:
        remainder = np.where(part != 0, part, remainder)
    is_even = (total.view(np.int64) & 1) == 0
    nudged = np.nextafter(total, np.copysign(np.inf, remainder))
    total = np.where((remainder != 0) & is_even, nudged, total)
    with np.errstate(over="ignore"):
        return total.astype(np.float32).astype(np.float64)


def _two_sum(x: Array, y: Array) -> tuple[Array, Array]:
    """The rounded sum and its exact error (Knuth)."""
    with np.errstate(invalid="ignore"):
        total = x + y
        other = total - x
        return total, (x - (total - other)) + (y - other)


def _largest_exponent(
    a: Terms, b: Terms, largest: NDArray[np.int64], zero_exponent: int
) -> NDArray[np.int64]:
    largest = largest.astype(np.int32)
    left = np.where(a.value == 0, ABSENT, a.exponent).astype(np.int32)
    right = np.where(b.value == 0, ABSENT, b.exponent).astype(np.int32)
    if (a.value == 0).any() or (b.value == 0).any():
        has_zero = (a.value == 0).any(1)[:, None] | (b.value == 0).any(1)[None]
        largest = np.where(has_zero, np.maximum(largest, zero_exponent), largest)
    sums = np.empty_like(largest)
    for k in range(a.value.shape[1]):
        np.add.outer(left[:, k], right[:, k], out=sums)
        np.maximum(largest, sums, out=largest)
    return largest


def _add_truncated(total: Array, a: Terms, b: Terms, unit: Array) -> None:
    """Add each product, counted in units, without its fraction."""
    term = np.empty_like(total)
    for k in range(a.value.shape[1]):
        np.multiply.outer(a.value[:, k], b.value[:, k], out=term)
        np.multiply(term, unit, out=term)
        np.trunc(term, out=term)
        np.add(total, term, out=total)


def _products(a: Terms, b: Terms, fraction_bits: int) -> tuple[Array, NDArray[np.int64]]:
    """The truncated sum of products alone, and their largest exponent."""
    shape = a.value.shape[0], b.value.shape[0]
    largest = _largest_exponent(a, b, np.full(shape, ABSENT + 1), ABSENT + 1)
    unit = np.ldexp(1.0, np.where(largest < ABSENT // 2, 0, fraction_bits - largest))
    total = np.zeros(shape)
    _add_truncated(total, a, b, unit)
    return total / unit, largest


def _flushed_sum(x: Array, y: Array) -> Array:
    with np.errstate(over="ignore", invalid="ignore"):
        return _flush((x.astype(np.float32) + y.astype(np.float32)).astype(np.float64))


def _flush(x: Array) -> Array:
    return np.where(np.abs(x) < _FP32.min_normal, np.copysign(0.0, x), x)


def _flush_operand(operand: Terms, k: int) -> Array:
    """A column with its subnormals (below one in units of their exponent) as zeros."""
    value, exponent = operand.value[:, k], operand.exponent[:, k]
    return np.where(np.abs(value) < np.ldexp(1.0, exponent), 0.0, value)
