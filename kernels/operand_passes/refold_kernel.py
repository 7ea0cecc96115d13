"""Refolding: several scales along K become one, and codes are shifted to make up for it (fp8core.refold)."""

import triton
import triton.language as tl

from kernels.bits import (
    FP32_BIAS,
    FP32_INF,
    FP32_MANTISSA,
    cast_within,
    decode_by_cast,
    encode_by_bits,
    expand_parts,
    float_bits,
    float_of,
)
from kernels.operand_passes.dequantize_kernel import dequantize_block
from kernels.operand_passes.read_kernel import load_block_scales


@triton.jit
def refold_kernel(
    codes_ptr,
    scale_ptr,
    refolded_codes_ptr,
    refolded_scale_ptr,
    mn,
    k,
    stride_mn,
    mn_tiles,
    refolded_mn_tiles,
    REFOLDED_MN: tl.constexpr,
    TILE_K: tl.constexpr,
    SCALE: tl.constexpr,
    SHIFT: tl.constexpr,
    FACTOR: tl.constexpr,
    MAX_BITS: tl.constexpr,
    MANTISSA: tl.constexpr,
    BIAS: tl.constexpr,
    CAST: tl.constexpr,
    BLOCK_MN: tl.constexpr,
    BLOCK_K: tl.constexpr,
):
    """Refold codes uint8[mn, stride_mn] in tiles of 1 × TILE_K to tiles of REFOLDED_MN × BLOCK_K.

    Writes codes of the same strides and scale float32[k / BLOCK_K rounded up, refolded_mn_tiles]. The new
    scale is the largest of those that it replaces. A program has BLOCK_MN / REFOLDED_MN new tiles.
    """
    start_mn, start_k = tl.program_id(0) * BLOCK_MN, tl.program_id(1) * BLOCK_K
    rows = start_mn + tl.arange(0, BLOCK_MN)
    columns = start_k + tl.arange(0, BLOCK_K)
    scale = load_block_scales(
        scale_ptr, start_mn, start_k, mn, k, mn_tiles, SCALE, 1, TILE_K, BLOCK_MN, BLOCK_K
    )
    bits = float_bits(scale)  # [BLOCK_MN, BLOCK_K / TILE_K]
    # Bits of non-negative floats are ordered as the floats are, and a NaN's come last. Beyond the operand the
    # scale is 0, the least.
    PARTS: tl.constexpr = BLOCK_MN // REFOLDED_MN
    largest = tl.max(tl.reshape(bits, [PARTS, REFOLDED_MN * (BLOCK_K // TILE_K)]), axis=1)
    tiles = tl.program_id(0) * PARTS + tl.arange(0, PARTS)
    refolded_scales = refolded_scale_ptr + tl.program_id(1) * refolded_mn_tiles + tiles
    tl.store(refolded_scales, float_of(largest), mask=tiles < refolded_mn_tiles)

    largest = expand_parts(largest[:, None], BLOCK_MN, 1, REFOLDED_MN, 1)
    # Both scales are powers of two: the exponent of their ratio is the difference of their exponent fields.
    # That holds for 2**-127 too, whose field is 0.
    lower = (largest >> FP32_MANTISSA) - (bits >> FP32_MANTISSA)
    # A ratio below 2**(1 - bias) leaves only zeros of any code: a smaller one need not be told apart.
    lower = tl.where(largest > FP32_INF, 0, tl.minimum(lower, FP32_BIAS - 1))
    ratio = float_of(-(lower - FP32_BIAS) << FP32_MANTISSA)
    inside = (rows < mn)[:, None] & (columns < stride_mn)[None, :]
    places = rows.to(tl.int64)[:, None] * stride_mn + columns[None, :]
    codes = tl.load(codes_ptr + places, mask=inside, other=0)  # [BLOCK_MN, BLOCK_K]
    # Codes with the largest scale stay as they are, and so does a NaN.
    each = expand_parts(ratio, BLOCK_MN, BLOCK_K, 1, TILE_K)
    if CAST:
        moved = cast_within(decode_by_cast(codes, MANTISSA) * each, MANTISSA)
    else:
        value = dequantize_block(codes, ratio, TILE_K, SHIFT, FACTOR, BLOCK_MN, BLOCK_K, CAST)
        moved = encode_by_bits(value, MAX_BITS, MANTISSA, BIAS)
    tl.store(refolded_codes_ptr + places, tl.where(each < 1.0, moved, codes), mask=inside)
