"""The quantizer: amax of each tile, scale from amax, codes from values. All on the bits of fp32.

A program has a block of [BLOCK_MN, BLOCK_K] elements of the operand [mn, K]. It cuts the block into parts of
[PART_MN, PART_K], each inside one tile. Where a part is a whole tile, one kernel does everything. Else
`amax_kernel` collects the tiles' amax first, and `quantize_kernel` reads it.

An amax is kept as an integer: bits of non-negative floats are ordered as the floats are, and those of a NaN
come last, so no NaN is lost.
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
    encode_by_bits,
    encode_by_cast,
    expand_parts,
    float_bits,
    float_of,
)


@triton.jit
def part_amax(
    bits, BLOCK_MN: tl.constexpr, BLOCK_K: tl.constexpr, PART_MN: tl.constexpr, PART_K: tl.constexpr
):
    """int32[parts along mn, parts along K]: the bits of each part's largest |x|."""
    parts = tl.reshape(bits & FP32_SIZE_MASK, [BLOCK_MN // PART_MN, PART_MN, BLOCK_K // PART_K, PART_K])
    return tl.max(tl.max(parts, axis=3), axis=1)


@triton.jit
def scale_and_reciprocal(
    amax_bits,
    MAX_BITS: tl.constexpr,
    MIN_SCALE_BITS: tl.constexpr,
    POWER_OF_TWO: tl.constexpr,
    ROUND_UP: tl.constexpr,
):
    """(scale, fl32(1 / scale)) of amax, both fp32; the scale of a tile that holds NaN or inf is NaN.

    The rules are those of fp8core.scales. MAX_BITS: the fp32 bits of the format's largest value.
    """
    broken = amax_bits >= FP32_INF
    sound = tl.where(broken, 0, amax_bits)
    largest = tl.full(sound.shape, MAX_BITS, tl.int32)
    if POWER_OF_TWO:
        # Put together from the exponent: 2**-127 is subnormal, and arithmetic may flush it to zero.
        field = (sound >> FP32_MANTISSA) - (largest >> FP32_MANTISSA) + FP32_BIAS
        if ROUND_UP:
            field += ((sound & FP32_FRACTION) > (largest & FP32_FRACTION)).to(tl.int32)
        field = tl.where(field < 0, 0, field)
        scale_bits = tl.where(field == 0, (FP32_FRACTION + 1) // 2, field << FP32_MANTISSA)
        reciprocal = float_of(-(field - 2 * FP32_BIAS) << FP32_MANTISSA)
    else:
        # div_rn: Triton's own fp32 division is not rounded as IEEE says, and bits would differ.
        scale_bits = float_bits(tl.div_rn(float_of(sound), float_of(largest)))
        scale_bits = tl.where(scale_bits < MIN_SCALE_BITS, MIN_SCALE_BITS, scale_bits)
        one = tl.full(sound.shape, 1.0, tl.float32)
        reciprocal = tl.div_rn(one, float_of(scale_bits))
    return float_of(tl.where(broken, FP32_NAN, scale_bits)), reciprocal


@triton.jit
def amax_kernel(
    x_ptr,
    amax_ptr,
    mn,
    k,
    x_stride_mn,
    x_stride_k,
    mn_tiles,
    TILE_MN: tl.constexpr,
    TILE_K: tl.constexpr,
    PART_MN: tl.constexpr,
    PART_K: tl.constexpr,
    BLOCK_MN: tl.constexpr,
    BLOCK_K: tl.constexpr,
):
    """Raise amax int32[k_tiles, mn_tiles] to the bits of each tile's largest |x|. TILE 0: the whole dim."""
    block_mn, block_k = tl.program_id(0), tl.program_id(1)
    rows = block_mn * BLOCK_MN + tl.arange(0, BLOCK_MN)
    columns = block_k * BLOCK_K + tl.arange(0, BLOCK_K)
    inside = (rows < mn)[:, None] & (columns < k)[None, :]
    offsets = rows.to(tl.int64)[:, None] * x_stride_mn + columns.to(tl.int64)[None, :] * x_stride_k
    x = tl.load(x_ptr + offsets, mask=inside, other=0.0)  # [BLOCK_MN, BLOCK_K]
    amax = part_amax(float_bits(x), BLOCK_MN, BLOCK_K, PART_MN, PART_K)
    part_rows = block_mn * BLOCK_MN + tl.arange(0, BLOCK_MN // PART_MN) * PART_MN
    part_columns = block_k * BLOCK_K + tl.arange(0, BLOCK_K // PART_K) * PART_K
    tile_mn = part_rows // TILE_MN if TILE_MN else part_rows * 0
    tile_k = part_columns // TILE_K if TILE_K else part_columns * 0
    held = (part_rows < mn)[:, None] & (part_columns < k)[None, :]
    # Several programs may have parts of one tile; the largest of integers does not depend on their order.
    tl.atomic_max(amax_ptr + tile_k[None, :] * mn_tiles + tile_mn[:, None], amax, mask=held)


@triton.jit
def quantize_kernel(
    x_ptr,
    amax_ptr,
    codes_ptr,
    scale_ptr,
    mn,
    k,
    x_stride_mn,
    x_stride_k,
    codes_stride_mn,
    mn_tiles,
    TILE_MN: tl.constexpr,
    TILE_K: tl.constexpr,
    PART_MN: tl.constexpr,
    PART_K: tl.constexpr,
    BLOCK_MN: tl.constexpr,
    BLOCK_K: tl.constexpr,
    MAX_BITS: tl.constexpr,
    MIN_SCALE_BITS: tl.constexpr,
    MANTISSA: tl.constexpr,
    BIAS: tl.constexpr,
    NAN_CODE: tl.constexpr,
    POWER_OF_TWO: tl.constexpr,
    ROUND_UP: tl.constexpr,
    AMAX_KNOWN: tl.constexpr,
    CAST: tl.constexpr,
):
    """Write codes uint8[mn, codes_stride_mn], zero beyond k, and scale float32[k_tiles, mn_tiles] of x [mn,
    k].

    AMAX_KNOWN: amax_kernel has filled amax; else each part is a whole tile. CAST: the hardware's cast
    encodes.
    """
    block_mn, block_k = tl.program_id(0), tl.program_id(1)
    rows = block_mn * BLOCK_MN + tl.arange(0, BLOCK_MN)
    columns = block_k * BLOCK_K + tl.arange(0, BLOCK_K)
    inside = (rows < mn)[:, None] & (columns < k)[None, :]
    offsets = rows.to(tl.int64)[:, None] * x_stride_mn + columns.to(tl.int64)[None, :] * x_stride_k
    x = tl.load(x_ptr + offsets, mask=inside, other=0.0).to(tl.float32)  # [BLOCK_MN, BLOCK_K]

    part_rows = block_mn * BLOCK_MN + tl.arange(0, BLOCK_MN // PART_MN) * PART_MN
    part_columns = block_k * BLOCK_K + tl.arange(0, BLOCK_K // PART_K) * PART_K
    tile_mn = part_rows // TILE_MN if TILE_MN else part_rows * 0
    tile_k = part_columns // TILE_K if TILE_K else part_columns * 0
    held = (part_rows < mn)[:, None] & (part_columns < k)[None, :]
    tiles = tile_k[None, :] * mn_tiles + tile_mn[:, None]
    if AMAX_KNOWN:
        amax = tl.load(amax_ptr + tiles, mask=held, other=0)
    else:
        amax = part_amax(float_bits(x), BLOCK_MN, BLOCK_K, PART_MN, PART_K)
    scale, reciprocal = scale_and_reciprocal(amax, MAX_BITS, MIN_SCALE_BITS, POWER_OF_TWO, ROUND_UP)
    # Of several parts of a tile, the first one stores its scale.
    first_mn = part_rows == tile_mn * TILE_MN if TILE_MN else part_rows == 0
    first_k = part_columns == tile_k * TILE_K if TILE_K else part_columns == 0
    tl.store(scale_ptr + tiles, scale, mask=held & first_mn[:, None] & first_k[None, :])

    # q = fl32(x · fl32(1 / scale)), as in the reference: bit for bit.
    q = x * expand_parts(reciprocal, BLOCK_MN, BLOCK_K, PART_MN, PART_K)
    if CAST:
        codes = encode_by_cast(q, MAX_BITS, MANTISSA)
    else:
        codes = encode_by_bits(q, MAX_BITS, MANTISSA, BIAS)
    broken = expand_parts((amax >= FP32_INF).to(tl.int32), BLOCK_MN, BLOCK_K, PART_MN, PART_K)
    codes = tl.where((broken != 0) & inside, NAN_CODE, codes).to(tl.uint8)
    # Codes beyond k are zeros, up to the stride: a GEMM may read them.
    stored = (rows < mn)[:, None] & (columns < codes_stride_mn)[None, :]
    tl.store(codes_ptr + rows.to(tl.int64)[:, None] * codes_stride_mn + columns[None, :], codes, mask=stored)


@triton.jit
def encode_kernel(
    x_ptr,
    codes_ptr,
    size,
    MAX_BITS: tl.constexpr,
    MANTISSA: tl.constexpr,
    BIAS: tl.constexpr,
    CAST: tl.constexpr,
    BLOCK: tl.constexpr,
):
    """Encode x float32[size] without a scale, by the cast or by the bits: a test that both agree."""
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offsets, mask=offsets < size, other=0.0)
    if CAST:
        codes = encode_by_cast(x, MAX_BITS, MANTISSA)
    else:
        codes = encode_by_bits(x, MAX_BITS, MANTISSA, BIAS)
    tl.store(codes_ptr + offsets, codes, mask=offsets < size)
