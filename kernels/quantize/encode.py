"""Encode scaled numbers as codes of 4, 6 or 8 bits, those of fp8core.formats bit for bit.

`ELEMENT.encode_by`:

    cast          the hardware's cast, which saturates: e4m3 and e5m2, nearest even
    wide cast     that of a format with as many mantissa bits and more exponents: e2m3 and e3m2, nearest even
    few binades   a sum for each binade, of which the smallest is the code: e2m1, e2m3, uniform4, nearest even
    binades       a sum beside a power of two, in the number's own binade: any float format, nearest even
    integer       one sum: mxint8, nearest even
    table         the number's top bits, looked up: HiF8, and the other roundings
    random bits   integer arithmetic: stochastic rounding
    random lines  as few binades, with sums that are rounded toward zero: stochastic rounding on a GPU

A sum rounds because its last place is the step between codes. A NaN gives any code; the kernel overwrites
it. Every code comes out ELEMENT.raised too high: one sum packs many, and one subtraction corrects them all.
"""

import triton
import triton.language as tl

from fp8core.philox import WORDS
from fp8core.quantize import RANDOM_BITS as BITS_EACH
from kernels.bits import (
    FP32_BITS,
    FP32_FRACTION,
    FP32_INF,
    FP32_MANTISSA,
    FP32_SIGN,
    FP32_SIZE_MASK,
    FP32_STEP,
    cast_within,
    float_bits,
    float_of,
    fp32,
    with_sign,
)
from kernels.quantize.facts import FP32
from kernels.quantize.facts import WHOLE_NUMBERS as FIRST_WHOLE

