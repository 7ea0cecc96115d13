"""Scales: from amax to the stored scale and the multiplier of x, with a search for the least error.

Rules and the order of roundings are those of fp8core.scales. Each part of a block has one scale. Only a
search works on each element.
"""

import triton
import triton.language as tl

from kernels.bits import (
    FP32_BIAS,
    FP32_FRACTION,
    FP32_INF,
    FP32_MANTISSA,
    FP32_NAN,
    FP32_SIZE_MASK,
    FP32_STEP,
    cast_within,
    decode_by_cast,
    encode_binades,
    expand_parts,
    float_bits,
    float_of,
    fp32,
    inverted,
    quotient,
    round_in_binade,
)
from kernels.quantize.amax import is_broken
from kernels.quantize.encode import nearest, nearest_size
from kernels.quantize.facts import FP32

SUBNORMAL_UP = tl.constexpr(FP32.mantissa_bits + 1)
"""Two to that power makes a subnormal number normal."""
SMALLEST = tl.constexpr((1 << FP32.mantissa_bits) // 2)
"""The bits of 2**-127, a subnormal number that arithmetic may flush to zero."""
ONE = tl.constexpr(FP32.bias << FP32.mantissa_bits)
LARGEST_FIELD = tl.constexpr(2 * FP32.bias)


@triton.jit
def stored_scale(amax_bits, outer_amax_bits, RULE: tl.constexpr):
    """float32: the scale of parts with these amax, rounded to its format; NaN for a broken amax."""
    broken = is_broken(amax_bits)
    sound = tl.where(broken, 0, amax_bits)
    if RULE.floor_bits > 0:
        sound = tl.maximum(sound, RULE.floor_bits)
    if RULE.outer == "fitted":
        broken = broken | is_broken(outer_amax_bits)
        sound_outer = tl.where(is_broken(outer_amax_bits), 0, outer_amax_bits)
        # Transformer Engine's order (core_nvfp4.cuh): each step is rounded to fp32.
        share = outer_reciprocal(sound_outer, RULE) * fp32(RULE.inverse_bits)
        scale = _rounded(tl.minimum(float_of(sound) * share, fp32(RULE.most_bits)), RULE)
    elif RULE.divided:
        if RULE.by_steps:
            scale = quotient(float_of(sound), RULE.target_bits, RULE.share_bits)
        else:
            # Triton's own fp32 division is not rounded as IEEE says.
            scale = tl.div_rn(float_of(sound), _everywhere(RULE.target_bits, sound))
        scale = tl.minimum(tl.maximum(scale, fp32(RULE.least_bits)), fp32(RULE.most_bits))
        scale = _rounded(scale, RULE)
    else:
        scale = _power_of_two(sound, RULE)
    return float_of(tl.where(broken, FP32_NAN, float_bits(scale)))


@triton.jit
def _power_of_two(amax_bits, RULE: tl.constexpr):
    """float32: the power of two, from the exponent of amax; its mantissa may count one more."""
    bits, up = amax_bits, 0
    if RULE.subnormal_counts:
        subnormal = amax_bits <= FP32_FRACTION
        up = tl.where(subnormal, SUBNORMAL_UP, 0)
        bits = tl.where(subnormal, float_bits(float_of(amax_bits) * 2.0**SUBNORMAL_UP), amax_bits)
    field = (bits >> FP32_MANTISSA) - up - RULE.max_field + FP32_BIAS
    field += ((bits & FP32_FRACTION) >= RULE.up_from).to(tl.int32)
    field = tl.maximum(field, RULE.least_bits // FP32_STEP)
    if RULE.most_counts:
        field = tl.minimum(field, RULE.most_bits // FP32_STEP)
    return float_of(tl.where(field == 0, SMALLEST, field << FP32_MANTISSA))


@triton.jit
def _rounded(scale, RULE: tl.constexpr):
    """float32: a scale >= 0, and at most the largest one, rounded to nearest even in its format."""
    UP: tl.constexpr = FP32_MANTISSA - RULE.mantissa
    if RULE.rounds == "cast":
        scale = decode_by_cast(cast_within(scale, RULE.mantissa), RULE.mantissa)
    elif RULE.rounds == "beside a power of two":
        scale = round_in_binade(scale, RULE.mantissa, RULE.min_field)
    elif RULE.rounds == "by bits":
        # For fp32's exponents, the sum of `round_in_binade` could overflow.
        bits = float_bits(scale)
        odd = (bits >> UP) & 1 if RULE.zero else 1
        rounded = (bits + 2 ** (UP - 1) - 1 + odd) & -(2**UP)
        if not RULE.zero:
            # e8m0: the smallest is 2**-127, a subnormal number; half-way to the next rounds up.
            rounded = tl.where(bits < SMALLEST + SMALLEST // 2, SMALLEST, rounded)
        scale = float_of(rounded)
    return scale


@triton.jit
def outer_reciprocal(outer_amax_bits, RULE: tl.constexpr):
    """float32: the largest code times the largest inner scale, over an outer tile's amax."""
    amax = float_of(outer_amax_bits)
    share = tl.minimum(tl.div_rn(_everywhere(RULE.top_bits, amax), amax), fp32(FP32_INF - 1))
    return tl.where(outer_amax_bits == 0, 1.0, share)


@triton.jit
def outer_scale(outer_amax_bits, RULE: tl.constexpr):
    """float32: the outer scale of tiles with these amax; NaN for a broken amax."""
    if RULE.outer == "constant":
        scale = _everywhere(RULE.outer_bits, outer_amax_bits)
    else:
        sound = tl.where(is_broken(outer_amax_bits), 0, outer_amax_bits)
        reciprocal = outer_reciprocal(sound, RULE)
        scale = tl.div_rn(_everywhere(ONE, reciprocal), reciprocal)
        scale = float_of(tl.where(is_broken(outer_amax_bits), FP32_NAN, float_bits(scale)))
    return scale


@triton.jit
def _everywhere(BITS: tl.constexpr, like):
    """float32 of BITS in a tensor's shape and layout: div_rn needs both; Gluon's `full` takes a layout."""
    return float_of((float_bits(like) & 0) | BITS)


@triton.jit
def reciprocal_of(scale, RULE: tl.constexpr):
    """float32: min(fl32(1 / scale), FLT_MAX) of an effective scale; anything where the scale is NaN."""
    if RULE.powers_of_two:
        field = float_bits(scale) >> FP32_MANTISSA
        bits = (LARGEST_FIELD - field) << FP32_MANTISSA
        if RULE.most_counts:
            # The reciprocal of the largest power is subnormal.
            bits = tl.where(field >= LARGEST_FIELD, SMALLEST, bits)
        reciprocal = float_of(bits)
    elif RULE.by_steps:
        reciprocal = inverted(scale)
    else:
        reciprocal = tl.div_rn(_everywhere(ONE, scale), scale)
        reciprocal = tl.minimum(reciprocal, fp32(FP32_INF - 1))
    return reciprocal


@triton.jit
def scale_codes(scale, RULE: tl.constexpr):
    bits = float_bits(scale)
    if not RULE.zero:
        codes = bits >> FP32_MANTISSA  # e8m0's code is the exponent field, 255 for NaN
    elif RULE.rounds == "cast":
        codes = cast_within(scale, RULE.mantissa)
    else:
        codes = encode_binades(scale, RULE.mantissa, RULE.min_field)
        codes = tl.where((bits & FP32_SIZE_MASK) > FP32_INF, RULE.nan_code, codes)
    return codes.to(tl.uint8)


@triton.jit
def best_scale(x, amax, outer_amax, table_ptr, values_ptr, OPERAND: tl.constexpr):
    """(stored scale, its reciprocal), float32 for each part, of the first of the best factors of amax."""
    NEAREST: tl.constexpr = OPERAND.nearest
    RULE: tl.constexpr = OPERAND.rule
    PART_MN: tl.constexpr = OPERAND.part_mn
    PART_K: tl.constexpr = OPERAND.part_k
    best, best_reciprocal, least = _fitted(amax, outer_amax, RULE, 0)
    FACTORS: tl.constexpr = RULE.factors
    if FACTORS > 1:
        for number in tl.static_range(FACTORS):
            scale, reciprocal, effective = _fitted(amax, outer_amax, RULE, number)
            q = x * expand_parts(reciprocal, PART_MN, PART_K)
            effective = expand_parts(effective, PART_MN, PART_K)
            if NEAREST.minus_zero and NEAREST.encode_by != "table":
                # Both have one sign, so the sizes differ as much.
                error = nearest_size(q, NEAREST) * effective - tl.abs(x)
            else:
                error = nearest(q, table_ptr, values_ptr, NEAREST) * effective - x
            error = summed_squares(error, PART_MN, PART_K)
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
    effective = scale if RULE.outer == "" else scale * outer_scale(outer_amax, RULE)
    return scale, reciprocal_of(effective, RULE), effective


@triton.jit
def _times(amax_bits, FACTOR: tl.constexpr):
    """int32: the bits of amax times a factor, at most the largest number; a broken amax stays."""
    if FACTOR == 1.0:
        product = amax_bits
    else:
        # A tensor of the factor: Triton would take some Python numbers as float64.
        factor = tl.full(amax_bits.shape, FACTOR, tl.float32)
        product = float_bits(tl.minimum(float_of(amax_bits) * factor, fp32(FP32_INF - 1)))
        product = tl.where(is_broken(amax_bits), amax_bits, product)
    return product


@triton.jit
def summed_squares(error, PART_MN: tl.constexpr, PART_K: tl.constexpr):
    """float32[parts along mn, parts along K]: the sum of error**2 over each part.

    Each step rounds to fp32, so the order counts, that of fp8core.operand_scales.tile_errors: second halves
    of rows are added to first halves until one number is left, then second halves of these.
    """
    BLOCK_MN: tl.constexpr = error.shape[0]
    PARTS: tl.constexpr = BLOCK_MN // PART_MN
    RUNS: tl.constexpr = error.shape[1] // PART_K
    sums = error * error
    STAGES_K: tl.constexpr = PART_K.bit_length() - 1
    STAGES_MN: tl.constexpr = PART_MN.bit_length() - 1
    for stage in tl.static_range(STAGES_K):
        sums = tl.sum(tl.reshape(sums, [BLOCK_MN, RUNS, 2, PART_K >> (stage + 1)]), axis=2)
    for stage in tl.static_range(STAGES_MN):
        sums = tl.sum(tl.reshape(sums, [PARTS, 2, PART_MN >> (stage + 1), RUNS]), axis=1)
    return tl.reshape(sums, [PARTS, RUNS])
