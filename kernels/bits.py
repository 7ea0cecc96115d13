"""Bits of fp32 and of 8-bit codes inside Triton kernels: encode, decode, and expand tiles."""

import triton
import triton.language as tl

from fp8core.formats import FORMATS

_FP32 = FORMATS["fp32"]


FP32_MANTISSA = tl.constexpr(_FP32.mantissa_bits)


FP32_BIAS = tl.constexpr(_FP32.bias)


FP32_INF = tl.constexpr(_FP32.inf_code)


FP32_NAN = tl.constexpr(_FP32.nan_code)


FP32_FRACTION = tl.constexpr((1 << _FP32.mantissa_bits) - 1)


FP32_SIGN = tl.constexpr(-(1 << (_FP32.bits - 1)))


FP8_SIGN = tl.constexpr(FORMATS["e4m3"].sign_bit)


SIGN_SHIFT = tl.constexpr(_FP32.bits - FORMATS["e4m3"].bits)


FP32_SIZE_MASK = tl.constexpr(_FP32.magnitude_mask)


@triton.jit
def float_bits(x):
    return x.to(tl.float32).to(tl.int32, bitcast=True)


@triton.jit
def float_of(bits):
    return bits.to(tl.float32, bitcast=True)


@triton.jit
def expand_parts(
    value, BLOCK_MN: tl.constexpr, BLOCK_K: tl.constexpr, PART_MN: tl.constexpr, PART_K: tl.constexpr
):
    """[BLOCK_MN / PART_MN, BLOCK_K / PART_K] -> [BLOCK_MN, BLOCK_K]: each element gets its part's value."""
    wide = tl.broadcast_to(value[:, None, :, None], [BLOCK_MN // PART_MN, PART_MN, BLOCK_K // PART_K, PART_K])
    return tl.reshape(wide, [BLOCK_MN, BLOCK_K])


@triton.jit
def encode_by_bits(q, MAX_BITS: tl.constexpr, MANTISSA: tl.constexpr, BIAS: tl.constexpr):
    """fp32 -> uint8 codes, nearest even, saturating, by integer arithmetic: where casts cannot be trusted.

    A subnormal result is rounded by one fp32 addition that puts the format's smallest step at the last bit.
    """
    bits = float_bits(q)
    size = bits & FP32_SIZE_MASK
    size = tl.where(size > MAX_BITS, MAX_BITS, size)
    CUT: tl.constexpr = FP32_MANTISSA - MANTISSA
    MIN_NORMAL: tl.constexpr = FP32_BIAS + 1 - BIAS
    even = (size >> CUT) & 1
    normal = (size + (FP32_FRACTION >> (MANTISSA + 1)) + even) >> CUT
    normal -= (FP32_BIAS - BIAS) << MANTISSA
    magic = tl.full(size.shape, (MIN_NORMAL + CUT) << FP32_MANTISSA, tl.int32)
    subnormal = float_bits(float_of(size) + float_of(magic)) - magic
    code = tl.where(size < (MIN_NORMAL << FP32_MANTISSA), subnormal, normal)
    return (code | ((bits >> SIGN_SHIFT) & FP8_SIGN)).to(tl.uint8)


@triton.jit
def encode_by_cast(q, MAX_BITS: tl.constexpr, MANTISSA: tl.constexpr):
    """fp32 -> uint8 codes by the hardware's cast, nearest even, clamped on the bits before it."""
    bits = float_bits(q)
    size = bits & FP32_SIZE_MASK
    size = tl.where(size > MAX_BITS, MAX_BITS, size)
    return cast_within(float_of(size | (bits & FP32_SIGN)), MANTISSA)


@triton.jit
def cast_within(q, MANTISSA: tl.constexpr):
    """fp32 of at most the format's largest value -> uint8 codes by the hardware's cast, nearest even."""
    if MANTISSA == 3:
        codes = q.to(tl.float8e4nv).to(tl.uint8, bitcast=True)
    else:
        codes = q.to(tl.float8e5).to(tl.uint8, bitcast=True)
    return codes


@triton.jit
def decode_by_cast(codes, MANTISSA: tl.constexpr):
    """uint8 codes -> fp32 by the hardware's cast."""
    if MANTISSA == 3:
        value = codes.to(tl.float8e4nv, bitcast=True).to(tl.float32)
    else:
        value = codes.to(tl.float8e5, bitcast=True).to(tl.float32)
    return value
