"""Bits of fp32, bf16 and codes inside Triton kernels: round, encode, decode, expand tiles.

Kernels use the hardware's casts. Triton's interpreter truncates instead of rounding, so there integer
arithmetic on the bits replaces the cast.
"""

import triton
import triton.language as tl

from fp8core.formats import FORMATS

_FP32, _BF16, _E4M3 = (FORMATS[name] for name in ("fp32", "bf16", "e4m3"))

FP32_BITS = tl.constexpr(_FP32.bits)
FP32_MANTISSA = tl.constexpr(_FP32.mantissa_bits)
FP32_BIAS = tl.constexpr(_FP32.bias)
FP32_INF = tl.constexpr(_FP32.inf_code)
FP32_NAN = tl.constexpr(_FP32.nan_code)
FP32_SIGN = tl.constexpr(-(1 << (_FP32.bits - 1)))
"""The sign bit, as a signed integer."""
FP32_STEP = tl.constexpr(1 << _FP32.mantissa_bits)
"""One in the exponent field; as a mantissa bit, the implied one."""
FP32_FRACTION = tl.constexpr((1 << _FP32.mantissa_bits) - 1)
FP32_SIZE_MASK = tl.constexpr(_FP32.magnitude_mask)
"""All bits but the sign."""
FP8_SIGN = tl.constexpr(_E4M3.sign_bit)
BF16_CUT = tl.constexpr(_FP32.mantissa_bits - _BF16.mantissa_bits)
"""Mantissa bits of fp32 that bf16 lacks."""
BF16_HALF = tl.constexpr((1 << (BF16_CUT.value - 1)) - 1)
"""Just below half of bf16's last place, in bits of fp32."""
ROUND_TO_BF16 = tl.constexpr(
    "{ .reg .f32 first, second; .reg .b32 both; mov.b32 first, $2; mov.b32 second, $3; "
    f"cvt.rn.bf16x2.f32 both, second, first; shl.b32 $0, both, {BF16_CUT.value}; "
    f"and.b32 $1, both, {-1 << BF16_CUT.value & (1 << FP32_BITS.value) - 1}; }}"
)
"""PTX that rounds two numbers to bf16 at once; Triton rounds one after the other, an eighth as fast."""


NOTHING = tl.constexpr("{ .reg .pred never; setp.ne.u32 never, $1, $1; bar.red.popc.u32 $0, 0, never; }")
"""PTX for a zero, the count of no threads at a barrier.

A thread gets it after all its loads before have started, for none may pass a barrier.
"""
WIDEN = tl.constexpr("prmt.b32 $0, $2, $3, 0x1044; lop3.b32 $1, $2, 0xffff0000, $3, 0xEA;")
"""PTX for two bf16 numbers of a word as fp32, by a zero that ptxas does not know."""
INVERT = tl.constexpr(
    "{ .reg .f32 about, rest; rcp.approx.ftz.f32 about, $1; fma.rn.f32 rest, $1, about, 0fBF800000; "
    "neg.f32 rest, rest; fma.rn.f32 $0, about, rest, about; }"
)
"""PTX for the reciprocal, IEEE's rounding, of a normal number with a normal reciprocal.

The hardware's is off by at most its last place; a step of Newton's follows. ptxas does so for rcp.rn.f32,
with a branch for each element to test for other numbers.
"""


def _cast_four(format_: str) -> tl.constexpr:
    """PTX that casts four numbers to codes of 8 bits in one register.

    Triton casts two to 16 bits. If these are used both whole and as bytes, ptxas 12.8 may take the bytes
    before the cast.
    """
    cast = f"cvt.rn.satfinite.{format_}x2.f32"
    return tl.constexpr(
        f"{{ .reg .b16 low, high; {cast} low, $2, $1; {cast} high, $4, $3; mov.b32 $0, {{low, high}}; }}"
    )


CAST_TO_E4M3, CAST_TO_E5M2 = _cast_four("e4m3"), _cast_four("e5m2")


@triton.jit
def float_bits(x):
    """int32: the bits of x as fp32."""
    return x.to(tl.float32).to(tl.int32, bitcast=True)


@triton.jit
def float_of(bits):
    """float32 of these bits."""
    return bits.to(tl.float32, bitcast=True)


@triton.jit
def fp32(BITS: tl.constexpr):
    """float32, a scalar, by its bits, because Triton takes some Python numbers as float64."""
    return tl.cast(BITS, tl.int32).to(tl.float32, bitcast=True)  # Gluon's `full` wants a layout


@triton.jit
def inverted(x):
    """float32: 1 / x, IEEE's rounding, of normal numbers below 2**126, on a GPU."""
    return tl.inline_asm_elementwise(INVERT, "=f,f", [x], tl.float32, is_pure=True, pack=1)


@triton.jit
def quotient(x, BY: tl.constexpr, SHARE: tl.constexpr):
    """float32: x / y of x >= 0, IEEE's rounding if that is normal; below, a little more or less.

    BY, SHARE: the bits of y, a whole number, and of fl32(1 / y). The remainder of the first product is exact.
    Source: Markstein, "Computation of elementary functions on the IBM RISC System/6000" (1990).
    """
    about = x * fp32(SHARE)
    left = tl.fma(about, -fp32(BY), x)
    return tl.fma(left, fp32(SHARE), about)


