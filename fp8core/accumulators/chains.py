"""Chains of steps over K: running sums, and promotion between chains.

A chain goes from step to step by the unit's rule. NaN and infinity bypass the rules and follow IEEE 754.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from typing import assert_never

import numpy as np

from fp8core.accumulators import steps
from fp8core.accumulators.model import Accumulator, Step
from fp8core.accumulators.terms import ABSENT, Terms
from fp8core.arrays import Bools, Float32, Float64, Int64
from fp8core.formats import FORMATS
from fp8core.tiles import WHOLE

AT_ONCE = 1 << 16
"""Products at work at once: few enough for a processor's cache."""

_IEEE = (Step.FLUSHED_PAIRS, Step.FP64_CHAIN)
"""Steps of IEEE additions, which handle NaN and infinities themselves."""
_PRODUCT_LIMITS = {Step.FLOORED: 2.0 ** (FORMATS["fp32"].e_max + 1)}
"""Sizes from which on a single product is infinite."""


@dataclass(frozen=True)
class Operands:
    """Terms in the order of addition: a [K, M], b [K, N] for all of K, or those of some steps.

    `scales`: those of a block-scaled unit, one for each steps.GROUP products.
    """

    a: Terms
    b: Terms
    scales: tuple[Terms, Terms] | None = None

    def at(self, places: Int64) -> "Operands":
        """Operands at places [T, p, C] of K: a [T, p, C, M], b and scales likewise."""
        scales = self.scales
        if scales is not None:
            groups = places[:, :: steps.GROUP] // steps.GROUP
            scales = scales[0].at(groups), scales[1].at(groups)
        return Operands(self.a.at(places), self.b.at(places), scales)

    def rows(self, rows: slice) -> "Operands":
        scales = self.scales and (self.scales[0].at((slice(None), rows)), self.scales[1])
        return Operands(self.a.at((slice(None), rows)), self.b, scales)

    def step(self, number: int) -> "Operands":
        one = slice(number, number + 1)
        scales = self.scales and (self.scales[0].at(one), self.scales[1].at(one))
        return Operands(self.a.at(one), self.b.at(one), scales)


def running_sums(
    operands: Operands, unit: Accumulator, start: Float32, lengths: Sequence[int]
) -> list[Float32]:
    """float32[M, N] for each of `lengths`: the unit's sum of the first k products, added to `start`.

    Lengths are multiples of the unit's step, in rising order.
    """
    # A signaling NaN in c is quieted, and a sum in fp64 may be beyond fp32: infinity.
    with np.errstate(invalid="ignore", over="ignore"):
        if unit.promotion is not WHOLE:
            return _promoted_sums(operands, unit, start, unit.promotion, lengths)
        results, chain, start_k = [], start.astype(np.float64)[None], 0
        for k in lengths:
            chain, start_k = advanced(operands, unit, chain, np.array([0]), range(start_k, k)), k
            results.append(chain[0].astype(np.float32))
        return results


def _promoted_sums(
    operands: Operands, unit: Accumulator, total: Float32, every: int, lengths: Sequence[int]
) -> list[Float32]:
    results, zero, start_k = [], np.zeros((1, *total.shape)), 0
    for k in lengths:
        promoted = k - k % every
        total = _with_chains(operands, unit, total, range(start_k, promoted, every))
        rest = advanced(operands, unit, zero, np.array([promoted]), range(k - promoted))
        results.append(total if k == promoted else total + rest[0].astype(np.float32))
        start_k = promoted
    return results


