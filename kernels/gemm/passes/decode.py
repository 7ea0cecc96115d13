"""Decoding of codes to bf16: by a shift, as an integer or from a table, and the PTX for it. Pure; no torch.

PTX decodes two codes at once, each in 16 bits of its own:

| codes | steps for two of them | then times |
|---|---|---|
| bytes | put the sign before each, shift both to where bf16 has them, keep those bits | 2**factor, scale |
| 4 bits | shift size and sign to where bf16 has them, keep those bits, join | 2**factor, scale |
| integers | write the low 7 bits into (128 + …) · step, subtract 128 or 256 steps | scale |

The codes of a pair lie 16 bits apart, so that one shift moves both: of four bytes the first and the third, of
eight codes of 4 bits number j and j + 4. Every product is exact while code · scale is a bf16 number. The
factor has a product of its own: times the scale it may be beyond bf16.
"""

from dataclasses import dataclass, replace
from enum import Enum
from functools import lru_cache
from typing import Any

import numpy as np

from fp8core.formats import FORMATS, FloatFormat, Format, Specials
from fp8core.recipes import OperandSpec

_BF16 = FORMATS["bf16"]
_BOTH = 1 | 1 << _BF16.bits
_SIGN = _BOTH << (_BF16.bits - 1)
_SIX, _BYTE = 6, 8
_WIDE = FORMATS["e4m3"]
"""It has every value of the 6-bit formats, and is that of scales under an outer scale."""
_SCALE_BITS = int(_WIDE.max).bit_length()

E8M0_PAIR = (
    f"{{ .reg .b32 least; mov.b32 least, {_BOTH << (_BF16.mantissa_bits - 1)}; "
    f"mul.lo.u32 $0, $1, {_BOTH << _BF16.mantissa_bits}; max.u16x2 $0, $0, least; }}"
)
"""PTX that makes of a code of E8M0 its bf16 number, twice.

A code is an exponent of bf16, but for two: 0 is 2**-127, a subnormal number there, and 255 is NaN, for which
infinity stands.
"""

_SHIFTED = (Specials.NONE, Specials.NAN_ONLY, Specials.IEEE)


class Decoding(Enum):
    """SHIFT: the bits of a floating-point code go where bf16 has them. INTEGER: two's complement. TABLE: a
    lookup.
    """

    SHIFT = "shift"
    INTEGER = "integer"
    TABLE = "table"


def decoding_of(spec: OperandSpec) -> Decoding:
    """The decoding of an operand's codes.

    A shift does not tell codes for NaN and infinity apart: no harm while their tile's scale is NaN, which a
    delayed scale is not.
    """
    format_ = spec.format
    if isinstance(format_, FloatFormat) and format_.signed and format_.specials in _SHIFTED:
        late = spec.scale_rule.history and format_.nan_code is not None
        return Decoding.TABLE if late else Decoding.SHIFT
    if integer_step(format_) is not None and not spec.scale_rule.history:
        return Decoding.INTEGER
    return Decoding.TABLE


@lru_cache(maxsize=64)
def integer_step(format_: Format) -> int | None:
    """The exponent of the step between a format's values, if its codes are integers in two's complement."""
    codes, half = np.arange(1 << format_.bits), 1 << (format_.bits - 1)
    values = format_.decode(codes.astype(format_.code_dtype))
    step = values[1]
    even = np.array_equal(values, ((codes ^ half) - half) * step)
    return int(np.log2(step)) if even and step > 0 and np.log2(step) % 1 == 0 else None


def decode_constants(spec: OperandSpec) -> dict[str, Any]:
    decoding, shift, factor = decoding_of(spec), 0, 0
    if decoding is Decoding.SHIFT:
        shift, factor = decode_shift(spec.format)
    elif decoding is Decoding.INTEGER:
        factor = integer_step(spec.format)
    return {"BITS": spec.format.packed_bits, "DECODING": decoding.value, "SHIFT": shift, "FACTOR": factor}


def decode_shift(format_: FloatFormat) -> tuple[int, int]:
    """(shift, factor): a code's magnitude bits << shift, read as bf16, times 2**factor is its value."""
    return _BF16.mantissa_bits - format_.mantissa_bits, _BF16.bias - format_.bias


def read_as(spec: OperandSpec) -> OperandSpec:
    """An operand as the decoding kernel reads its codes: a pass widens those of 6 bits to e4m3 before."""
    return replace(spec, format=_WIDE) if spec.format.packed_bits == _SIX else spec


@dataclass(frozen=True, kw_only=True)
class Folding:
    """Split of the shift's factor: 2**on_scales onto scales, 2**on_sums onto sums; 0 for a factor in PTX."""

    on_scales: int = 0
    on_sums: int = 0


def folding(spec: OperandSpec, other: OperandSpec | None) -> Folding:
    """The folding that spares 4-bit codes a product each, beside the other operand.

    With the factor, a scale of E4M3 is a bf16 number once a power of two makes it smaller. So are the sums,
    exactly: the other operand's values are no farther from 1 than codes of E4M3 scales.
    """
    facts = decode_constants(spec)
    if facts["DECODING"] != Decoding.SHIFT.value or facts["BITS"] == _BYTE:
        return Folding()
    if other is None or any(operand.scale_rule.format != _WIDE for operand in (spec, other)):
        return Folding()
    on_sums = max(0, facts["FACTOR"] + _SCALE_BITS - _BF16.bias)
    return Folding(on_scales=facts["FACTOR"] - on_sums, on_sums=on_sums)


