"""Every number format of the field, by name.

Sources: OCP 8-bit Floating Point Specification 1.0 (e4m3, e5m2); OCP Microscaling Formats 1.0 (e3m2, e2m3,
e2m1, e8m0, mxint8); IEEE 754-2019 (fp16, fp32); bf16 and the 8-bit IEEE-style formats as ml_dtypes has them;
FNUZ: Noune et al., arXiv 2206.02915, as AMD CDNA3 has them; tf32: NVIDIA A100 white paper; e8m13: the value
that Hopper's FP8 tensor core keeps (MMA-Sim, arXiv 2511.10909); HiF8: Luo et al., arXiv 2409.16626;
uniform4: E1M2, the even grid of UFP4 (arXiv 2606.20381): 0.25 apart, so INT4 from -7 to 7 over 4;
binary8: IEEE P3109 interim report, bias = 2**(8 - precision - 1), e extended (infinities), f finite.
"""

import math

import ml_dtypes
import numpy as np

from fp8core.formats.float_format import FloatFormat, Specials
from fp8core.formats.protocol import Format
from fp8core.formats.table_format import TableFormat

_SIGN = 1 << 7


def _float(
    name: str, exponent_bits: int, mantissa_bits: int, bias: int, specials: Specials, ml_dtype: object = None
) -> FloatFormat:
    return FloatFormat(
        name=name,
        exponent_bits=exponent_bits,
        mantissa_bits=mantissa_bits,
        bias=bias,
        specials=specials,
        ml_dtype=ml_dtype,
    )


def _binary8(precision: int, extended: bool) -> FloatFormat:
    specials = Specials.INF_AND_NAN_FOR_MINUS_ZERO if extended else Specials.NAN_FOR_MINUS_ZERO
    exponent_bits = 8 - precision
    name = f"binary8p{precision}s{'e' if extended else 'f'}"
    return _float(name, exponent_bits, precision - 1, 1 << (exponent_bits - 1), specials)


_HIF8_DOTS = ((0b11, 2, 4), (0b10, 2, 3), (0b01, 2, 2), (0b001, 3, 1), (0b0001, 4, 0), (0b0000, 4, 0))
"""Dot fields: bits, their number, and the number of exponent bits that follow."""


def _hif8_widths(code: int) -> tuple[int, int, int]:
    """Bits of the dot field, the exponent and the mantissa."""
    bits = code & (_SIGN - 1)
    dot, exponent = next((d, e) for prefix, d, e in _HIF8_DOTS if bits >> (7 - d) == prefix)
    return dot, exponent, 7 - dot - exponent


def _hif8_layout(code: int) -> str:
    dot, exponent, mantissa = _hif8_widths(code)
    return "S" + "D" * dot + "E" * exponent + "M" * mantissa


def _hif8_value(code: int) -> float:
    """Value of a HiF8 code: sign, dot field (number of exponent bits), exponent, mantissa.

    The exponent is in sign and magnitude with an implied leading one.
    """
    sign, bits = (-1.0 if code & _SIGN else 1.0), code & (_SIGN - 1)
    if bits == 0:
        return math.nan if code else 0.0
    if bits == _SIGN - 1 - 0b10000:
        return sign * math.inf
    if bits < 0b1000:
        return sign * 2.0 ** (bits - 23)
    _, exponent_bits, mantissa_bits = _hif8_widths(code)
    mantissa = (bits & ((1 << mantissa_bits) - 1)) / (1 << mantissa_bits)
    top = (1 << exponent_bits) >> 1  # the exponent's sign, in whose place its leading one is implied
    field = bits >> mantissa_bits
    magnitude = top | (field & (top - 1)) if top else 0
    return sign * (1 + mantissa) * 2.0 ** (-magnitude if field & top else magnitude)


_HIF8 = TableFormat(
    name="hif8",
    table=tuple(_hif8_value(code) for code in range(256)),
    gap_beyond=2.0**14,
    layouts=tuple(map(_hif8_layout, range(256))),
    rule="The dot field says how many exponent bits follow: 11 four, 10 three, 01 two, 001 one, 0001 none. "
    "They are the exponent's sign and its size without the leading 1; what is left is mantissa. After 0000 "
    "the mantissa bits M are an exponent themselves: the value is 2^(M − 23).",
)
_MXINT8 = TableFormat(
    name="mxint8",
    table=tuple((code - 256 if code & _SIGN else code) / 64 for code in range(256)),
    gap_beyond=1 / 64,
    layouts=("I" * 8,) * 256,
    rule="The eight bits are one integer in two's complement; the value is that integer over 64.",
)

FORMATS: dict[str, Format] = {
    f.name: f
    for f in (
        _float("e4m3", 4, 3, 7, Specials.NAN_ONLY, ml_dtypes.float8_e4m3fn),
        _float("e5m2", 5, 2, 15, Specials.IEEE, ml_dtypes.float8_e5m2),
        _float("e4m3fnuz", 4, 3, 8, Specials.NAN_FOR_MINUS_ZERO, ml_dtypes.float8_e4m3fnuz),
        _float("e5m2fnuz", 5, 2, 16, Specials.NAN_FOR_MINUS_ZERO, ml_dtypes.float8_e5m2fnuz),
        _float("e4m3_ieee", 4, 3, 7, Specials.IEEE, ml_dtypes.float8_e4m3),
        _float("e3m4_ieee", 3, 4, 3, Specials.IEEE, ml_dtypes.float8_e3m4),
        _binary8(3, extended=True),
        _binary8(3, extended=False),
        _binary8(4, extended=True),
        _binary8(4, extended=False),
        _binary8(5, extended=True),
        _binary8(5, extended=False),
        _HIF8,
        _MXINT8,
        _float("e3m2", 3, 2, 3, Specials.NONE, ml_dtypes.float6_e3m2fn),
        _float("e2m3", 2, 3, 1, Specials.NONE, ml_dtypes.float6_e2m3fn),
        _float("e2m1", 2, 1, 1, Specials.NONE, ml_dtypes.float4_e2m1fn),
        _float("uniform4", 1, 2, 1, Specials.NONE),
        _float("e8m0", 8, 0, 127, Specials.SCALE, ml_dtypes.float8_e8m0fnu),
        _float("fp16", 5, 10, 15, Specials.IEEE, np.float16),
        _float("bf16", 8, 7, 127, Specials.IEEE, ml_dtypes.bfloat16),
        _float("tf32", 8, 10, 127, Specials.IEEE),
        _float("e8m13", 8, 13, 127, Specials.IEEE),
        _float("fp32", 8, 23, 127, Specials.IEEE, np.float32),
    )
}