WHOLE_NUMBERS = tl.constexpr(FIRST_WHOLE)
SIGNED_NUMBERS = tl.constexpr(1.5 * (1 << FP32.mantissa_bits))
"""The middle of the range from 2**23 to 2**24, to add numbers of both signs to."""
RANDOM_BITS = tl.constexpr(BITS_EACH)
EACH = tl.constexpr(WORDS * FP32_BITS.value // BITS_EACH)
"""Elements along K that one counter serves."""
BYTES = tl.constexpr(FP32_BITS.value // BITS_EACH)
NARROW = tl.constexpr(
    "{ .reg .b32 sign; and.b32 $0, $1, 0x1f1f1f1f; shr.u32 sign, $1, 2; and.b32 sign, sign, 0x20202020; "
    "or.b32 $0, $0, sign; }"
)
"""PTX for four bytes: five bits stay, and the sign moves from the eighth bit to the sixth."""
CAST_NAN = tl.constexpr(0x7F)
"""The hardware's code of a NaN, in each of its formats."""
ONE_LOWER = tl.constexpr(
    "{ .reg .b32 nan; and.b32 nan, $1, 0x7f7f7f7f; add.u32 nan, nan, 0x01010101; shr.u32 nan, nan, 7; "
    "and.b32 nan, nan, 0x01010101; sub.u32 $0, $1, nan; }"
)
"""PTX for four bytes: a byte with its lower seven bits set becomes one less."""
LONGEST_SHIFT = tl.constexpr(FP32.bits - 1)
TOWARD_ZERO = tl.constexpr("fma.rz.f32 $0, $1, $2, $3;")


@triton.jit
def encode(q, random, table_ptr, ELEMENT: tl.constexpr):
    """int32 or uint8: codes of float32 q, each ELEMENT.raised too high. random: 0 to 255, if stochastic."""
    if ELEMENT.encode_by == "cast":
        codes = cast_within(q, ELEMENT.mantissa)
    elif ELEMENT.encode_by == "wide cast":
        codes = _wide_cast(q, ELEMENT)
    elif ELEMENT.encode_by == "few binades":
        codes = _few_binades(q, ELEMENT)
    elif ELEMENT.encode_by == "binades":
        codes = _binades(q, ELEMENT)
    elif ELEMENT.encode_by == "integer":
        codes = _integer(q, ELEMENT)
    elif ELEMENT.encode_by == "table":
        codes = _table(q, table_ptr, ELEMENT)
    elif ELEMENT.encode_by == "random lines":
        codes = _random_lines(q, random, ELEMENT)
    else:
        codes = _stochastic(q, random, ELEMENT)
    return codes


@triton.jit
def ready_to_cast(q, ELEMENT: tl.constexpr):
    """float32: q times the power of two that makes both formats' smallest normal numbers equal.

    Then the codes are equal, too, but for the place of the sign.
    """
    if not ELEMENT.in_range:
        q = tl.maximum(tl.minimum(q, fp32(ELEMENT.max_bits)), fp32(ELEMENT.min_bits))
    return q * ELEMENT.cast_factor


@triton.jit
def nan_codes(codes, ELEMENT: tl.constexpr):
    """uint8: codes of a cast, with the format's own code of NaN."""
    if ELEMENT.nan_code != CAST_NAN:
        tl.static_assert(ELEMENT.nan_code == CAST_NAN - 1)
        codes = tl.inline_asm_elementwise(ONE_LOWER, "=r,r", [codes], tl.uint8, is_pure=True, pack=4)
    return codes


@triton.jit
def _wide_cast(q, ELEMENT: tl.constexpr):
    wide = cast_within(ready_to_cast(q, ELEMENT), ELEMENT.mantissa)
    return tl.inline_asm_elementwise(NARROW, "=r,r", [wide], dtype=tl.uint8, is_pure=True, pack=4)


@triton.jit
def _few_binades(q, ELEMENT: tl.constexpr):
    """A code is the lowest of straight lines in |q|, one a binade: each is one fused multiply-add.

    e2m1: min(2 |q|, |q| + 2, |q| / 2 + 4).
    """
    size = _size(q, ELEMENT)
    # As integers: positive numbers are ordered alike, and Hopper finds the least of three at once.
    START: tl.constexpr = WHOLE_NUMBERS + ELEMENT.half_sign
    lowest = float_bits(tl.fma(size, ELEMENT.per_one, START))
    BINADES: tl.constexpr = ELEMENT.binades
    for binade in tl.static_range(1, BINADES):
        line = tl.fma(size, ELEMENT.per_one * 0.5**binade, START + (binade << ELEMENT.mantissa))
        lowest = tl.minimum(lowest, float_bits(line))
    # The sign is a code's highest bit. Lines start half of that too high: minus half for a plus, plus half
    # for a minus, they start at 0 or at that bit.
    half = float_bits(tl.full([], ELEMENT.half_sign, tl.float32))
    return float_bits(float_of(lowest) - float_of((float_bits(q) & FP32_SIGN) | half))


@triton.jit
def _binades(q, ELEMENT: tl.constexpr):
    """kernels.bits.encode_binades, each code ELEMENT.raised too high."""
    size = _size(q, ELEMENT)
    UP: tl.constexpr = FP32_MANTISSA - ELEMENT.mantissa
    START: tl.constexpr = UP * FP32_STEP + (ELEMENT.min_field << ELEMENT.mantissa)
    power = _power(size, ELEMENT)
    code = float_bits(size + float_of(power) * 2.0**UP) - power + (power >> UP)
    return with_sign(code - (START - ELEMENT.raised), q, ELEMENT.bits, ELEMENT.minus_zero)


@triton.jit
def _size(q, ELEMENT: tl.constexpr):
    size = tl.abs(q)
    if not ELEMENT.in_range:
        size = tl.minimum(size, fp32(ELEMENT.max_bits))
    return size


@triton.jit
def _power(size, ELEMENT: tl.constexpr):
    """int32: bits of the power of two at the start of a number's binade, or of the first binade."""
    return tl.maximum(float_bits(size) & FP32_INF, ELEMENT.min_field * FP32_STEP)


@triton.jit
def _integer(q, ELEMENT: tl.constexpr):
    clamped = tl.maximum(tl.minimum(q, fp32(ELEMENT.max_bits)), fp32(ELEMENT.min_bits))
    # The sum's lowest bits are the whole number in two's complement.
    return float_bits(tl.fma(clamped, ELEMENT.per_one, SIGNED_NUMBERS)) & ((1 << ELEMENT.bits) - 1)


@triton.jit
def _table(q, table_ptr, ELEMENT: tl.constexpr):
    """Codes from a table with a row for each sign, indexed as in kernels.quantize.facts.table_facts."""
    bits = float_bits(q)
    size = bits & FP32_SIZE_MASK
    least, most = ELEMENT.table_base, ELEMENT.table_base + ELEMENT.table_size
    size = tl.maximum(size, least << ELEMENT.table_shift)
    size = tl.minimum(size, (most << ELEMENT.table_shift) - 1)
    index = size >> ELEMENT.table_shift
    EVERY: tl.constexpr = 1 + ELEMENT.table_sticky
    if ELEMENT.table_sticky:
        # Rounded down, and up: twice the index, and one more if a bit below is set.
        index += (size + ((1 << ELEMENT.table_shift) - 1)) >> ELEMENT.table_shift
    index = (index - EVERY * least) + (float_bits(q) >> (FP32_BITS - 1)) * (-EVERY * ELEMENT.table_size)
    return tl.load(table_ptr + index).to(tl.int32)


@triton.jit
def _stochastic(q, random, ELEMENT: tl.constexpr):
    """Round up if floor(fraction · 256) + R reaches 256, for the random number R."""
    bits = float_bits(q)
    size = tl.minimum(bits & FP32_SIZE_MASK, ELEMENT.limit_bits)
    field = size >> FP32_MANTISSA
    binade = tl.maximum(field, ELEMENT.min_field)
    significand = (size & FP32_FRACTION) | (FP32_FRACTION + 1)
    # Codes below |q| in this binade, with eight bits after the point; lower bits are dropped.
    shift = binade - field + (FP32_MANTISSA - RANDOM_BITS - ELEMENT.mantissa)
    fixed = significand >> tl.minimum(shift, LONGEST_SHIFT)
    code = ((fixed + random) >> RANDOM_BITS) + ((binade - ELEMENT.min_field) << ELEMENT.mantissa)
    if ELEMENT.integer:
        code = tl.where(bits < 0, -code, tl.minimum(code, ELEMENT.max_code)) & ((1 << ELEMENT.bits) - 1)
    else:
        code = with_sign(code, q, ELEMENT.bits, ELEMENT.minus_zero)
    return code


@triton.jit
def _random_lines(q, random, ELEMENT: tl.constexpr):
    """Codes of `_stochastic`, from lines as in `_few_binades` with eight bits after the point, plus R."""
    size = _size(q, ELEMENT)
    STEPS: tl.constexpr = 2**RANDOM_BITS
    START: tl.constexpr = WHOLE_NUMBERS + ELEMENT.half_sign * STEPS
    lowest = float_bits(_toward_zero(size, ELEMENT.per_one * STEPS, START))
    BINADES: tl.constexpr = ELEMENT.binades
    for binade in tl.static_range(1, BINADES):
        # A code starts a binade where the one below ends.
        line = _toward_zero(
            size, ELEMENT.per_one * STEPS * 0.5**binade, START + (binade << ELEMENT.mantissa) * STEPS
        )
        lowest = tl.minimum(lowest, float_bits(line))
    half = float_bits(tl.full([], ELEMENT.half_sign * STEPS, tl.float32))
    both = float_of(lowest + random) - float_of((float_bits(q) & FP32_SIGN) | half)
    return (float_bits(both) >> RANDOM_BITS) & ((1 << ELEMENT.bits) - 1)


@triton.jit
def _toward_zero(size, TIMES: tl.constexpr, PLUS: tl.constexpr):
    """float32: size · TIMES + PLUS, rounded toward zero, on a GPU."""
    times, plus = tl.full([], TIMES, tl.float32), tl.full([], PLUS, tl.float32)
    return tl.inline_asm_elementwise(
        TOWARD_ZERO, "=f,f,f,f", [size, times, plus], tl.float32, is_pure=True, pack=1
    )


@triton.jit
def nearest(q, table_ptr, values_ptr, ELEMENT: tl.constexpr):
    """float32: the value of each number's code, for a rounding that is not random."""
    if ELEMENT.encode_by == "table":
        value = tl.load(values_ptr + _table(q, table_ptr, ELEMENT))
    elif ELEMENT.integer:
        clamped = tl.maximum(tl.minimum(q, fp32(ELEMENT.max_bits)), fp32(ELEMENT.min_bits))
        value = (tl.fma(clamped, ELEMENT.per_one, SIGNED_NUMBERS) - SIGNED_NUMBERS) * (1 / ELEMENT.per_one)
    else:
        value = float_of(float_bits(nearest_size(q, ELEMENT)) | (float_bits(q) & FP32_SIGN))
    return value


@triton.jit
def nearest_size(q, ELEMENT: tl.constexpr):
    """float32: the size of each number's code in a float format."""
    size = _size(q, ELEMENT)
    away = float_of(_power(size, ELEMENT)) * 2.0 ** (FP32_MANTISSA - ELEMENT.mantissa)
    return (size + away) - away


@triton.jit
def random_bits(seed, rows, block_k, k, BLOCK_K: tl.constexpr):
    """int32[BLOCK_MN, BLOCK_K], 0 to 255: random bits of a block's rows int32[BLOCK_MN].

    A counter belongs to a position in the operand: neither blocks nor strides change the bits. seed: a
    number, or a pointer to one, which a captured graph reads at each replay.
    """
    if seed.dtype.is_ptr():
        seed = tl.load(seed)
    BLOCK_MN: tl.constexpr = rows.shape[0]
    rows = rows.to(tl.int64)[:, None]
    runs = block_k * BLOCK_K // EACH + tl.arange(0, BLOCK_K // EACH)[None, :]
    first, second, third, fourth = tl.randint4x(seed, rows * tl.cdiv(k, EACH) + runs)
    # [BLOCK_MN, runs, 4]: join puts its two tensors side by side along a new last dim.
    words = tl.join(tl.join(first, third), tl.join(second, fourth))
    words = tl.reshape(words, [BLOCK_MN, BLOCK_K // BYTES, 1]).to(tl.int32, bitcast=True)
    each = words >> (tl.arange(0, BYTES) * RANDOM_BITS)[None, None, :]
    return tl.reshape(each, [BLOCK_MN, BLOCK_K]) & (2**RANDOM_BITS - 1)
