"""Dequantizing: codes with power-of-two scales along K become their exact values as bf16.

A kernel does it with a block in registers, or a pass of its own with a whole operand.
"""

import triton
import triton.language as tl

from fp8core.accumulators import ACCUMULATORS
from fp8core.formats import FORMATS
from kernels.bits import BF16_CUT, FP8_SIGN, FP32_MANTISSA

_BF16 = FORMATS["bf16"]
_BYTE = FORMATS["e4m3"].bits
BF16_BIAS = tl.constexpr(_BF16.bias)
BF16_MANTISSA = tl.constexpr(_BF16.mantissa_bits)
FP32_CODE = tl.constexpr(FORMATS["fp32"].bits - _BYTE)
"""From a code's sign bit to that of fp32."""
FUSED = tl.constexpr(ACCUMULATORS["hopper_bf16"].fused_products)
"""Products of bf16 that the tensor core adds at once: within so many along K, their order is free."""


def _widening(shift: int) -> str:
    """PTX that spreads the four codes of a register over two registers, 16 bits each.

    A code's sign goes to the top, its magnitude bits are shifted left by `shift`: `prmt` puts two codes where
    they belong, and one shift moves both. Triton would shift each 16-bit number by itself.
    """
    both = 1 | 1 << _BF16.bits
    size, sign = both * (((1 << (_BYTE - 1)) - 1) << shift), both << (_BF16.bits - 1)
    steps = "".join(
        f"prmt.b32 top, $2, 0, {pair}; shr.u32 low, top, {_BYTE - shift}; and.b32 low, low, {size}; "
        f"and.b32 top, top, {sign}; or.b32 ${out}, top, low; "
        for out, pair in enumerate(("0x1404", "0x3424"))
    )
    return f"{{ .reg .b32 top, low; {steps}}}"


def _decoding(shift: int, factor: int) -> str:
    """PTX that decodes the four codes of a register to bf16 and multiplies them by their scales.

    It gives codes 0 and 2, then codes 1 and 3, times 2**factor and times the scale. In this order each code
    moves to its 16 bits by shifts alone. Two more registers hold twice two equal bf16 scales.
    """
    both = 1 | 1 << _BF16.bits
    size, sign = both * (((1 << (_BYTE - 1)) - 1) << shift), both << (_BF16.bits - 1)
    unit = both * ((_BF16.bias + factor) << _BF16.mantissa_bits)
    even = f"shl.b32 size, $2, {shift}; shl.b32 sign, $2, {_BYTE}; "
    odd = f"shr.u32 size, $2, {_BYTE - shift}; mov.b32 sign, $2; "
    steps = "".join(
        f"{moved} and.b32 size, size, {size}; and.b32 sign, sign, {sign}; or.b32 ${out}, size, sign; "
        f"mul.rn.bf16x2 ${out}, ${out}, unit; mul.rn.bf16x2 ${out}, ${out}, ${3 + out}; "
        for out, moved in enumerate((even, odd))
    )
    return f"{{ .reg .b32 size, sign, unit; mov.b32 unit, {unit}; {steps}}}"


_E4M3, _E5M2 = (_BF16.mantissa_bits - FORMATS[name].mantissa_bits for name in ("e4m3", "e5m2"))
E4M3_SHIFT = tl.constexpr(_E4M3)
WIDEN_E4M3 = tl.constexpr(_widening(_E4M3))
WIDEN_E5M2 = tl.constexpr(_widening(_E5M2))
DECODE_E4M3 = tl.constexpr(_decoding(_E4M3, _BF16.bias - FORMATS["e4m3"].bias))
DECODE_E5M2 = tl.constexpr(_decoding(_E5M2, _BF16.bias - FORMATS["e5m2"].bias))


