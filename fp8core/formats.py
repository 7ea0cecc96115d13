"""Number formats as data: five integers' worth of facts from which values and codes follow.

A code's magnitude bits read as one integer grow with the value they stand for, subnormals included:

    magnitude = (e - e_min) * 2**mantissa_bits + q      with |value| = q * 2**(e - mantissa_bits)

so encoding is one exact rounding of `q` and one addition; a carry into the next exponent comes out right.

Sources: OCP 8-bit Floating Point Specification 1.0 (e4m3, e5m2); OCP Microscaling Formats 1.0 (e8m0);
IEEE 754-2019 (fp16, fp32); bf16 as torch and ml_dtypes have it.
"""

from dataclasses import dataclass
from enum import Enum
from functools import cached_property
from typing import Any

import ml_dtypes
import numpy as np
from numpy.typing import ArrayLike, NDArray

from fp8core.rounding import Overflow, Rounding

_TABLE_BITS = 16


class Specials(Enum):
    """Which codes are not finite numbers."""

    IEEE = "the top exponent holds infinities and NaNs"
    NAN_ONLY = "only the all-ones magnitude is special, a NaN; no infinity"
    SCALE = "no sign, no zero, no infinity; the all-ones code is NaN"


@dataclass(frozen=True, kw_only=True)
class Format:
    """A binary number format with `exponent_bits`, `mantissa_bits` and `bias`, and its non-finite codes."""

    name: str
    exponent_bits: int
    mantissa_bits: int
    bias: int
    specials: Specials
    ml_dtype: Any

    @property
    def signed(self) -> bool:
        return self.specials is not Specials.SCALE

    @property
    def bits(self) -> int:
        return self.signed + self.exponent_bits + self.mantissa_bits

    @property
    def bytes(self) -> int:
        return self.bits // 8

    @property
    def code_dtype(self) -> np.dtype[Any]:
        """The unsigned integer type that holds one code."""
        return np.dtype(f"uint{self.bits}")

    @property
    def e_min(self) -> int:
        """Exponent of the smallest normal number."""
        return (0 if self.specials is Specials.SCALE else 1) - self.bias

    @property
    def e_max(self) -> int:
        """Exponent of the largest finite number."""
        return (self.max_code >> self.mantissa_bits) - self.bias

    @property
    def magnitude_mask(self) -> int:
        """All bits of a code but the sign."""
        return (1 << (self.exponent_bits + self.mantissa_bits)) - 1

    @property
    def sign_bit(self) -> int:
        return 1 << (self.bits - 1) if self.signed else 0

    @property
    def max_code(self) -> int:
        """Code of the largest finite value."""
        if self.specials is Specials.IEEE:
            return (((1 << self.exponent_bits) - 1) << self.mantissa_bits) - 1
        return self.magnitude_mask - 1

    @property
    def inf_code(self) -> int:
        """Code of +infinity. Raises ValueError for a format that has none."""
        if self.specials is not Specials.IEEE:
            raise ValueError(f"{self.name} has no code for infinity; it saturates or gives NaN")
        return self.max_code + 1

    @property
    def nan_code(self) -> int:
        """The positive quiet NaN."""
        if self.specials is Specials.IEEE:
            return self.inf_code | 1 << (self.mantissa_bits - 1)
        return self.magnitude_mask

    @property
    def max(self) -> float:
        return float(self._magnitudes(np.array([self.max_code]))[0])

    @property
    def min_normal(self) -> float:
        return 2.0**self.e_min

    @property
    def min_subnormal(self) -> float:
        """Smallest positive value (a format without subnormals: its smallest normal)."""
        return 2.0 ** (self.e_min - self.mantissa_bits)

    @cached_property
    def values(self) -> NDArray[np.float64]:
        """float64[2**bits]: the value of every code, for formats of 16 bits or fewer."""
        if self.bits > _TABLE_BITS:
            raise ValueError(f"{self.name} has 2**{self.bits} codes; a table is kept up to 16 bits")
        return self._decode(np.arange(1 << self.bits))

    def ulp(self, x: ArrayLike) -> NDArray[np.float64]:
        """float64, shape of x: the step between codes at the binade of |x| (subnormal step below it)."""
        return np.ldexp(1.0, self._exponent(np.abs(np.asarray(x, np.float64))) - self.mantissa_bits)

    def decode(self, codes: ArrayLike) -> NDArray[np.float64]:
        """float64, shape of codes: the exact value of each code.

        Raises ValueError for a code that does not fit the format's bits.
        """
        codes = np.asarray(codes)
        if not np.issubdtype(codes.dtype, np.integer):
            raise ValueError(f"codes of {self.name} are integers, got {codes.dtype}")
        if (
            codes.dtype != self.code_dtype
            and codes.size
            and not (codes.min() >= 0 and codes.max() < 1 << self.bits)
        ):
            raise ValueError(
                f"codes of {self.name} run from 0 to {(1 << self.bits) - 1}, "
                f"got {codes.min()} to {codes.max()}"
            )
        return self.values[codes] if self.bits <= _TABLE_BITS else self._decode(codes.astype(np.int64))

    def encode(
        self,
        x: ArrayLike,
        rounding: Rounding = Rounding.NEAREST_EVEN,
        overflow: Overflow = Overflow.SATURATE,
        noise: NDArray[np.float64] | None = None,
    ) -> NDArray[Any]:
        """Codes of x, rounded once from float64: uint8 (uint16, uint32 for wider formats), shape of x.

        `noise` in [0, 1), shape of x, decides stochastic rounding: up where fraction + noise >= 1.
        A value is beyond the format when it rounds beyond `max`; infinities always are. NaN gives
        `nan_code` with the sign of x. In a scale format (no sign, no zero) negative values give NaN and
        values below `min_subnormal` give code 0.

        Raises ValueError for stochastic rounding without noise, and for overflow to a code the format lacks.
        """
        x = np.asarray(x, np.float64)
        beyond = self._overflow_code(overflow)
        magnitude = np.where(np.isfinite(x), np.abs(x), 0.0)
        exponent = self._exponent(magnitude)
        steps = _round(np.ldexp(magnitude, self.mantissa_bits - exponent), rounding, noise)
        offset = 0 if self.signed else 1 << self.mantissa_bits
        code = np.ldexp((exponent - self.e_min).astype(np.float64), self.mantissa_bits) + steps - offset
        code = np.maximum(code, 0.0)
        code = np.where((code > self.max_code) | np.isinf(x), beyond, code)
        code = np.where(np.isnan(x), self.nan_code, code).astype(np.int64)
        if self.signed:
            code = code | np.where(np.signbit(x), self.sign_bit, 0)
        else:
            code = np.where(x < 0, self.nan_code, code)
        return code.astype(self.code_dtype)

    def _overflow_code(self, overflow: Overflow) -> int:
        match overflow:
            case Overflow.SATURATE:
                return self.max_code
            case Overflow.INF:
                return self.inf_code
            case Overflow.NAN:
                return self.nan_code

    def _exponent(self, magnitude: NDArray[np.float64]) -> NDArray[np.int64]:
        """Exponent of the binade of each magnitude, held at e_min for zero and subnormals."""
        _, exponent = np.frexp(magnitude)
        return np.where(magnitude == 0, self.e_min, np.maximum(exponent.astype(np.int64) - 1, self.e_min))

    def _magnitudes(self, magnitude: NDArray[np.int64]) -> NDArray[np.float64]:
        field, mantissa = magnitude >> self.mantissa_bits, magnitude & ((1 << self.mantissa_bits) - 1)
        normal = field > 0 if self.signed else np.ones(field.shape, bool)
        steps = mantissa + np.where(normal, 1 << self.mantissa_bits, 0)
        exponent = np.maximum(field - self.bias, self.e_min)
        return np.ldexp(steps.astype(np.float64), exponent - self.mantissa_bits)

    def _decode(self, codes: NDArray[np.int64]) -> NDArray[np.float64]:
        magnitude = codes & self.magnitude_mask
        finite = magnitude <= self.max_code
        values = np.where(finite, self._magnitudes(np.where(finite, magnitude, 0)), np.nan)
        if self.specials is Specials.IEEE:
            values = np.where(magnitude == self.inf_code, np.inf, values)
        return np.where(codes & self.sign_bit, -values, values)


