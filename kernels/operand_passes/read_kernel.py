"""Reading a quantized operand inside a kernel: packed codes become numbers, one-byte scales become fp32."""

import triton
import triton.language as tl

from fp8core.formats import FORMATS
from kernels.bits import BF16_CUT, FP8_SIGN, FP32_BIAS, FP32_MANTISSA, FP32_NAN, float_of

_FP32, _E4M3, _E8M0 = (FORMATS[name] for name in ("fp32", "e4m3", "e8m0"))
FP32_BITS = tl.constexpr(_FP32.bits)
LEAST_E8M0 = tl.constexpr(1 << (_FP32.mantissa_bits - 1))
"""The bits of 2**-127 in fp32, which is a subnormal number there and code 0 of E8M0."""
E8M0_NAN = tl.constexpr(_E8M0.nan_code)
E4M3_NAN = tl.constexpr(_E4M3.nan_code)
E4M3_CUT = tl.constexpr(_FP32.mantissa_bits - _E4M3.mantissa_bits)
"""Mantissa bits that fp32 has and e4m3 has not."""
E4M3_UNIT = tl.constexpr(_FP32.bias - _E4M3.bias)
"""e4m3's magnitude bits, read as fp32, are its value over 2 to this power."""


@triton.jit
def power_of_two(EXPONENT: tl.constexpr):
    """float32[1, 1]: 2**EXPONENT, put together from its bits. Products with it are exact."""
    return float_of(tl.full([1, 1], (FP32_BIAS + EXPONENT) << FP32_MANTISSA, tl.int32))


@triton.jit
def decoded_scale(stored, SCALE: tl.constexpr):
    """float32: scales as they are stored, which is fp32, or one byte in e8m0 or e4m3."""
    if stored.dtype == tl.float32:
        scale = stored
    elif SCALE == "e8m0":
        code = stored.to(tl.int32)
        bits = tl.where(code == 0, LEAST_E8M0, code << FP32_MANTISSA)
        scale = float_of(tl.where(code == E8M0_NAN, FP32_NAN, bits))
    else:
        tl.static_assert(SCALE == "e4m3")
        size = stored.to(tl.int32) & (FP8_SIGN - 1)
        scale = float_of(size << E4M3_CUT) * power_of_two(E4M3_UNIT)
        scale = tl.where(size == E4M3_NAN, float_of(tl.full([1, 1], FP32_NAN, tl.int32)), scale)
    return scale


@triton.jit
def load_stored_scales(
    scale_ptr,
    start_mn,
    start_k,
    size_mn,
    size_k,
    stride_k,
    TILE_MN: tl.constexpr,
    TILE_K: tl.constexpr,
    BLOCK_MN: tl.constexpr,
    BLOCK_K: tl.constexpr,
):
    """[BLOCK_MN, tiles along K]: a block's scales as they are stored; beyond the operand 0.

    A TILE of 0 is the whole dim. TILES along K: those that BLOCK_K has, one where a tile is longer.
    """
    TILES: tl.constexpr = BLOCK_K // TILE_K if TILE_K and TILE_K < BLOCK_K else 1
    rows = start_mn + tl.arange(0, BLOCK_MN)
    columns = start_k + tl.arange(0, TILES) * TILE_K
    inside = (rows < size_mn)[:, None] & (columns < size_k)[None, :]
    tile_mn = rows // TILE_MN if TILE_MN else rows * 0
    tile_k = columns // TILE_K if TILE_K else columns * 0
    places = scale_ptr + tile_k[None, :] * stride_k + tile_mn[:, None]
    return tl.load(places, mask=inside, other=0)


@triton.jit
def load_block_scales(
    scale_ptr,
    start_mn,
    start_k,
    size_mn,
    size_k,
    stride_k,
    SCALE: tl.constexpr,
    TILE_MN: tl.constexpr,
    TILE_K: tl.constexpr,
    BLOCK_MN: tl.constexpr,
    BLOCK_K: tl.constexpr,
):
    """float32[BLOCK_MN, tiles along K]: a block's scales; beyond the operand what byte 0 stands for."""
    stored = load_stored_scales(
        scale_ptr, start_mn, start_k, size_mn, size_k, stride_k, TILE_MN, TILE_K, BLOCK_MN, BLOCK_K
    )
    return decoded_scale(stored, SCALE)


