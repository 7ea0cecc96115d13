"""Search: of several scales for a tile, the one whose codes err least."""

import triton
import triton.language as tl

from kernels.bits import FP32_INF, expand_parts, float_bits, float_of, fp32
from kernels.quantize.amax import is_broken
from kernels.quantize.encode import nearest, nearest_size
from kernels.quantize.scales import effective_scale, reciprocal_of, stored_scale


@triton.jit
def best_scale(
    x,
    amax,
    outer_amax,
    table_ptr,
    values_ptr,
    NEAREST: tl.constexpr,
    RULE: tl.constexpr,
    BLOCK_MN: tl.constexpr,
    BLOCK_K: tl.constexpr,
    PART_MN: tl.constexpr,
    PART_K: tl.constexpr,
):
    """(stored scale, its reciprocal), float32 for each part: of amax times a factor; the first of the best.

    NEAREST: the format with a rounding that is not random.
    """
    best, best_reciprocal, least = _fitted(amax, outer_amax, RULE, 0)
    FACTORS: tl.constexpr = RULE.factors
    if FACTORS > 1:
        for number in tl.static_range(FACTORS):
            scale, reciprocal, effective = _fitted(amax, outer_amax, RULE, number)
            q = x * expand_parts(reciprocal, BLOCK_MN, BLOCK_K, PART_MN, PART_K)
            effective = expand_parts(effective, BLOCK_MN, BLOCK_K, PART_MN, PART_K)
            if NEAREST.minus_zero and NEAREST.encode_by != "table":
                # Both have one sign, so the sizes differ as much.
                error = nearest_size(q, NEAREST) * effective - tl.abs(x)
            else:
                error = nearest(q, table_ptr, values_ptr, NEAREST) * effective - x
            error = summed_squares(error, BLOCK_MN, BLOCK_K, PART_MN, PART_K)
            if number == 0:
                least = error
            else:
                # A NaN counts as infinite.
                better = (error < least) | ((least != least) & (error < float("inf")))
                best = tl.where(better, scale, best)
                best_reciprocal = tl.where(better, reciprocal, best_reciprocal)
                least = tl.where(better, error, least)
    return best, best_reciprocal


@triton.jit
def _fitted(amax, outer_amax, RULE: tl.constexpr, number: tl.constexpr):
    """(stored scale, reciprocal of the effective one, effective scale) for one factor of the search."""
    scale = stored_scale(_times(amax, RULE.search[number]), outer_amax, RULE)
    effective = effective_scale(scale, outer_amax, RULE)
    return scale, reciprocal_of(effective, RULE), effective


@triton.jit
def _times(amax_bits, FACTOR: tl.constexpr):
    """int32: the bits of amax times a factor, at most the largest number; a broken amax stays as it is."""
    if FACTOR == 1.0:
        product = amax_bits
    else:
        # A tensor of the factor: Triton would take some Python numbers as float64.
        factor = tl.full(amax_bits.shape, FACTOR, tl.float32)
        product = float_bits(tl.minimum(float_of(amax_bits) * factor, fp32(FP32_INF - 1)))
        product = tl.where(is_broken(amax_bits), amax_bits, product)
    return product


@triton.jit
def summed_squares(
    error, BLOCK_MN: tl.constexpr, BLOCK_K: tl.constexpr, PART_MN: tl.constexpr, PART_K: tl.constexpr
):
    """float32[parts along mn, parts along K]: the sum of error**2 over each part.

    Each step is rounded to fp32, so the order of the sum counts. The second half of a part's row is added to
    the first until one number is left, then the second half of these to the first: as in
    fp8core.operand_scales.tile_errors.
    """
    PARTS: tl.constexpr = BLOCK_MN // PART_MN
    RUNS: tl.constexpr = BLOCK_K // PART_K
    sums = error * error
    # bit_length of a power of two is one more than its logarithm.
    STAGES_K: tl.constexpr = PART_K.bit_length() - 1
    STAGES_MN: tl.constexpr = PART_MN.bit_length() - 1
    for stage in tl.static_range(STAGES_K):
        sums = tl.sum(tl.reshape(sums, [BLOCK_MN, RUNS, 2, PART_K >> (stage + 1)]), axis=2)
    for stage in tl.static_range(STAGES_MN):
        sums = tl.sum(tl.reshape(sums, [PARTS, 2, PART_MN >> (stage + 1), RUNS]), axis=1)
    return tl.reshape(sums, [PARTS, RUNS])
