"""Steps of a matrix unit: some products and the running sum, added as the silicon adds them.

Arguments: operands of T steps, a [T, p, C, M] and b [T, p, C, N], and running sums c float64[C, M, N] of C
chains. Result: c after these steps. Terms independent of c are computed for all T steps at once.

float64 is exact here: significands of at most 24 bits, aligned terms below 2**53, scaling by powers of two.

Sources: MMA-Sim, arXiv 2511.10909 (names of the steps); Khattak & Mikaitis, arXiv 2512.07004 (NVIDIA).
"""

from functools import reduce

import numpy as np
from numpy.typing import NDArray

from fp8core.accumulators.model import Accumulator
from fp8core.accumulators.terms import (
    ABSENT,
    FLOAT64_BIAS,
    FLOAT64_FRACTION,
    Terms,
    biased_exponents,
    exponents,
    fp32_sum,
    rounded,
    two_sum,
)
from fp8core.arrays import Float64, Floats, Int32
from fp8core.formats import FORMATS
from fp8core.rounding import Rounding

GROUP = 16
"""Products that a block-scaled step adds exactly before the alignment."""

_FP32 = FORMATS["fp32"]
_TERM_BITS = 12
"""A term is below 2**_TERM_BITS times its power of two of alignment, also a scaled group's sum."""


def truncated(a: Terms, b: Terms, c: Float64, unit: Accumulator) -> Float64:
    """NVIDIA's step (T-FDPA): align all terms to the largest, cut, add exactly, round the sum to `out`.

    Terms are all products and c. E is their largest exponent; bits below 2**(E - fraction_bits) are cut.
    Products are not renormalized: their exponent is the sum of the operands'. A zero has `zero_exponent`.
    """
    steps, products = a.value.shape[:2]
    terms = np.empty((steps, products + 1, *c.shape))  # of a step: its products and, last, c
    _outer(a.value, b.value, out=terms[:, :products])
    largest = _largest_exponent(a, b)
    has_zero = _outer((a.value == 0).any(1), (b.value == 0).any(1), np.logical_or)
    largest = np.maximum(largest, np.where(has_zero, unit.zero_exponent, ABSENT))
    return _aligned(terms, largest.astype(np.int32), c, unit)


def scaled_groups(a: Terms, b: Terms, c: Float64, unit: Accumulator, scales: tuple[Terms, Terms]) -> Float64:
    """Blackwell's block-scaled FP4 step (GST-FDPA).

    Products are added exactly within each GROUP. Group sums, times the scales' significands, are aligned by
    the scales' exponents. `scales`: one value a group, a [T, groups, C, M] and b [T, groups, C, N].
    """
    scale_a, scale_b = scales
    steps, groups = scale_a.value.shape[:2]
    left, right = (
        np.moveaxis(x.value.reshape(steps, groups, GROUP, *x.value.shape[2:]), 2, -1) for x in (a, b)
    )
    factor = _outer(scale_a.value, scale_b.value)
    is_absent = (np.abs(left) @ np.abs(right).swapaxes(-1, -2) == 0) | (factor == 0)
    exponent = _outer(scale_a.exponent, scale_b.exponent, np.add)
    largest = np.where(is_absent, unit.zero_exponent, exponent).max(1).astype(np.int32)
    terms = np.empty((steps, groups + 1, *c.shape))
    np.multiply(left @ right.swapaxes(-1, -2), factor, out=terms[:, :groups])
    return _aligned(terms, largest, c, unit)


def exact(a: Terms, b: Terms, c: Float64) -> Float64:
    """CDNA1's step (E-FDPA): exact sum, rounded once to fp32."""
    products = _outer(a.value, b.value)
    total = products[:, 0]
    for k in range(1, products.shape[1]):
        total, error = two_sum(total, products[:, k])
        if error.any():
            return reduce(lambda c, of_step: fp32_sum([*of_step, c]), products, c)
    return _fp32_sums(total, c)