@triton.jit
def to_bf16_by_bits(x):
    """bf16 of fp32, nearest even, by integer arithmetic; a NaN stays one."""
    return bf16_bits(x).to(tl.int16).to(tl.bfloat16, bitcast=True)


@triton.jit
def bf16_bits(x):
    """int32: the bits of the bf16 number next to fp32 x, nearest even; a NaN stays one."""
    bits = float_bits(x)
    # Nearest even: add just below half of the last place, and one more if the last remaining bit is odd.
    rounded = (bits + BF16_HALF + ((bits >> BF16_CUT) & 1)) >> BF16_CUT
    return tl.where((bits & FP32_SIZE_MASK) > FP32_INF, FP32_NAN >> BF16_CUT, rounded)


@triton.jit
def bf16_values(x, CAST: tl.constexpr):
    """float32: fp32 x rounded to bf16, nearest even; a NaN stays one. CAST: on a GPU, two at once."""
    if CAST:
        bits = [float_bits(x)]
        rounded = tl.inline_asm_elementwise(ROUND_TO_BF16, "=r,=r,r,r", bits, tl.int32, is_pure=True, pack=2)
    else:
        rounded = bf16_bits(x) << BF16_CUT
    return float_of(rounded)


@triton.jit
def expand_parts(value, PART_MN: tl.constexpr, PART_K: tl.constexpr):
    """[parts along mn · PART_MN, parts along K · PART_K]: each part's value for its elements."""
    MN: tl.constexpr = value.shape[0]
    K: tl.constexpr = value.shape[1]
    wide = tl.broadcast_to(value[:, None, :, None], [MN, PART_MN, K, PART_K])
    return tl.reshape(wide, [MN * PART_MN, K * PART_K])


@triton.jit
def encode_binades(size, MANTISSA: tl.constexpr, MIN_FIELD: tl.constexpr):
    """int32: codes of float32 sizes from 0 to the format's largest value, nearest even.

    MIN_FIELD: exponent field, in fp32, of the format's smallest normal number. The sum with a power of two UP
    binades above the number's own has the step between codes as its last place.
    """
    UP: tl.constexpr = FP32_MANTISSA - MANTISSA
    field = tl.maximum(float_bits(size) >> FP32_MANTISSA, MIN_FIELD)
    away = (field + UP) * FP32_STEP
    # The sum's mantissa counts steps from 0. Those of the first binade are codes, subnormal or normal.
    return float_bits(size + float_of(away)) - away + (field - MIN_FIELD) * 2**MANTISSA


@triton.jit
def round_in_binade(size, MANTISSA: tl.constexpr, MIN_FIELD: tl.constexpr):
    """float32: values of the codes of `encode_binades`."""
    UP: tl.constexpr = FP32_MANTISSA - MANTISSA
    field = tl.maximum(float_bits(size) >> FP32_MANTISSA, MIN_FIELD)
    away = float_of((field + UP) * FP32_STEP)
    return (size + away) - away


@triton.jit
def with_sign(code, q, BITS: tl.constexpr, MINUS_ZERO: tl.constexpr):
    """int32: the code of |q| with the sign of q, in a format of BITS bits."""
    SIGN: tl.constexpr = 1 << (BITS - 1)
    # A sign bit that is shifted to the end is -1. A sum instead of a logical or: sums of codes are packed.
    negative = float_bits(q) >> (FP32_BITS - 1)
    if not MINUS_ZERO:
        negative = tl.where(code == 0, 0, negative)
    return code - negative * SIGN


@triton.jit
def encode_by_bits(q, MAX_BITS: tl.constexpr, MANTISSA: tl.constexpr, BIAS: tl.constexpr):
    """uint8 codes of fp32 in a format of 8 bits, nearest even, saturating, by arithmetic on the bits.

    MAX_BITS: fp32 bits of the format's largest value.
    """
    size = tl.minimum(tl.abs(q), fp32(MAX_BITS))
    code = encode_binades(size, MANTISSA, FP32_BIAS + 1 - BIAS)
    return with_sign(code, q, 8, True).to(tl.uint8)


@triton.jit
def cast_within(q, MANTISSA: tl.constexpr):
    """uint8 codes of fp32 by the hardware's cast, nearest even, saturating (PTX: cvt.rn.satfinite)."""
    CAST: tl.constexpr = CAST_TO_E4M3 if MANTISSA == 3 else CAST_TO_E5M2
    return tl.inline_asm_elementwise(CAST, "=r,f,f,f,f", [q], dtype=tl.uint8, is_pure=True, pack=4)


@triton.jit
def decode_by_cast(codes, MANTISSA: tl.constexpr):
    """float32: values of uint8 codes, by the hardware's cast."""
    if MANTISSA == 3:
        value = codes.to(tl.float8e4nv, bitcast=True).to(tl.float32)
    else:
        value = codes.to(tl.float8e5, bitcast=True).to(tl.float32)
    return value
