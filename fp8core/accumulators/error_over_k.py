"""Errors of an accumulator's sums as K grows."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from fp8core.accumulators.chains import Operands, added_in_fp32, advanced
from fp8core.accumulators.model import Accumulator, Step, check_codes
from fp8core.accumulators.multiply import GroupScales, canonical, laid_out, prefix_results
from fp8core.arrays import Float32, Float64, Floats, Integers
from fp8core.checks import whole
from fp8core.formats import FORMATS, FloatFormat

_UNSCALED_GROUP = 16


@dataclass(frozen=True, kw_only=True)
class SumError:
    """Error of many sums of K products, relative to the exact sums.

    rms = √mean(error²) / √mean(exact²). bias = mean(error · sign(exact)) / mean|exact|, below 0 where results
    lie nearer to zero than the exact sums.
    """

    k: int
    rms: float
    bias: float


def sum_error(results: Floats, exact: Float64, k: int) -> SumError:
    """Error of `results`, each a sum of k products. Raises ValueError if every exact sum is zero."""
    size = float(np.abs(exact).mean())
    if size == 0:
        raise ValueError("an error relative to the exact sums needs one that is not zero")
    error = np.asarray(results, np.float64) - exact
    rms = np.sqrt(np.mean(error**2) / np.mean(exact**2))
    return SumError(k=k, rms=float(rms), bias=float(np.mean(error * np.sign(exact)) / size))


def prefix_sums(
    a: Integers, b: Integers, format_: FloatFormat, accumulator: Accumulator, lengths: Sequence[int]
) -> tuple[Float32, ...]:
    """float32[M, N] for each of `lengths`, in rising order: the unit's sum of the first k products.

    Codes a [M, K] and b [N, K]; a block-scaled unit gets scales of 1. Lengths share one pass over K, except
    those that end within a step: these are padded with zeros.
    """
    ends = [0, *(whole("a length", k, 0) for k in lengths)]
    if ends != sorted(ends) or ends[-1] > min(a.shape[1], b.shape[1]):
        raise ValueError(f"lengths rise up to K, {a.shape[1]}, got {list(lengths)}")
    run = max(accumulator.fused_products, len(accumulator.order))
    shared = [k for k in ends if k % run == 0]
    start = np.zeros((a.shape[0], b.shape[0]), np.float32)

    def results(k: int, each: Sequence[int]) -> dict[int, Float32]:
        operands = _laid_out(a[:, :k], b[:, :k], format_, accumulator)
        multiples = [-(-length // run) * run for length in each]
        return dict(zip(each, prefix_results(operands, accumulator, start, multiples), strict=True))

    sums = results(shared[-1], shared)
    for k in set(ends) - sums.keys():
        sums |= results(k, [k])
    return tuple(sums[k] for k in lengths)


def sums_by_promotion(
    a: Integers, b: Integers, format_: FloatFormat, accumulator: Accumulator, intervals: Sequence[int]
) -> tuple[Float32, ...]:
    """float32[M, N] for each of `intervals`: the sum of codes a [M, K], b [N, K] with that promotion.

    Chains of a longer interval continue the first chains of a shorter one. Each interval is a multiple of the
    one before it, the first of the unit's step, and K of the last.
    """
    k = a.shape[1]
    sizes = (max(accumulator.fused_products, len(accumulator.order)), *intervals, k)
    if not intervals or any(longer % max(shorter, 1) for shorter, longer in pairwise(sizes)):
        raise ValueError(
            f"intervals from {sizes[0]} to K, {k}, are multiples of each other, got {list(intervals)}"
        )
    operands = _laid_out(a, b, format_, accumulator)
    shape = a.shape[0], b.shape[0]
    begins, ends = np.arange(0, k, intervals[0]), np.zeros((k // intervals[0], *shape))
    results = []
    for before, every in pairwise((0, *intervals)):
        go_on = slice(None, None, every // before if before else None)
        begins = begins[go_on]
        ends = advanced(operands, accumulator, ends[go_on], begins, range(before, every))
        total = added_in_fp32(np.zeros(shape, np.float32), ends)
        results.append(canonical(total))
    return tuple(results)


def error_against_k(
    a: Integers, b: Integers, format_: FloatFormat, accumulator: Accumulator, lengths: Sequence[int]
) -> tuple[SumError, ...]:
    """Error over M · N sums of the first k products, for each of `lengths` in rising order."""
    sums = prefix_sums(a, b, format_, accumulator, lengths)
    return tuple(map(sum_error, sums, exact_sums(a, b, format_, lengths), lengths))


def exact_sums(a: Integers, b: Integers, format_: FloatFormat, lengths: Sequence[int]) -> tuple[Float64, ...]:
    """float64[M, N] for each of `lengths`."""
    left, right = format_.decode(a), format_.decode(b)
    return tuple(left[:, :k] @ right[:, :k].T for k in lengths)


def promotions_per_flop(every: int) -> float:
    """fp32 additions for promotion per floating-point operation."""
    return 1 / (2 * every)


def _laid_out(a: Integers, b: Integers, format_: FloatFormat, accumulator: Accumulator) -> Operands:
    """Codes as the unit takes them; a block-scaled unit gets scales of 1.

    Raises ValueError for a format that the unit does not multiply, and non-integer codes.
    """
    check_codes(accumulator, a=(a, format_), b=(b, format_))
    scales = None
    if accumulator.step is Step.SCALED_GROUPS:
        groups = -(-a.shape[1] // _UNSCALED_GROUP)
        of_a, of_b = (np.ones((side.shape[0], groups)) for side in (a, b))
        scales = GroupScales(a=of_a, b=of_b, format=FORMATS["e4m3"], size=_UNSCALED_GROUP)
    return laid_out(a, b, format_, format_, accumulator, scales)
