"""A binary number format as data: five facts from which every value and code follows.

A code's magnitude bits read as one integer grow with the value they stand for, subnormals included:

    magnitude = (e - e_min) * 2**mantissa_bits + q      with |value| = q * 2**(e - mantissa_bits)

so encoding is one exact rounding of `q` and one addition; a carry into the next exponent comes out right.
"""

from dataclasses import dataclass
from enum import Enum
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fp8core.arrays import Bools, Float64, Int64
from fp8core.checks import codes_of, instance, reals, whole
from fp8core.formats.protocol import Format, code_for
from fp8core.rounding import Overflow, Rounding, round_steps

_TABLE_BITS = 16
_MAX_EXPONENT_BITS = 8
_MAX_MANTISSA_BITS = 23
_MAX_BIAS = 300
_FP64_MANTISSA, _FP64_BIAS = 52, 1023
_AT_ONCE = 1 << 13
"""Numbers encoded at once: for larger arrays, the system clears fresh memory each time."""
_FP64_EXPONENT = 0x7FF << _FP64_MANTISSA


class Specials(Enum):
    IEEE = "the top exponent holds infinities and NaNs"
    NAN_ONLY = "only the all-ones magnitude is special, a NaN; no infinity"
    NAN_FOR_MINUS_ZERO = "the code of minus zero is the only special one, a NaN; no infinity"
    INF_AND_NAN_FOR_MINUS_ZERO = "the all-ones magnitude is infinity, the code of minus zero is NaN"
    NONE = "every code is a finite number"
    SCALE = "no sign, no zero, no infinity; the all-ones code is NaN"


_WITHOUT_MINUS_ZERO = (Specials.NAN_FOR_MINUS_ZERO, Specials.INF_AND_NAN_FOR_MINUS_ZERO)
_WITH_INF = (Specials.IEEE, Specials.INF_AND_NAN_FOR_MINUS_ZERO)