@triton.jit
def load_block_scales(
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
    """float32[BLOCK_MN, BLOCK_K / TILE_K]: a block's scales, zero beyond the operand."""
    rows = start_mn + tl.arange(0, BLOCK_MN)
    columns = start_k + tl.arange(0, BLOCK_K // TILE_K) * TILE_K
    inside = (rows < size_mn)[:, None] & (columns < size_k)[None, :]
    tile_mn = rows // TILE_MN if TILE_MN else rows * 0
    places = scale_ptr + (columns // TILE_K)[None, :] * stride_k + tile_mn[:, None]
    return tl.load(places, mask=inside, other=0.0)


@triton.jit
def dequantize_block(
    codes,
    scale,
    TILE_K: tl.constexpr,
    SHIFT: tl.constexpr,
    FACTOR: tl.constexpr,
    BLOCK_MN: tl.constexpr,
    BLOCK_K: tl.constexpr,
    CAST: tl.constexpr,
):
    """bf16[BLOCK_MN, BLOCK_K] (fp32 in the interpreter): the values of codes uint8[BLOCK_MN, BLOCK_K].

    A code's magnitude bits, shifted to the mantissa of bf16 and read as bf16, are its value times 2**-FACTOR,
    subnormals included. Two products follow: with 2**FACTOR and with the scale.

    Both are exact while code · scale is a bf16 number: for a scale 2**s with s from -124 to 119 (e4m3), from
    -117 to 112 (e5m2). Below, values under 2**-133 are rounded to a multiple of it. Above, a value of 2**128
    or more becomes infinite.
    """
    if CAST:
        WIDEN: tl.constexpr = WIDEN_E4M3 if SHIFT == E4M3_SHIFT else WIDEN_E5M2
        value = tl.inline_asm_elementwise(WIDEN, "=r,=r,r", [codes], dtype=tl.bfloat16, is_pure=True, pack=4)
        scale = scale.to(tl.bfloat16)
        # 2**FACTOR, put together from its exponent
        unit = tl.full([1, 1], (BF16_BIAS + FACTOR) << BF16_MANTISSA, tl.int16).to(tl.bfloat16, bitcast=True)
    else:
        wide = codes.to(tl.int32)
        bits = (wide & FP8_SIGN) << FP32_CODE | ((wide & (FP8_SIGN - 1)) << (SHIFT + BF16_CUT))
        value = bits.to(tl.float32, bitcast=True)
        unit = tl.full([1, 1], (BF16_BIAS + FACTOR) << FP32_MANTISSA, tl.int32).to(tl.float32, bitcast=True)
    # [BLOCK_MN, tiles, TILE_K] · [BLOCK_MN, tiles, 1]
    value = tl.reshape(value * unit, [BLOCK_MN, BLOCK_K // TILE_K, TILE_K]) * scale[:, :, None]
    return tl.reshape(value, [BLOCK_MN, BLOCK_K])


@triton.jit
def dequantize_kernel(
    codes_ptr,
    scale_ptr,
    values_ptr,
    mn,
    k,
    stride_mn,
    mn_tiles,
    TILE_MN: tl.constexpr,
    TILE_K: tl.constexpr,
    SHIFT: tl.constexpr,
    FACTOR: tl.constexpr,
    CAST: tl.constexpr,
    PAIRED: tl.constexpr,
    BLOCK_MN: tl.constexpr,
    BLOCK_K: tl.constexpr,
):
    """Write values [mn, stride_mn], bf16 or, in the interpreter, fp32, of codes uint8 of the same strides.

    PAIRED: of 16 along K, number 4j + 2i + h goes to place 8h + 2j + i. hopper/decoding/kernel.py says why.
    """
    start_mn, start_k = tl.program_id(0) * BLOCK_MN, tl.program_id(1) * BLOCK_K
    rows = start_mn + tl.arange(0, BLOCK_MN)
    columns = start_k + tl.arange(0, BLOCK_K)
    inside = (rows < mn)[:, None] & (columns < stride_mn)[None, :]
    places = rows.to(tl.int64)[:, None] * stride_mn + columns[None, :]
    codes = tl.load(codes_ptr + places, mask=inside, other=0)  # [BLOCK_MN, BLOCK_K]
    scale = load_block_scales(
        scale_ptr, start_mn, start_k, mn, k, mn_tiles, TILE_MN, TILE_K, BLOCK_MN, BLOCK_K
    )
    values = dequantize_block(codes, scale, TILE_K, SHIFT, FACTOR, BLOCK_MN, BLOCK_K, CAST)
    if PAIRED:  # [BLOCK_MN, groups of 16, j, i, h] -> [BLOCK_MN, groups of 16, h, j, i]
        fours = tl.reshape(values, [BLOCK_MN, BLOCK_K // FUSED, FUSED // 4, 2, 2])
        values = tl.reshape(tl.permute(fours, [0, 1, 4, 2, 3]), [BLOCK_MN, BLOCK_K])
    tl.store(values_ptr + places, values, mask=inside)