@triton.jit
def load_three_bytes(codes_ptr, rows, start, mn, stride, BLOCK_MN: tl.constexpr, GROUPS: tl.constexpr):
    """int32[BLOCK_MN, GROUPS]: three bytes each of rows uint8[mn, stride], 0 beyond them.

    Words are loaded and no bytes: three words have four groups. So `start`, the first group, and the groups
    of a row are multiples of four, and a row starts at a multiple of four bytes.
    """
    columns = (start // 4 + tl.arange(0, GROUPS // 4)) * 12
    inside = (rows < mn)[:, None] & (columns < stride)[None, :]
    places = codes_ptr + rows.to(tl.int64)[:, None] * stride + columns[None, :]
    words = places.to(tl.pointer_type(tl.int32))
    first = tl.load(words, mask=inside, other=0)
    second = tl.load(words + 1, mask=inside, other=0)
    third = tl.load(words + 2, mask=inside, other=0)
    even = tl.join(first & 0xFFFFFF, ((second >> 16) & 0xFFFF) | (third & 0xFF) << 16)  # groups 0 and 2
    odd = tl.join(((first >> 24) & 0xFF) | (second & 0xFFFF) << 8, (third >> 8) & 0xFFFFFF)  # 1 and 3
    return tl.reshape(tl.join(even, odd), [BLOCK_MN, GROUPS])


@triton.jit
def load_codes_of_bits(
    codes_ptr,
    rows,
    start_k,
    mn,
    stride,
    BITS: tl.constexpr,
    BLOCK_MN: tl.constexpr,
    BLOCK_K: tl.constexpr,
):
    """int32[BLOCK_MN, BLOCK_K]: codes of rows uint8[mn, stride], 0 beyond them.

    Two codes of 4 bits share a byte, the first in its low half. Four codes of 6 bits share three bytes, the
    first in the lowest bits. start_k is a multiple of 16.
    """
    if BITS == 6:
        packed = load_three_bytes(codes_ptr, rows, start_k // 4, mn, stride, BLOCK_MN, BLOCK_K // 4)
        even = tl.join(packed & 63, (packed >> 12) & 63)  # codes 0 and 2
        odd = tl.join((packed >> 6) & 63, packed >> 18)  # codes 1 and 3
        codes = tl.join(even, odd)
    else:
        GROUP: tl.constexpr = 8 // BITS
        columns = start_k // GROUP + tl.arange(0, BLOCK_K // GROUP)
        inside = (rows < mn)[:, None] & (columns < stride)[None, :]
        places = codes_ptr + rows.to(tl.int64)[:, None] * stride + columns[None, :]
        codes = tl.load(places, mask=inside, other=0).to(tl.int32)
        if BITS == 4:
            codes = tl.join(codes & 15, codes >> 4)
    return tl.reshape(codes, [BLOCK_MN, BLOCK_K])


@triton.jit
def code_values(
    codes, table_ptr, BITS: tl.constexpr, DECODING: tl.constexpr, SHIFT: tl.constexpr, FACTOR: tl.constexpr
):
    """float32: the values of codes int32.

    - "shift": a floating-point code's magnitude bits, moved to where bf16 has exponent and mantissa by SHIFT
      and read as such, are its value times 2**-FACTOR, subnormals included.
    - "integer": an integer in two's complement, times 2**FACTOR.
    - "table": float32[2**BITS] at table_ptr has the values.
    """
    SIGN: tl.constexpr = 1 << (BITS - 1)
    if DECODING == "table":
        value = tl.load(table_ptr + codes)
    elif DECODING == "integer":
        value = ((codes ^ SIGN) - SIGN).to(tl.float32) * power_of_two(FACTOR)
    else:
        size = (codes & (SIGN - 1)) << (SHIFT + BF16_CUT)
        value = float_of((codes & SIGN) << (FP32_BITS - BITS) | size) * power_of_two(FACTOR)
    return value
