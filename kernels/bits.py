"""Bits of fp32, bf16 and 8-bit codes inside Triton kernels: round, encode, decode, and expand tiles.

Where the hardware casts, kernels cast. Triton's interpreter truncates instead of rounding, so there integer
arithmetic on the bits gives what the cast would.
"""

import triton
import triton.language as tl

from fp8core.formats import FORMATS

_FP32, _BF16, _E4M3 = (FORMATS[name] for name in ("fp32", "bf16", "e4m3"))

FP32_MANTISSA = tl.constexpr(_FP32.mantissa_bits)
FP32_BIAS = tl.constexpr(_FP32.bias)
FP32_INF = tl.constexpr(_FP32.inf_code)
FP32_NAN = tl.constexpr(_FP32.nan_code)
FP32_FRACTION = tl.constexpr((1 << _FP32.mantissa_bits) - 1)
"""The mantissa bits, all set."""
FP32_SIGN = tl.constexpr(-(1 << (_FP32.bits - 1)))
"""The sign bit, as a signed integer."""
FP32_SIZE_MASK = tl.constexpr(_FP32.magnitude_mask)
"""All bits but the sign."""
FP8_SIGN = tl.constexpr(_E4M3.sign_bit)
SIGN_SHIFT = tl.constexpr(_FP32.bits - _E4M3.bits)
"""From fp32's sign bit to that of a code."""
BF16_CUT = tl.constexpr(_FP32.mantissa_bits - _BF16.mantissa_bits)
"""Mantissa bits that fp32 has and bf16 has not."""
BF16_HALF = tl.constexpr((1 << (BF16_CUT.value - 1)) - 1)
"""Just below half of bf16's last place, in bits of fp32."""


@triton.jit
def float_bits(x):
    """int32: the bits of x as fp32."""
    return x.to(tl.float32).to(tl.int32, bitcast=True)


@triton.jit
def float_of(bits):
    """float32 of these bits."""
    return bits.to(tl.float32, bitcast=True)


@triton.jit
def to_bf16_by_bits(x):
    """bf16 of fp32, nearest even, by integer arithmetic; a NaN stays one."""
    bits = float_bits(x)
    # Nearest even: add just below half of the last place, and one more where the last bit kept is odd.
    rounded = (bits + BF16_HALF + ((bits >> BF16_CUT) & 1)) >> BF16_CUT
    rounded = tl.where((bits & FP32_SIZE_MASK) > FP32_INF, FP32_NAN >> BF16_CUT, rounded)
    return rounded.to(tl.int16).to(tl.bfloat16, bitcast=True)


@triton.jit
def expand_parts(
    value, BLOCK_MN: tl.constexpr, BLOCK_K: tl.constexpr, PART_MN: tl.constexpr, PART_K: tl.constexpr
):
    """[BLOCK_MN, BLOCK_K] of [BLOCK_MN / PART_MN, BLOCK_K / PART_K]: each element gets its part's value."""
    wide = tl.broadcast_to(value[:, None, :, None], [BLOCK_MN // PART_MN, PART_MN, BLOCK_K // PART_K, PART_K])
    return tl.reshape(wide, [BLOCK_MN, BLOCK_K])


@triton.jit
def encode_by_bits(q, MAX_BITS: tl.constexpr, MANTISSA: tl.constexpr, BIAS: tl.constexpr):
    """uint8 codes of fp32, nearest even, saturating, by integer arithmetic.

    MAX_BITS: the fp32 bits of the format's largest value. Normal and subnormal results are both computed; a
    number below the format's least normal one takes the subnormal result.
    """
    bits = float_bits(q)
    size = bits & FP32_SIZE_MASK
    size = tl.where(size > MAX_BITS, MAX_BITS, size)
    CUT: tl.constexpr = FP32_MANTISSA - MANTISSA
    MIN_NORMAL: tl.constexpr = FP32_BIAS + 1 - BIAS
    # Nearest even: add just below half of the last place, and one more where the last bit kept is odd.
    even = (size >> CUT) & 1
    normal = (size + (FP32_FRACTION >> (MANTISSA + 1)) + even) >> CUT
    normal -= (FP32_BIAS - BIAS) << MANTISSA
    # Adding a number whose last place is the format's smallest step makes fp32's own addition round to it.
    magic = tl.full(size.shape, (MIN_NORMAL + CUT) << FP32_MANTISSA, tl.int32)
    subnormal = float_bits(float_of(size) + float_of(magic)) - magic
    code = tl.where(size < (MIN_NORMAL << FP32_MANTISSA), subnormal, normal)
    return (code | ((bits >> SIGN_SHIFT) & FP8_SIGN)).to(tl.uint8)


@triton.jit
def encode_by_cast(q, MAX_BITS: tl.constexpr, MANTISSA: tl.constexpr):
    """uint8 codes of fp32 by the hardware's cast, nearest even; clamped before, so that nothing overflows."""
    bits = float_bits(q)
    size = bits & FP32_SIZE_MASK
    size = tl.where(size > MAX_BITS, MAX_BITS, size)
    return cast_within(float_of(size | (bits & FP32_SIGN)), MANTISSA)


@triton.jit
def cast_within(q, MANTISSA: tl.constexpr):
    """uint8 codes, by the hardware's cast, of fp32 numbers no larger than the format's largest."""
    if MANTISSA == 3:
        codes = q.to(tl.float8e4nv).to(tl.uint8, bitcast=True)
    else:
        codes = q.to(tl.float8e5).to(tl.uint8, bitcast=True)
    return codes


@triton.jit
def decode_by_cast(codes, MANTISSA: tl.constexpr):
    """float32: the values of uint8 codes, by the hardware's cast."""
    if MANTISSA == 3:
        value = codes.to(tl.float8e4nv, bitcast=True).to(tl.float32)
    else:
        value = codes.to(tl.float8e5, bitcast=True).to(tl.float32)
    return value
