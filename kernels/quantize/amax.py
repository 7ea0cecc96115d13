"""amax: the largest |x| of each part of a block, as an integer.

Bits of non-negative floats are ordered as the floats are. A NaN's come last, so no NaN is lost.
"""

import triton
import triton.language as tl

from kernels.bits import FP32_INF, FP32_SIZE_MASK, float_bits
from kernels.quantize import facts

PARTIALS = tl.constexpr(facts.PARTIALS)


@triton.jit
def part_amax(x, PART_MN: tl.constexpr, PART_K: tl.constexpr, CAST: tl.constexpr):
    """int32[parts along mn, parts along K]: the bits of each part's largest |x|, of float32 x.

    CAST: on a GPU one instruction compares two sizes and keeps a NaN.
    """
    BLOCK_MN: tl.constexpr = x.shape[0]
    BLOCK_K: tl.constexpr = x.shape[1]
    sizes = tl.abs(x) if CAST else float_bits(x) & FP32_SIZE_MASK
    if CAST and PART_MN == BLOCK_MN and PART_K == BLOCK_K:
        # One dim takes one step from warp to warp, two dims take two.
        whole = tl.reduce(tl.reshape(sizes, [BLOCK_MN * BLOCK_K]), 0, larger)
        return tl.full([1, 1], 0, tl.int32) + float_bits(whole)
    parts = tl.reshape(sizes, [BLOCK_MN // PART_MN, PART_MN, BLOCK_K // PART_K, PART_K])
    if CAST:
        amax = float_bits(tl.reduce(tl.reduce(parts, 3, larger), 1, larger))
    else:
        amax = tl.max(tl.max(parts, axis=3), axis=1)
    return amax


@triton.jit
def block_amax(x, CAST: tl.constexpr):
    """int32: the bits of a block's largest |x|, of float32 x."""
    return tl.max(part_amax(x, x.shape[0], x.shape[1], CAST))


@triton.jit
def cooperative_amax(x, state_ptr, CAST: tl.constexpr):
    """int32: the bits of the largest |x| over the blocks x of all programs, in a cooperative launch.

    state_ptr: three zeros, for the largest so far, arrivals and departures. The last program restores them.
    """
    own = block_amax(x, CAST)
    programs = tl.num_programs(0) * tl.num_programs(1)
    tl.atomic_max(state_ptr, own, sem="relaxed")
    # Released after the largest was raised, acquired before it is read.
    arrivals = tl.atomic_add(state_ptr + 1, 1, sem="acq_rel") + 1
    while arrivals < programs:
        arrivals = tl.atomic_add(state_ptr + 1, 0, sem="acquire")
    amax = tl.atomic_max(state_ptr, 0, sem="relaxed")
    departures = tl.atomic_add(state_ptr + 2, 1, sem="acq_rel") + 1
    if departures == programs:
        tl.store(state_ptr + tl.arange(0, 4), 0, mask=tl.arange(0, 4) < 3)
    return amax


@triton.jit
def history_amax(history_ptr, steps, HISTORY: tl.constexpr):
    """int32: the bits of the largest amax of `steps` earlier steps, at most HISTORY."""
    step = tl.arange(0, HISTORY)
    return float_bits(tl.max(tl.load(history_ptr + step, mask=step < steps, other=0.0).to(tl.float32)))


@triton.jit
def whole_amaxes(x, position, earlier, amaxes, PLAN: tl.constexpr, HISTORY: tl.constexpr, CAST: tl.constexpr):
    """(amax, outer amax, this step's new amax) of the whole tensor, each 0 without a pointer.

    From a cooperative launch or from an earlier pass. earlier: (history_ptr, steps); that amax counts unless
    it is 0.
    """
    amax, outer_amax, new_amax = amaxes
    if PLAN.cooperative:
        if amax is not None:
            now = cooperative_amax(x.to(tl.float32), amax, CAST)
            amax = now
            if new_amax is not None:
                block_row, block_column, _, _ = position
                tl.store(new_amax, now, mask=block_column + block_row == 0)
                new_amax = now
            history_ptr, steps = earlier
            if history_ptr is not None:
                before = history_amax(history_ptr, steps, HISTORY)
                amax = tl.where(before > 0, before, now)
        else:
            outer_amax = cooperative_amax(x.to(tl.float32), outer_amax, CAST)
    else:
        # Once a program, not once for each operand.
        if amax is not None:
            amax = whole_amax(amax)
        if outer_amax is not None:
            outer_amax = whole_amax(outer_amax)
        if new_amax is not None:
            own = block_amax(x.to(tl.float32), CAST)
            tl.atomic_max(new_amax, own, sem="relaxed")
            new_amax = own
    return (
        0 if amax is None else amax,
        0 if outer_amax is None else outer_amax,
        0 if new_amax is None else new_amax,
    )


@triton.jit
def whole_amax(amax):
    """int32: the bits of a tensor's amax: a number, or the largest of PARTIALS in memory."""
    if amax.dtype.is_ptr():
        amax = tl.max(tl.load(amax + tl.arange(0, PARTIALS)))
    return amax


@triton.jit
def larger(a, b):
    """The larger of two numbers; NaN if one is NaN."""
    return tl.maximum(a, b, propagate_nan=tl.PropagateNan.ALL)


@triton.jit
def is_broken(amax_bits):
    """bool: a NaN or an infinity is among the numbers."""
    return amax_bits >= FP32_INF