@dataclass(frozen=True, kw_only=True)
class FloatFormat(Format):
    """Exponent bits, mantissa bits, bias, and non-finite codes.

    `ml_dtype`: numpy's type, None if ml_dtypes has none. Raises ValueError if no finite number is left, or
    float64 cannot hold the format exactly.
    """

    name: str
    exponent_bits: int
    mantissa_bits: int
    bias: int
    specials: Specials
    ml_dtype: Any = None

    def __post_init__(self) -> None:
        for what, value, low, high in (
            ("exponent bits", self.exponent_bits, 1, _MAX_EXPONENT_BITS),
            ("mantissa bits", self.mantissa_bits, 0, _MAX_MANTISSA_BITS),
            ("a bias", self.bias, -_MAX_BIAS, _MAX_BIAS),
        ):
            if not low <= whole(f"{self.name}: {what}", value) <= high:
                raise ValueError(f"{self.name} needs {what} from {low} to {high}, got {value}")
        instance("specials", self.specials, Specials)
        if self.specials is Specials.IEEE and self.mantissa_bits == 0:
            raise ValueError(f"{self.name} needs a mantissa bit to tell NaN from infinity, got 0")
        if self.max_code < 1:
            raise ValueError(
                f"{self.name} with {self.exponent_bits} exponent and {self.mantissa_bits} mantissa bits "
                f"has no finite value but zero where {self.specials.value}"
            )

    @property
    def signed(self) -> bool:
        return self.specials is not Specials.SCALE

    @property
    def has_minus_zero(self) -> bool:
        return self.signed and self.specials not in _WITHOUT_MINUS_ZERO

    @property
    def bits(self) -> int:
        return self.signed + self.exponent_bits + self.mantissa_bits

    @property
    def e_min(self) -> int:
        """Exponent of the smallest normal number."""
        return (1 if self.signed else 0) - self.bias

    @property
    def magnitude_mask(self) -> int:
        """All bits but the sign."""
        return (1 << (self.exponent_bits + self.mantissa_bits)) - 1

    @property
    def sign_bit(self) -> int:
        return 1 << (self.bits - 1) if self.signed else 0

    @property
    def max_code(self) -> int:
        match self.specials:
            case Specials.IEEE:
                return (((1 << self.exponent_bits) - 1) << self.mantissa_bits) - 1
            case Specials.NONE | Specials.NAN_FOR_MINUS_ZERO:
                return self.magnitude_mask
            case _:
                return self.magnitude_mask - 1

    @property
    def inf_code(self) -> int | None:
        return self.max_code + 1 if self.specials in _WITH_INF else None

    @property
    def nan_code(self) -> int | None:
        """Positive quiet NaN, or the only NaN."""
        match self.specials:
            case Specials.IEEE:
                return (self.max_code + 1) | 1 << (self.mantissa_bits - 1)
            case Specials.NAN_ONLY | Specials.SCALE:
                return self.magnitude_mask
            case Specials.NAN_FOR_MINUS_ZERO | Specials.INF_AND_NAN_FOR_MINUS_ZERO:
                return self.sign_bit
            case Specials.NONE:
                return None

    @cached_property
    def max(self) -> float:
        return float(self._magnitudes(np.array([self.max_code]))[0])

    @property
    def min(self) -> float:
        """-`max` or, without a sign, the smallest positive value."""
        return -self.max if self.signed else self.min_subnormal

    @property
    def min_normal(self) -> float:
        return 2.0**self.e_min

    @property
    def min_subnormal(self) -> float:
        return 2.0 ** (self.e_min - self.mantissa_bits)

    @property
    def gap_beyond(self) -> float:
        return float(self.ulp(self.max))

    def layout(self, code: int) -> str:
        """Role of each bit of a code, from the top: S sign, E exponent, M mantissa."""
        return "S" * self.signed + "E" * self.exponent_bits + "M" * self.mantissa_bits

    @cached_property
    def values(self) -> Float64:
        """float64[2**bits], for at most 16 bits."""
        if self.bits > _TABLE_BITS:
            raise ValueError(f"{self.name} has 2**{self.bits} codes; a table is kept up to 16 bits")
        return self._decode(np.arange(1 << self.bits))

    def ulp(self, x: ArrayLike) -> Float64:
        """float64, shape of x: step between codes in the binade of |x|."""
        size = np.abs(reals("x", x).astype(np.float64, copy=False))
        return np.ldexp(1.0, self._exponent(size) - self.mantissa_bits)

    def decode(self, codes: ArrayLike) -> Float64:
        """float64, shape of codes. Raises ValueError for codes beyond the format's bits."""
        codes = codes_of(self.name, self.bits, codes)
        return self.values[codes] if self.bits <= _TABLE_BITS else self._decode(codes.astype(np.int64))

    def encode(
        self,
        x: ArrayLike,
        rounding: Rounding = Rounding.NEAREST_EVEN,
        overflow: Overflow = Overflow.SATURATE,
        noise: Float64 | None = None,
    ) -> NDArray[Any]:
        """Codes of x, as in `Format.encode`.

        NaN gives `nan_code`, with x's sign if NaNs have one. A missing minus zero becomes zero. In a scale
        format (no sign, no zero) negative values give NaN and values below `min_subnormal` give code 0.
        """
        x = reals("x", x)
        beyond = code_for(self, instance("overflow", overflow, Overflow))
        if noise is not None or x.size <= _AT_ONCE:
            return self._encode(x.astype(np.float64, copy=False), beyond, rounding, noise)
        codes, flat = np.empty(x.size, self.code_dtype), x.ravel()
        for start in range(0, x.size, _AT_ONCE):
            part = flat[start : start + _AT_ONCE].astype(np.float64, copy=False)
            codes[start : start + _AT_ONCE] = self._encode(part, beyond, rounding, None)
        return codes.reshape(x.shape)

    def _encode(self, x: Float64, beyond: int, rounding: Rounding, noise: Float64 | None) -> NDArray[Any]:
        code = self._magnitude_code(x, rounding, noise)
        code = np.where((code > self.max_code) | np.isinf(x), beyond, code)
        if self.signed:
            negative = np.signbit(x) & (code != self.sign_bit)
            if not self.has_minus_zero:
                negative &= code != 0
            code = code | negative * self.sign_bit
        else:
            code = np.where(x < 0, self.nan_code, code)
        nan = np.isnan(x)
        if nan.any():
            sign = np.where(np.signbit(x), self.sign_bit, 0) if self.has_minus_zero else 0
            code = np.where(nan, code_for(self, Overflow.NAN) | sign, code)
        return code.astype(self.code_dtype)

    def rounded(self, x: ArrayLike) -> Float64:
        if not self.signed:
            return super().rounded(x)
        values = reals("x", x).astype(np.float64)
        np.clip(values, -2 * self.max, 2 * self.max, out=values)
        binade = np.empty_like(values)
        np.bitwise_and(values.view(np.int64), _FP64_EXPONENT, out=binade.view(np.int64))
        # Beside a number so large, float64 itself has the format's steps, and rounds to nearest even.
        large = np.maximum(binade, self.min_normal, out=binade)
        large *= 1.5 * 2.0 ** (_FP64_MANTISSA - self.mantissa_bits)
        values += large
        values -= large
        return np.clip(values, -self.max, self.max, out=values)

    def rounds_beyond(self, x: ArrayLike) -> Bools:
        x = reals("x", x).astype(np.float64, copy=False)
        if not self.signed:
            beyond = self._magnitude_code(x, Rounding.NEAREST_EVEN, None) > self.max_code
            return (beyond | np.isinf(x)) & (x > 0)
        return np.abs(x) >= self._least_beyond

    @cached_property
    def _least_beyond(self) -> float:
        """Smallest number that rounds beyond `max`: half way there, or the next one if a tie stays."""
        tie = np.array([self.max + self.gap_beyond / 2])
        goes = self._magnitude_code(tie, Rounding.NEAREST_EVEN, None) > self.max_code
        return float(np.where(goes, tie, np.nextafter(tie, np.inf))[0])

    def _magnitude_code(self, x: Float64, rounding: Rounding, noise: Float64 | None) -> Int64:
        """Code of |x| rounded, without an upper end; 0's if x is not finite."""
        magnitude = np.where(np.isfinite(x), np.abs(x), 0.0)
        exponent = self._exponent(magnitude)
        # A power of two by its bits: ldexp would take most of the time.
        per_step = ((_FP64_BIAS + self.mantissa_bits - exponent) << _FP64_MANTISSA).view(np.float64)
        steps = round_steps(magnitude * per_step, rounding, noise).astype(np.int64)
        offset = 0 if self.signed else 1 << self.mantissa_bits
        return np.maximum(((exponent - self.e_min) << self.mantissa_bits) + (steps - offset), 0)

    def _exponent(self, magnitude: Float64) -> Int64:
        """Exponent of each magnitude's binade, at least e_min."""
        exponent = (magnitude.view(np.int64) >> _FP64_MANTISSA) - _FP64_BIAS
        return np.maximum(exponent, self.e_min)

    def _magnitudes(self, magnitude: Int64) -> Float64:
        field, mantissa = magnitude >> self.mantissa_bits, magnitude & ((1 << self.mantissa_bits) - 1)
        normal = field > 0 if self.signed else np.ones(field.shape, bool)
        steps = mantissa + np.where(normal, 1 << self.mantissa_bits, 0)
        exponent = np.maximum(field - self.bias, self.e_min)
        return np.ldexp(steps.astype(np.float64), exponent - self.mantissa_bits)

    def _decode(self, codes: Int64) -> Float64:
        magnitude = codes & self.magnitude_mask
        finite = magnitude <= self.max_code
        values = np.where(finite, self._magnitudes(np.where(finite, magnitude, 0)), np.nan)
        if self.specials in _WITH_INF:
            values = np.where(magnitude == self.inf_code, np.inf, values)
        values = np.where(codes & self.sign_bit, -values, values)
        if self.specials in _WITHOUT_MINUS_ZERO:
            values = np.where(codes == self.nan_code, np.nan, values)
        return values