def flushed_pairs(a: Terms, b: Terms, c: Float64) -> Float64:
    """CDNA2's step (FTZ-MUL-ADD): fp32 additions in a tree of pairs, then to c. Subnormals flush to 0."""
    with np.errstate(invalid="ignore", over="ignore"):
        sums = _flush(_outer(_flush_operand(a), _flush_operand(b))).astype(np.float32)
        while sums.shape[1] > 1:
            sums = _flush(sums[:, ::2] + sums[:, 1::2])
        c = _flush(c).astype(np.float32)
        sums_so_far = np.empty_like(sums[:, 0])
        last = c
        for addend, there in zip(sums[:, 0], sums_so_far, strict=True):
            last = np.add(last, addend, out=there)
        if not np.array_equal(_flush(sums_so_far), sums_so_far, equal_nan=True):
            last = reduce(lambda c, addend: _flush(c + addend), sums[:, 0], c)
    return last.astype(np.float64)


def floored(a: Terms, b: Terms, c: Float64, unit: Accumulator, *, by_parity: bool) -> Float64:
    """CDNA3's step (TR-FDPA): truncate and add products without c, then align that sum with c.

    Both are rounded down and added. The result is rounded down to `sum_bits`, then to nearest in fp32. For
    fp8 (`by_parity`, GTR-FDPA) even and odd products are added apart, and a c too small for the sum is
    dropped.
    """
    fraction_bits, sum_bits = unit.fraction_bits, unit.sum_bits
    parts = [slice(0, None, 2), slice(1, None, 2)] if by_parity else [slice(None)]
    sums = [_products(a.at((slice(None), part)), b.at((slice(None), part)), fraction_bits) for part in parts]
    exponent = np.maximum.reduce([largest for _, largest in sums])
    totals = sums[0][0]
    if by_parity:
        scale = np.ldexp(1.0, fraction_bits - exponent)
        totals = sum(np.floor(value * scale) for value, _ in sums) / scale
    e_min = _FP32.e_min
    for total, most in zip(totals, exponent, strict=True):
        c_exponent = np.maximum(biased_exponents(c) - FLOAT64_BIAS, e_min)
        largest = np.maximum(most, c_exponent)
        c_scale = np.ldexp(1.0, fraction_bits - largest)
        kept_c = np.floor(c * c_scale) / c_scale
        if by_parity:
            kept_c = np.where(c_exponent < largest - fraction_bits - 1, 0.0, kept_c)
        scale = np.ldexp(1.0, sum_bits + 1 - largest)
        result = np.floor(total * scale) / scale + kept_c
        top = np.maximum(biased_exponents(result) - FLOAT64_BIAS, e_min)
        scale = np.ldexp(1.0, sum_bits - top)
        c = rounded(np.floor(result * scale) / scale, _FP32, Rounding.NEAREST_EVEN)
    return c


def fp32_chain(a: Terms, b: Terms, c: Float64) -> Float64:
    """One fp32 fused multiply-add a product."""
    products = _outer(a.value, b.value).reshape(-1, *c.shape)
    with np.errstate(over="ignore", invalid="ignore"):
        in_fp32 = products.astype(np.float32)
        if np.array_equal(in_fp32, products):  # then adding in fp32 rounds once, too
            return reduce(np.add, in_fp32, c.astype(np.float32)).astype(np.float64)
    return _fp32_sums(products, c)


def fp64_chain(a: Terms, b: Terms, c: Float64) -> Float64:
    """One float64 addition a product; products of operands up to 16 bits are exact."""
    with np.errstate(invalid="ignore"):
        products = _outer(a.value, b.value).reshape(-1, *c.shape)
        return reduce(np.add, products, c)


def _outer(a: Float64, b: Float64, combine: np.ufunc = np.multiply, out: Float64 | None = None) -> Float64:
    return combine(a[..., :, None], b[..., None, :], out=out)


def _largest_exponent(a: Terms, b: Terms) -> NDArray[np.int16]:
    """int16[T, C, M, N]: largest exponent of each step's products; below ABSENT / 2 for zeros."""
    return _outer(a.exponent, b.exponent, np.add).max(1)