def _round(
    steps: NDArray[np.float64], rounding: Rounding, noise: NDArray[np.float64] | None
) -> NDArray[np.float64]:
    match rounding:
        case Rounding.NEAREST_EVEN:
            return np.rint(steps)
        case Rounding.NEAREST_AWAY:
            floor = np.floor(steps)
            return floor + (steps - floor >= 0.5)
        case Rounding.TOWARD_ZERO:
            return np.floor(steps)
        case Rounding.STOCHASTIC:
            if noise is None:
                raise ValueError("stochastic rounding needs noise in [0, 1) of the shape of x, got none")
            floor = np.floor(steps)
            return floor + (steps - floor + noise >= 1.0)


FORMATS: dict[str, Format] = {
    f.name: f
    for f in (
        Format(
            name="e4m3",
            exponent_bits=4,
            mantissa_bits=3,
            bias=7,
            specials=Specials.NAN_ONLY,
            ml_dtype=ml_dtypes.float8_e4m3fn,
        ),
        Format(
            name="e5m2",
            exponent_bits=5,
            mantissa_bits=2,
            bias=15,
            specials=Specials.IEEE,
            ml_dtype=ml_dtypes.float8_e5m2,
        ),
        Format(
            name="e8m0",
            exponent_bits=8,
            mantissa_bits=0,
            bias=127,
            specials=Specials.SCALE,
            ml_dtype=ml_dtypes.float8_e8m0fnu,
        ),
        Format(
            name="fp16",
            exponent_bits=5,
            mantissa_bits=10,
            bias=15,
            specials=Specials.IEEE,
            ml_dtype=np.float16,
        ),
        Format(
            name="bf16",
            exponent_bits=8,
            mantissa_bits=7,
            bias=127,
            specials=Specials.IEEE,
            ml_dtype=ml_dtypes.bfloat16,
        ),
        Format(
            name="fp32",
            exponent_bits=8,
            mantissa_bits=23,
            bias=127,
            specials=Specials.IEEE,
            ml_dtype=np.float32,
        ),
    )
}