def decode_ptx(spec: OperandSpec, *, folded: bool = False) -> str:
    """PTX for an operand's codes, without the shift's factor if folded. Empty for codes that no shift and no
    integer arithmetic decodes, and for codes of 6 bits.

    Arguments: results, a register of codes, one with the codes' bf16 scale twice (infinity for NaN). Bytes
    give 2 registers, 0 and 2, 1 and 3. Codes of 4 bits give 4: those of low halves of bytes in that order,
    then of high ones.
    """
    facts = decode_constants(spec)
    bits, shift, factor = facts["BITS"], facts["SHIFT"], facts["FACTOR"]
    if bits == _BYTE and facts["DECODING"] == Decoding.INTEGER.value:
        return _body(2, 0, [_integer(out, 2, factor) for out in (0, 1)], one_scale=True)
    if facts["DECODING"] != Decoding.SHIFT.value or bits not in (4, _BYTE):
        return ""
    numbers = (0, 1) if bits == _BYTE else (0, 2, 1, 3)
    codes = f"${len(numbers)}"
    if bits == _BYTE:
        pairs = [_float_bytes(out, codes, shift) for out in numbers]
    else:
        pairs = [_float(out, codes, bits, number, shift) for out, number in enumerate(numbers)]
    return _body(len(numbers), 0 if folded else factor, pairs, one_scale=True)


def pair_ptx(spec: OperandSpec) -> str:
    """PTX for two of an operand's codes, of any size, each in the low bits of 16. Empty for codes that are
    looked up.

    Arguments: the result, a register of codes, one of two bf16 scales.
    """
    facts = decode_constants(spec)
    bits, shift, factor = facts["BITS"], facts["SHIFT"], facts["FACTOR"]
    if facts["DECODING"] == Decoding.SHIFT.value:
        return _body(1, factor, [_float(0, "$1", bits, 0, shift)])
    is_integer = bits == _BYTE and facts["DECODING"] == Decoding.INTEGER.value
    return _body(1, 0, [_integer(0, 1, factor)]) if is_integer else ""


def _body(results: int, factor: int, pairs: list[str], *, one_scale: bool = False) -> str:
    """All pairs, each times 2**factor and times the scale of its codes.

    A product is an fma that adds -0: sm_89 has no mul and no add of bf16x2. With one scale in all it adds -0
    · scale, which is NaN for an infinite one.
    """
    unit, scale = _BOTH * ((_BF16.bias + factor) << _BF16.mantissa_bits), f"${results + 1}"
    end = f"mov.b32 end, {_SIGN}; "
    if one_scale:
        end = f"fma.rn.bf16x2 end, {scale}, none, none; "
    steps = []
    for out, pair in enumerate(pairs):
        by_unit = f"fma.rn.bf16x2 ${out}, ${out}, unit, none; " if factor else ""
        steps.append(f"{pair} {by_unit}fma.rn.bf16x2 ${out}, ${out}, {scale}, end; ")
    return (
        f"{{ .reg .b32 size, sign, unit, one, none, end, low, top; mov.b32 unit, {unit}; "
        f"mov.b32 none, {_SIGN}; {end}{''.join(steps)}}}"
    )


def _float_bytes(out: int, codes: str, shift: int) -> str:
    """The pair of bytes number `out` and `out` + 2.

    `prmt` writes a byte into the lower half of 16 bits, and 8 copies of its sign into the upper half. One
    shift then brings a copy of the sign to the top, and the size to where bf16 has it.
    """
    first, second, signs = out, out + 2, 8
    selector = first | (signs | first) << 4 | second << 8 | (signs | second) << 12
    mask = _BOTH * (((1 << (_BYTE - 1)) - 1) << shift) | _SIGN
    return (
        f"prmt.b32 size, {codes}, 0, {selector:#06x}; shl.b32 size, size, {shift}; "
        f"and.b32 ${out}, size, {mask};"
    )


def _float(out: int, codes: str, bits: int, number: int, shift: int) -> str:
    """The pair whose first code begins at bit `number` · bits of the register."""
    size = _BOTH * (((1 << (bits - 1)) - 1) << shift)
    moved_size = _moved("size", codes, shift - number * bits)
    moved_sign = _moved("sign", codes, _BF16.bits - bits * (number + 1))
    return (
        f"{moved_size} {moved_sign} and.b32 size, size, {size}; and.b32 sign, sign, {_SIGN}; "
        f"or.b32 ${out}, size, sign;"
    )


def _moved(to: str, register: str, left: int) -> str:
    """A register shifted to the left, or to the right for a negative `left`."""
    if left == 0:
        return f"mov.b32 {to}, {register};"
    return f"{'shl.b32' if left > 0 else 'shr.u32'} {to}, {register}, {abs(left)};"


def _integer(out: int, results: int, factor: int) -> str:
    """The pair of bytes number `out` and `out` + 2, in two's complement, in steps of 2**factor.

    128 + x steps are a bf16 number whose mantissa bits are those of x below 128. The sign bit is the lowest
    exponent bit of what is subtracted, 128 steps or 256; it is 0 for 128 if their biased exponent is even.
    """
    first = int(_BF16.encode(2.0 ** (_BF16.mantissa_bits + factor)))
    assert not first >> _BF16.mantissa_bits & 1, f"no bit of an exponent is free in steps of 2**{factor}"
    base = _BOTH * first
    mantissa = _BOTH * ((1 << _BF16.mantissa_bits) - 1)
    exponent = _BOTH << _BF16.mantissa_bits
    # One lop3 does `and` and `or` (0xEA), but has room for one constant: the other is in a register.
    return (
        f"{_moved('size', f'${results}', -_BYTE * out)} mov.b32 low, {mantissa}; mov.b32 top, {exponent}; "
        f"lop3.b32 sign, size, top, {base | _SIGN}, 0xEA; lop3.b32 size, size, low, {base}, 0xEA; "
        f"mov.b32 one, {_BOTH * int(_BF16.encode(1.0))}; fma.rn.bf16x2 ${out}, size, one, sign;"
    )