def _with_chains(operands: Operands, unit: Accumulator, total: Float32, begins: range) -> Float32:
    """Add to `total`, in fp32, chains that begin at `begins` and end at the next one."""
    at_once = max(1, AT_ONCE // max(1, total.size))
    for first in range(0, len(begins), at_once):
        some = np.array(begins[first : first + at_once])
        ends = advanced(operands, unit, np.zeros((some.size, *total.shape)), some, range(begins.step))
        total = added_in_fp32(total, ends)
    return total


def added_in_fp32(total: Float32, ends: Float64) -> Float32:
    with np.errstate(invalid="ignore", over="ignore"):
        return reduce(np.add, ends.astype(np.float32), total)


def advanced(operands: Operands, unit: Accumulator, c: Float64, begins: Int64, products: range) -> Float64:
    """Advance chains' running sums c [C, M, N] by these products, counted from each chain's begin."""
    if not products or not c.size:
        return c
    width = unit.fused_products
    places = np.array(products).reshape(-1, width, 1)
    of_a_chain = width * c[0].size
    chains = max(1, AT_ONCE // of_a_chain)
    results = []
    for first in range(0, begins.size, chains):
        some = slice(first, first + chains)
        sums = c[some]
        count = max(1, AT_ONCE // (of_a_chain * sums.shape[0]))
        for step in range(0, places.shape[0], count):
            sums = _advanced(operands.at(places[step : step + count] + begins[some]), unit, sums)
        results.append(sums)
    return np.concatenate(results)


def _advanced(some: Operands, unit: Accumulator, c: Float64) -> Float64:
    """Running sums c after some steps: all at once if every number stays finite, else step by step."""
    limit = _PRODUCT_LIMITS.get(unit.step, np.inf)
    if unit.step in _IEEE:
        return _steps(some, unit, c)
    if _all_below(limit, some, c):
        with np.errstate(invalid="ignore", over="ignore"):
            sums = _steps(some, unit, c)
        if np.isfinite(sums).all():  # no rule leads back from NaN or infinity
            return sums
    for number in range(some.a.value.shape[0]):
        finite, ordinary, special = _split_special(some.step(number), c, limit)
        c = np.where(np.isfinite(special), _steps(finite, unit, ordinary), special)
    return c


def _steps(some: Operands, unit: Accumulator, c: Float64) -> Float64:
    a, b = some.a, some.b
    match unit.step:
        case Step.TRUNCATED:
            return steps.truncated(a, b, c, unit)
        case Step.SCALED_GROUPS:
            return steps.scaled_groups(a, b, c, unit, some.scales)
        case Step.EXACT:
            return steps.exact(a, b, c)
        case Step.FLUSHED_PAIRS:
            return steps.flushed_pairs(a, b, c)
        case Step.FLOORED | Step.FLOORED_BY_PARITY:
            return steps.floored(a, b, c, unit, by_parity=unit.step is Step.FLOORED_BY_PARITY)
        case Step.FP32_CHAIN:
            return steps.fp32_chain(a, b, c)
        case Step.FP64_CHAIN:
            return steps.fp64_chain(a, b, c)
        case _:
            assert_never(unit.step)


def _all_below(limit: float, some: Operands, c: Float64) -> bool:
    sizes = [np.abs(x).max(initial=0.0) for x in (some.a.value, some.b.value, c)]
    return all(np.isfinite(sizes)) and (limit == np.inf or sizes[0] * sizes[1] < limit)


def _split_special(some: Operands, c: Float64, limit: float) -> tuple[Operands, Float64, Float64]:
    """Replace one step's non-finite numbers by zeros, with each output's special value.

    That value, float64[C, M, N], is the NaN or infinity of an output's terms, else 0. Infinity times zero,
    and infinities of both signs, give NaN. A product at the limit is infinite.
    """

    def meet(x: Bools, y: Bools) -> Bools:
        rows, columns = np.moveaxis(x[0], 0, -1), np.moveaxis(y[0], 0, -1)
        return rows.astype(np.float32) @ columns.astype(np.float32).swapaxes(-1, -2) > 0

    def infinite(x: Float64, y: Float64) -> Bools:
        positive = meet(x == np.inf, y > 0) | meet(x > 0, y == np.inf)
        return positive | meet(x == -np.inf, y < 0) | meet(x < 0, y == -np.inf)

    left, right = some.a.value, some.b.value
    plus, minus = (c == np.inf) | infinite(left, right), (c == -np.inf) | infinite(-left, right)
    a, b = _finite(some.a), _finite(some.b)
    if limit < np.inf:
        products = a.value[0, ..., :, None] * b.value[0, ..., None, :]
        plus, minus = plus | (products >= limit).any(0), minus | (products <= -limit).any(0)
    has_nan = np.isnan(left[0]).any(0)[..., :, None] | np.isnan(right[0]).any(0)[..., None, :]
    nan = has_nan | np.isnan(c) | (plus & minus)
    nan |= meet(np.isinf(left), right == 0) | meet(left == 0, np.isinf(right))
    special = np.where(nan, np.nan, np.where(plus, np.inf, np.where(minus, -np.inf, 0.0)))
    return Operands(a, b, some.scales), np.where(np.isfinite(c), c, 0.0), special


def _finite(x: Terms) -> Terms:
    is_finite = np.isfinite(x.value)
    return Terms(np.where(is_finite, x.value, 0.0), np.where(is_finite, x.exponent, ABSENT).astype(np.int16))
