"""What every number format is, however its codes are read: a protocol that callers rely on."""

from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fp8core.checks import reals
from fp8core.rounding import Overflow, Rounding

_PACKED_BITS = (4, 6, 8, 16, 32)


@runtime_checkable
class Format(Protocol):
    """Codes of `bits` bits, each of which stands for a number, an infinity or NaN.

    `max` and `min` are the largest and smallest finite values, `min_normal` and `min_subnormal` the smallest
    positive ones; a format without subnormal numbers has one for both. `gap_beyond` is the step from `max` to
    the value that would follow: a number that rounds to that one is beyond the format. `max_code`, `nan_code`
    and `inf_code` are the codes of `max`, NaN and +infinity; None where the format has no such number.
    `ml_dtype` is numpy's type of this format, None where ml_dtypes has none.
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
        """Bits of a code among many in memory: four codes of 6 bits take three bytes."""
        return next(bits for bits in _PACKED_BITS if bits >= self.bits)

    @property
    def code_dtype(self) -> np.dtype[Any]:
        """The smallest unsigned integer type that holds one code."""
        return np.min_scalar_type((1 << self.bits) - 1)

    @property
    def bytes(self) -> int:
        """Bytes of a code stored by itself."""
        return self.code_dtype.itemsize

    @property
    def e_max(self) -> int:
        """Exponent of the largest finite number."""
        return int(np.frexp(self.max)[1]) - 1

    @property
    def overflows(self) -> tuple[Overflow, ...]:
        """The overflow policies that the format has codes for."""
        codes = (
            (Overflow.SATURATE, self.max_code),
            (Overflow.INF, self.inf_code),
            (Overflow.NAN, self.nan_code),
        )
        return tuple(policy for policy, code in codes if code is not None)

    def layout(self, code: int) -> str:
        """The role of each bit of a code, from the top: a letter each."""
        ...

    def ulp(self, x: ArrayLike) -> NDArray[np.float64]:
        """float64, shape of x: the step between the values around |x|."""
        ...

    def decode(self, codes: ArrayLike) -> NDArray[np.float64]:
        """float64, shape of codes: the exact value of each code.

        Raises ValueError for a code that does not fit the format's bits.
        """
        ...

    def encode(
        self,
        x: ArrayLike,
        rounding: Rounding = Rounding.NEAREST_EVEN,
        overflow: Overflow = Overflow.SATURATE,
        noise: NDArray[np.float64] | None = None,
    ) -> NDArray[Any]:
        """Codes of x, rounded once from float64: `code_dtype`, shape of x.

        `noise` in [0, 1), shape of x, decides stochastic rounding: up where fraction + noise >= 1.
        A value is beyond the format when it rounds beyond `max`; infinities always are.

        Raises ValueError for stochastic rounding without noise, for noise of another shape, for overflow to a
        code the format lacks, for NaN in a format that has no NaN, and for what is not a number.
        """
        ...

    def rounded(self, x: ArrayLike) -> NDArray[np.float64]:
        """float64, shape of x: the value that each number is encoded as, rounded to nearest even and held at
        the last value of its side. NaN stays NaN; a zero may lose its sign.
        """
        x = reals("x", x).astype(np.float64, copy=False)
        nan = np.isnan(x)
        return np.where(nan, x, self.decode(self.encode(np.where(nan, 0.0, x))))

    def rounds_beyond(
        self,
        x: ArrayLike,
        rounding: Rounding = Rounding.NEAREST_EVEN,
        noise: NDArray[np.float64] | None = None,
    ) -> NDArray[np.bool_]:
        """bool, shape of x: whether x rounds beyond the format's last value on its side, as infinities do.

        NaN does not, nor do negative numbers in a format that has none.
        """
        ...


def code_for(format_: Format, overflow: Overflow) -> int:
    """The code that stands for what overflows upward. Raises ValueError where the format lacks it."""
    code, what = {
        Overflow.SATURATE: (format_.max_code, "its largest value"),
        Overflow.INF: (format_.inf_code, "infinity"),
        Overflow.NAN: (format_.nan_code, "NaN"),
    }[overflow]
    if code is None:
        raise ValueError(f"{format_.name} has no code for {what}")
    return code
