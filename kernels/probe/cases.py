"""Inputs of the probe: operand codes over exponent ranges, c of several sizes. Numpy only."""

from dataclasses import dataclass
from enum import Enum

import numpy as np
from numpy.typing import NDArray

from fp8core.formats import FORMATS, FloatFormat


class Span(Enum):
    """The spread of the operands' exponents."""

    NORMAL = "normal"
    WIDE = "wide"
    SUBNORMAL = "subnormal"
    EVERY_CODE = "every_code"


class Start(Enum):
    """The size of c beside a product."""

    ZERO = "zero"
    SIMILAR = "similar"
    LARGE = "large"
    SMALL = "small"


_TIMES = {Start.ZERO: 0.0, Start.SIMILAR: 1.0, Start.LARGE: 2.0**12, Start.SMALL: 2.0**-16}
_WIDE_BINADES = 7


@dataclass(frozen=True, kw_only=True)
class Case:
    """Codes a uint8[M, K] and b uint8[N, K] of two formats, and c float32[M, N]."""

    a_format: str
    b_format: str
    span: Span
    start: Start
    a: NDArray[np.uint8]
    b: NDArray[np.uint8]
    c: NDArray[np.float32]

    @property
    def title(self) -> str:
        """The case in words."""
        formats = f"{self.a_format}·{self.b_format}"
        return f"{formats}, {self.span.value} codes, c {self.start.value}, K {self.a.shape[1]}"


def draw_case(
    a_format: str, b_format: str, span: Span, start: Start, shape: tuple[int, int, int], seed: int
) -> Case:
    """A case of shape (M, N, K); equal arguments give equal codes."""
    rng = np.random.default_rng(seed)
    m, n, k = shape
    a, b = (_codes(FORMATS[name], (rows, k), span, rng) for name, rows in ((a_format, m), (b_format, n)))
    size = _size(FORMATS[a_format], a) * _size(FORMATS[b_format], b)
    c = (rng.standard_normal((m, n)) * size * _TIMES[start]).astype(np.float32)
    return Case(a_format=a_format, b_format=b_format, span=span, start=start, a=a, b=b, c=c)


def _codes(
    format_: FloatFormat, shape: tuple[int, int], span: Span, rng: np.random.Generator
) -> NDArray[np.uint8]:
    match span:
        case Span.NORMAL:
            return format_.encode(rng.standard_normal(shape))
        case Span.WIDE:
            return format_.encode(
                rng.standard_normal(shape) * np.exp2(rng.integers(-_WIDE_BINADES, _WIDE_BINADES, shape))
            )
        case Span.SUBNORMAL:
            return format_.encode(rng.standard_normal(shape) * format_.min_normal)
        case Span.EVERY_CODE:
            return rng.integers(0, 1 << format_.bits, shape).astype(np.uint8)


def _size(format_: FloatFormat, codes: NDArray[np.uint8]) -> float:
    values = format_.decode(codes)
    return float(np.median(np.abs(values[np.isfinite(values)])))