def _aligned(terms: Float64, largest: Int32, c: Float64, unit: Accumulator) -> Float64:
    """c after steps that cut all terms below the largest exponent. The last term of a step is for c."""
    if _stays_normal(terms, largest, c, unit):
        return _aligned_normal(terms, largest, c, unit)
    for term, exponent in zip(terms, largest, strict=True):
        term[-1] = c
        c_exponent = exponents(c, unit.out, of_zero=unit.zero_exponent)
        scale = np.ldexp(1.0, unit.fraction_bits - np.maximum(exponent, c_exponent))
        c = rounded(_cut_sum(term, scale) / scale, unit.out, unit.out_rounding)
    return c


def _stays_normal(terms: Float64, largest: Int32, c: Float64, unit: Accumulator) -> bool:
    """Return True if every sum is zero or normal in `out`, and rounding only drops bits."""
    if unit.out_rounding is not Rounding.TOWARD_ZERO:
        return False
    lowest, highest = int(largest.min()), int(largest.max())
    most = float(np.abs(c).max()) + terms.shape[0] * terms.shape[1] * 2.0 ** (highest + _TERM_BITS)
    return most <= unit.out.max and lowest - unit.fraction_bits >= unit.out.e_min


def _aligned_normal(terms: Float64, largest: Int32, c: Float64, unit: Accumulator) -> Float64:
    """Loop of `_aligned` on float64's own bits, with biased exponents."""
    biased = largest.astype(np.int64) + FLOAT64_BIAS
    of_scale = unit.fraction_bits + 2 * FLOAT64_BIAS
    mask = -1 << FLOAT64_FRACTION - unit.out.mantissa_bits
    for term, exponent in zip(terms, biased, strict=True):
        term[-1] = c
        scale = (of_scale - np.maximum(exponent, biased_exponents(c)) << FLOAT64_FRACTION).view(np.float64)
        total = _cut_sum(term, scale) / scale
        c = (total.view(np.int64) & mask).view(np.float64)
    return c


def _cut_sum(term: Float64, scale: Float64) -> Float64:
    """float64[C, M, N]: sum of a step's terms in units of 1 / scale, fractions cut."""
    np.multiply(term, scale, out=term)
    np.trunc(term, out=term)
    return np.add.reduce(term, 0, initial=0.0)


def _products(a: Terms, b: Terms, fraction_bits: int) -> tuple[Float64, Int32]:
    largest = np.maximum(_largest_exponent(a, b), ABSENT + 1).astype(np.int32)
    scale = np.ldexp(1.0, np.where(largest < ABSENT // 2, 0, fraction_bits - largest))
    terms = _outer(a.value, b.value)
    np.multiply(terms, scale[:, None], out=terms)
    np.trunc(terms, out=terms)
    return terms.sum(1) / scale, largest


def _fp32_sums(addends: Float64, c: Float64) -> Float64:
    """Add [T, C, M, N] to c one by one, each sum rounded once to fp32.

    float64 usually holds every sum: rounding it is rounding the exact sum.
    """
    sums_so_far = np.empty((len(addends) + 1, *c.shape), np.float32)
    sums_so_far[0] = c
    with np.errstate(over="ignore", invalid="ignore"):
        for before, addend, after in zip(sums_so_far, addends, sums_so_far[1:], strict=False):
            np.add(before, addend, out=after)  # in float64, as the addend is
    if two_sum(sums_so_far[:-1].astype(np.float64), addends)[1].any():
        return reduce(lambda c, addend: fp32_sum([addend, c]), addends, c)
    return sums_so_far[-1].astype(np.float64)


def _flush(x: Floats) -> Floats:
    return np.where(np.abs(x) < _FP32.min_normal, np.copysign(x.dtype.type(0), x), x)


def _flush_operand(operand: Terms) -> Float64:
    """Replace subnormal operands, below one in units of their exponent, by zeros."""
    is_subnormal = np.abs(operand.value) < np.ldexp(1.0, operand.exponent.astype(np.int32))
    return np.where(is_subnormal, 0.0, operand.value)
