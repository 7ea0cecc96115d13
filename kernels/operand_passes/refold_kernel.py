"""Bodies for operands with power-of-two scales along K: refolding them, and Blackwell's own matmul."""

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
from kernels.operand_passes.dequantize_kernel import dequantize_block, load_block_scales


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
    SHIFT: tl.constexpr,
    FACTOR: tl.constexpr,
    MAX_BITS: tl.constexpr,
    MANTISSA: tl.constexpr,
    BIAS: tl.constexpr,
    CAST: tl.constexpr,
    BLOCK_MN: tl.constexpr,
    BLOCK_K: tl.constexpr,
):
    """Codes uint8[mn, stride_mn] in lines of TILE_K with power-of-two scales -> codes of the same strides and
    scale float32[k / BLOCK_K rounded up, refolded_mn_tiles], one for REFOLDED_MN × BLOCK_K: fp8core.refold.

    A block is cut into BLOCK_MN / REFOLDED_MN tiles; what lies beyond the operand has scale 0, the least. The
    largest scale is found on the bits, where a NaN's come last. A ratio's exponent is the difference of two
    exponent fields, also with 2**-127, whose field is 0; below 2**(1 - bias) any ratio leaves only zeros.
    """
    start_mn, start_k = tl.program_id(0) * BLOCK_MN, tl.program_id(1) * BLOCK_K
    rows = start_mn + tl.arange(0, BLOCK_MN)
    columns = start_k + tl.arange(0, BLOCK_K)
    scale = load_block_scales(scale_ptr, start_mn, start_k, mn, k, mn_tiles, 1, TILE_K, BLOCK_MN, BLOCK_K)
    bits = float_bits(scale)  # [BLOCK_MN, BLOCK_K / TILE_K]
    PARTS: tl.constexpr = BLOCK_MN // REFOLDED_MN
    largest = tl.max(tl.reshape(bits, [PARTS, REFOLDED_MN * (BLOCK_K // TILE_K)]), axis=1)
    tiles = tl.program_id(0) * PARTS + tl.arange(0, PARTS)
    refolded_scales = refolded_scale_ptr + tl.program_id(1) * refolded_mn_tiles + tiles
    tl.store(refolded_scales, float_of(largest), mask=tiles < refolded_mn_tiles)

    largest = expand_parts(largest[:, None], BLOCK_MN, 1, REFOLDED_MN, 1)
    lower = (largest >> FP32_MANTISSA) - (bits >> FP32_MANTISSA)
    lower = tl.where(largest > FP32_INF, 0, tl.minimum(lower, FP32_BIAS - 1))
    ratio = float_of(-(lower - FP32_BIAS) << FP32_MANTISSA)
    inside = (rows < mn)[:, None] & (columns < stride_mn)[None, :]
    places = rows.to(tl.int64)[:, None] * stride_mn + columns[None, :]
    codes = tl.load(codes_ptr + places, mask=inside, other=0)  # [BLOCK_MN, BLOCK_K]
    each = expand_parts(ratio, BLOCK_MN, BLOCK_K, 1, TILE_K)
    if CAST:
        moved = cast_within(decode_by_cast(codes, MANTISSA) * each, MANTISSA)
    else:
        value = dequantize_block(codes, ratio, TILE_K, SHIFT, FACTOR, BLOCK_MN, BLOCK_K, CAST)
        moved = encode_by_bits(value, MAX_BITS, MANTISSA, BIAS)
    tl.store(refolded_codes_ptr + places, tl.where(each < 1.0, moved, codes), mask=inside)
