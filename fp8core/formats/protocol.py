"""The protocol of every number format."""

from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fp8core.arrays import Bools, Float64
from fp8core.checks import reals
from fp8core.rounding import Overflow, Rounding

_PACKED_BITS = (4, 6, 8, 16, 32)


@runtime_checkable
class Format(Protocol):
    """Codes of `bits` bits for numbers, infinities and NaN.

    `max`, `min`: largest and smallest finite value. `min_normal`, `min_subnormal`: smallest positive ones,
    equal without subnormals. `gap_beyond`: step from `max` to the next value; a number that rounds there is
    beyond the format. `max_code`, `nan_code`, `inf_code`: codes of `max`, NaN and +infinity, None if missing.
    `ml_dtype`: numpy's type, None if ml_dtypes has none.
    """

    name: str
    bits: int
    signed: bool
    max: float
    min: float
    min_normal: float
    min_subnormal: float
    gap_beyond: float
    max_code: int
    nan_code: int | None
    inf_code: int | None
    ml_dtype: Any

    @property
    def packed_bits(self) -> int:
        """Bits of a code among many in memory: four of 6 bits take three bytes."""
        return next(bits for bits in _PACKED_BITS if bits >= self.bits)

    @property
    def code_dtype(self) -> np.dtype[Any]:
        """Smallest unsigned integer type for a code."""
        return np.min_scalar_type((1 << self.bits) - 1)

    @property
    def bytes(self) -> int:
        return self.code_dtype.itemsize

    @property
    def e_max(self) -> int:
        """Exponent of the largest finite number."""
        return int(np.frexp(self.max)[1]) - 1

    @property
    def overflows(self) -> tuple[Overflow, ...]:
        """Overflow policies with a code."""
        codes = (
            (Overflow.SATURATE, self.max_code),
            (Overflow.INF, self.inf_code),
            (Overflow.NAN, self.nan_code),
        )
        return tuple(policy for policy, code in codes if code is not None)

    def layout(self, code: int) -> str:
        """Role of each bit of a code, from the top, a letter each."""
        ...

    def ulp(self, x: ArrayLike) -> Float64:
        """float64, shape of x: step between the values around |x|."""
        ...

    def decode(self, codes: ArrayLike) -> Float64:
        """float64, shape of codes: exact values. Raises ValueError for codes beyond the format's bits."""
        ...

    def encode(
        self,
        x: ArrayLike,
        rounding: Rounding = Rounding.NEAREST_EVEN,
        overflow: Overflow = Overflow.SATURATE,
        noise: Float64 | None = None,
    ) -> NDArray[Any]:
        """Codes of x, rounded once from float64: `code_dtype`, shape of x.

        `noise` in [0, 1), shape of x, decides stochastic rounding: up where fraction + noise >= 1.
        Infinities, and values that round beyond `max`, overflow.

        Raises ValueError for stochastic rounding without fitting noise, overflow to a missing code, NaN in a
        format without NaN, and non-numbers.
        """
        ...

    def rounded(self, x: ArrayLike) -> Float64:
        """float64, shape of x: value of each number's code, nearest even, saturating.

        NaN stays NaN; a zero may lose its sign.
        """
        x = reals("x", x).astype(np.float64, copy=False)
        nan = np.isnan(x)
        return np.where(nan, x, self.decode(self.encode(np.where(nan, 0.0, x))))

    def rounds_beyond(self, x: ArrayLike) -> Bools:
        """bool, shape of x: True if x, to nearest even, rounds beyond the last value on its side.

        Never for NaN, nor for negative numbers in an unsigned format.
        """
        ...


def code_for(format_: Format, overflow: Overflow) -> int:
    """Code for upward overflow. Raises ValueError if missing."""
    code, what = {
        Overflow.SATURATE: (format_.max_code, "its largest value"),
        Overflow.INF: (format_.inf_code, "infinity"),
        Overflow.NAN: (format_.nan_code, "NaN"),
    }[overflow]
    if code is None:
        raise ValueError(f"{format_.name} has no code for {what}")
    return code
