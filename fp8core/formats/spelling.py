"""A code written out: the role of each bit, and ± significand · 2^exponent."""

import math
from dataclasses import dataclass
from enum import Enum

from fp8core.formats.binades import mantissa_bits
from fp8core.formats.protocol import Format

_INTEGER = "I"


class Kind(Enum):
    NORMAL = "normal"
    SUBNORMAL = "subnormal"
    INTEGER = "integer"
    ZERO = "zero"
    MINUS_ZERO = "minus zero"
    INFINITY = "infinity"
    NAN = "NaN"


@dataclass(frozen=True, kw_only=True)
class Spelling:
    """A code written out: value = ± `significand` (binary) · 2**`exponent`.

    `bits` and `layout` have a letter a bit. An integer format's significand is decimal. Significand and
    exponent are undefined for zero, infinity and NaN.
    """

    kind: Kind
    bits: str
    layout: str
    negative: bool
    significand: str
    exponent: int


def spell(format_: Format, code: int) -> Spelling:
    value, layout = float(format_.decode(code)), format_.layout(code)
    kind = kind_of(format_, code, value)
    significand, exponent = "", 0
    if kind is Kind.INTEGER:
        exponent = int(math.log2(format_.min_subnormal))
        significand = str(int(abs(value) / format_.min_subnormal))
    elif kind in (Kind.NORMAL, Kind.SUBNORMAL):
        significand, exponent = _binary(format_, kind, abs(value))
    return Spelling(
        kind=kind,
        bits=f"{code:0{format_.bits}b}",
        layout=layout,
        negative=math.copysign(1.0, value) < 0,
        significand=significand,
        exponent=exponent,
    )


def kind_of(format_: Format, code: int, value: float) -> Kind:
    if math.isnan(value):
        return Kind.NAN
    if math.isinf(value):
        return Kind.INFINITY
    if value == 0:
        return Kind.MINUS_ZERO if math.copysign(1.0, value) < 0 else Kind.ZERO
    if _INTEGER in format_.layout(code):
        return Kind.INTEGER
    below = abs(value) < format_.min_normal
    return Kind.SUBNORMAL if below else Kind.NORMAL


def _binary(format_: Format, kind: Kind, value: float) -> tuple[str, int]:
    """(significand, exponent): a normal number leads with 1, a subnormal one with 0.

    All mantissa bits are written, or the code's own if their number varies.
    """
    if kind is Kind.SUBNORMAL:
        exponent = math.frexp(format_.min_normal)[1] - 1
    else:
        exponent = math.frexp(value)[1] - 1
    places = mantissa_bits(format_, exponent)
    steps = f"{int(math.ldexp(value, places - exponent)):0{places + 1}b}"
    return (f"{steps[0]}.{steps[1:]}" if places > 0 else steps), exponent
