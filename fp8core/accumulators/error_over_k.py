"""How far an accumulator's sums are from the exact ones, as K grows."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fp8core.accumulators.model import Accumulator, Step
from fp8core.accumulators.multiply import GroupScales, matmul
from fp8core.checks import whole
from fp8core.formats import FORMATS, FloatFormat
from fp8core.tiles import WHOLE

_UNSCALED_GROUP = 16


@dataclass(frozen=True, kw_only=True)
class SumError:
    """The error of many sums of K products, relative to the exact sums.

    rms is √mean(error²) / √mean(exact²). bias is mean(error · sign(exact)) / mean|exact|. The bias is below 0
    where results lie nearer to zero than the exact sums, whatever their sign.
    """

    k: int
    rms: float
    bias: float


def sum_error(results: NDArray[np.floating], exact: NDArray[np.float64], k: int) -> SumError:
    """The error of `results`, each a sum of k products. Raises ValueError where every exact sum is zero."""
    size = float(np.abs(exact).mean())
    if size == 0:
        raise ValueError("an error relative to the exact sums needs one that is not zero")
    error = np.asarray(results, np.float64) - exact
    rms = np.sqrt(np.mean(error**2) / np.mean(exact**2))
    return SumError(k=k, rms=float(rms), bias=float(np.mean(error * np.sign(exact)) / size))


def prefix_sums(
    a: NDArray[np.integer],
    b: NDArray[np.integer],
    format_: FloatFormat,
    accumulator: Accumulator,
    lengths: Sequence[int],
) -> tuple[NDArray[np.float32], ...]:
    """float32[M, N] for each of `lengths`, in rising order: the unit's sum of the first k products.

    The operands are codes a [M, K] and b [N, K]. A block-scaled unit is given scales of 1. A chain that has
    reached one length goes on from there to the next. Its state is the fp32 sum, except between promotions
    and in fp64.
    """
    ends = [0, *(whole("a length", k, 0) for k in lengths)]
    if ends != sorted(ends) or ends[-1] > min(a.shape[1], b.shape[1]):
        raise ValueError(f"lengths rise up to K, {a.shape[1]}, got {list(lengths)}")
    results, done, state = [], 0, None
    for k in lengths:
        if not _resumes(accumulator, done):
            done, state = 0, None
        part = slice(done, k)
        state = matmul(
            a[:, part], b[:, part], format_, format_, accumulator, state, _ones(accumulator, a, b, k - done)
        )
        done = k
        results.append(state)
    return tuple(results)


def error_against_k(
    a: NDArray[np.integer],
    b: NDArray[np.integer],
    format_: FloatFormat,
    accumulator: Accumulator,
    lengths: Sequence[int],
) -> tuple[SumError, ...]:
    """The error over the M · N sums of the first k products, for each k of `lengths` in rising order."""
    sums = prefix_sums(a, b, format_, accumulator, lengths)
    left, right = format_.decode(a), format_.decode(b)
    return tuple(
        sum_error(result, left[:, :k] @ right[:, :k].T, k) for result, k in zip(sums, lengths, strict=True)
    )


def promotions_per_flop(every: int) -> float:
    """fp32 additions for promotion per floating-point operation: one addition for 2 · `every` operations."""
    return 1 / (2 * every)


def _resumes(accumulator: Accumulator, done: int) -> bool:
    run = max(accumulator.fused_products, len(accumulator.order))
    boundary = run if accumulator.promotion is WHOLE else accumulator.promotion
    return accumulator.step is not Step.FP64_CHAIN and done % boundary == 0


def _ones(
    accumulator: Accumulator, a: NDArray[np.integer], b: NDArray[np.integer], k: int
) -> GroupScales | None:
    if accumulator.step is not Step.SCALED_GROUPS:
        return None
    groups = -(-k // _UNSCALED_GROUP)
    return GroupScales(
        a=np.ones((a.shape[0], groups)),
        b=np.ones((b.shape[0], groups)),
        format=FORMATS["e4m3"],
        size=_UNSCALED_GROUP,
    )
