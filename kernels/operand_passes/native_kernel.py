"""Two passes before the block-scaled tensor core: scales go where it reads them, narrow codes are widened."""

import triton
import triton.language as tl

from fp8core.formats import FORMATS
from kernels.bits import FP8_SIGN, FP32_BIAS, FP32_MANTISSA, float_bits, float_of
from kernels.operand_passes.native import SCALE_ROWS, SCALE_TILES
from kernels.operand_passes.read_kernel import load_three_bytes

_E4M3, _FP32 = FORMATS["e4m3"], FORMATS["fp32"]
E4M3_CUT = tl.constexpr(_FP32.mantissa_bits - _E4M3.mantissa_bits)
"""Mantissa bits that fp32 has and e4m3 has not."""
E4M3_REBIAS = tl.constexpr((_FP32.bias - _E4M3.bias) << _E4M3.mantissa_bits)
"""What an fp32 number's top bits are above those of the e4m3 code of its value."""
ROWS, TILES = tl.constexpr(SCALE_ROWS), tl.constexpr(SCALE_TILES)
QUARTERS = tl.constexpr(4)
"""A block's rows come in so many runs, which lie side by side."""
GROUP = tl.constexpr(4)
"""Codes that are widened together: they are a whole number of bytes packed, and a word widened."""


@triton.jit
def scale_blocks_kernel(
    scale_ptr,
    blocks_ptr,
    mn,
    k_tiles,
    stride_k,
    block_columns,
    TILE_MN: tl.constexpr,
    TILE_K: tl.constexpr,
    RUN_K: tl.constexpr,
    FROM_FP32: tl.constexpr,
    COLUMNS: tl.constexpr,
):
    """Write one-byte scales in blocks uint8[block rows, block columns, 512], each 128 rows × 4 runs of K.

    Row r and run c of a block lie at byte 16 · (r mod 32) + 4 · (r div 32) + c: so tcgen05.cp spreads them
    over the lanes of tensor memory. A tile's scale is repeated for each row and each RUN_K elements that it
    covers. Bytes beyond the last tile are 0. FROM_FP32: scales are fp32 powers of two, of which E8M0 is the
    exponent field. One program writes COLUMNS blocks that lie side by side.
    """
    places = tl.arange(0, COLUMNS * ROWS * TILES)
    column = tl.program_id(1) * COLUMNS + places // (ROWS * TILES)
    inside_block = places % (ROWS * TILES)
    lane, rest = inside_block // (QUARTERS * TILES), inside_block % (QUARTERS * TILES)
    row = tl.program_id(0) * ROWS + rest // TILES * (ROWS // QUARTERS) + lane
    tile_k = (column * TILES + rest % TILES) * RUN_K // TILE_K
    tile_mn = row // TILE_MN if TILE_MN else row * 0
    at = tile_k.to(tl.int64) * stride_k + tile_mn
    scale = tl.load(scale_ptr + at, mask=(row < mn) & (tile_k < k_tiles), other=0)
    if FROM_FP32:
        scale = float_bits(scale) >> FP32_MANTISSA
    first = tl.program_id(0).to(tl.int64) * block_columns * (ROWS * TILES)
    within = column < block_columns
    tl.store(blocks_ptr + first + column * (ROWS * TILES) + inside_block, scale.to(tl.uint8), mask=within)


@triton.jit
def widen_code(code, BITS: tl.constexpr, MANTISSA: tl.constexpr, BIAS: tl.constexpr):
    """int32 e4m3 codes of the values of narrow codes int32, whose exponents e4m3 has all among its normals.

    A code's magnitude bits, put where fp32 has its exponent and mantissa, are its value times a power of two,
    subnormals included. The product with that power is exact. Its top bits are the e4m3 code.
    """
    SIGN: tl.constexpr = 1 << (BITS - 1)
    magnitude = code & (SIGN - 1)
    unit = float_of(tl.full([1, 1], (2 * FP32_BIAS - BIAS) << FP32_MANTISSA, tl.int32))
    value = float_of(magnitude << (FP32_MANTISSA - MANTISSA)) * unit
    size = tl.where(magnitude == 0, 0, (float_bits(value) >> E4M3_CUT) - E4M3_REBIAS)
    return size | tl.where((code & SIGN) != 0, FP8_SIGN, 0)


@triton.jit
def widen_kernel(
    packed_ptr,
    codes_ptr,
    mn,
    packed_stride,
    words,
    BITS: tl.constexpr,
    MANTISSA: tl.constexpr,
    BIAS: tl.constexpr,
    BLOCK_MN: tl.constexpr,
    BLOCK_WORDS: tl.constexpr,
):
    """Write e4m3 codes as int32[mn, words], four a word, of packed codes of BITS uint8[mn, packed_stride].

    Four codes take BITS / 2 bytes; the first has the lowest bits.
    """
    BYTES: tl.constexpr = GROUP * BITS // 8
    rows = tl.program_id(0) * BLOCK_MN + tl.arange(0, BLOCK_MN)
    start = tl.program_id(1) * BLOCK_WORDS
    columns = start + tl.arange(0, BLOCK_WORDS)
    inside = (rows < mn)[:, None] & (columns < words)[None, :]
    if BITS == 6:
        packed = load_three_bytes(packed_ptr, rows, start, mn, packed_stride, BLOCK_MN, BLOCK_WORDS)
    else:
        places = packed_ptr + rows.to(tl.int64)[:, None] * packed_stride + columns[None, :] * BYTES
        packed = tl.zeros([BLOCK_MN, BLOCK_WORDS], tl.int32)
        for byte in tl.static_range(BYTES):
            packed |= tl.load(places + byte, mask=inside, other=0).to(tl.int32) << (8 * byte)
    wide = tl.zeros([BLOCK_MN, BLOCK_WORDS], tl.int32)
    for place in tl.static_range(GROUP):
        code = (packed >> (BITS * place)) & ((1 << BITS) - 1)
        wide |= widen_code(code, BITS, MANTISSA, BIAS) << (8 * place)
    tl.store(codes_ptr + rows.to(tl.int64)[:, None] * words + columns[None, :], wide, mask=inside)
