"""Scale rules: from a tile's amax to the scale that multiplies its codes back.

One documented rule for every case, the same in the kernels, which work on the bits of amax:

- **Ordinary tile**: fp32 rule: scale = fl32(amax / Qmax), one correctly rounded division.
  E8M0 floor: 2**(floor(log2 amax) - e_max) (OCP MX 1.0, section 6.3); amax may land above Qmax and saturate.
  E8M0 round-up: the smallest 2**E with amax <= Qmax · 2**E (arXiv 2506.08027, section 3). Both are read off
  the exponent and mantissa; a log2 in floating point is off by one near powers of two.
  E8M0 even: amax rounded to the mantissa that the element has in its highest binade first, then floor
  (torchao's EVEN).
- **Zero tile, and amax too small for its scale**: the scale is held at the smallest one, `min_scale`:
  2**-126 (the smallest normal fp32) or 2**-127 (E8M0 code 0), so its reciprocal is finite. The codes are
  those of x / min_scale: zeros for a zero tile.
- **amax too large for its scale**: the scale is held at the largest one, `max_scale`: FLT_MAX, the largest
  fp32 number, or 2**127 (E8M0 code 254), and amax saturates. This takes an element with a Qmax below 2.
- **A NaN or an infinity in the tile**: amax is not finite; the scale is NaN and every code of the tile is
  NaN, so that a broken value is seen in all that it touches instead of being clipped to a number.
- **Two levels** (an `outer` scale): the order is that of Transformer Engine's NVFP4 (core_nvfp4.cuh; arXiv
  2509.25149), each step in fp32. Smax is the largest value of the scale's format:
  enc = min(Qmax · Smax / outer amax, FLT_MAX), 1 where that amax is 0; inner = amax · (enc · fl32(1 / Qmax)),
  held at Smax and rounded to the scale's format, where it may be 0; scale = inner · fl32(1 / enc).
"""

import math
from dataclasses import dataclass
from enum import Enum
from typing import assert_never

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fp8core.checks import instance, real, reals
from fp8core.formats import FORMATS, FloatFormat, Format
from fp8core.formats.binades import mantissa_bits
from fp8core.tiles import TileShape

_FP32 = FORMATS["fp32"]


class Fit(Enum):
    """How a scale is fitted to amax: divided and rounded, or a power of two."""

    NEAREST = "amax / Qmax"
    FLOOR = "the power of two of amax over that of Qmax"
    EVEN = "the power of two of amax rounded to the element's mantissa, over that of Qmax"
    ROUND_UP = "the smallest power of two that keeps amax within Qmax"


@dataclass(frozen=True, kw_only=True)
class OuterScale:
    """A second scale, in fp32, for each `tile`: it brings the scales inside into the range of their format.

    Raises ValueError for another tile than a TileShape.
    """

    tile: TileShape

    def __post_init__(self) -> None:
        instance("an outer scale's tile", self.tile, TileShape)

    @property
    def format(self) -> FloatFormat:
        """The format in which an outer scale is stored."""
        return _FP32


@dataclass(frozen=True, kw_only=True)
class ScaleRule:
    """amax → scale: the `format` in which a scale is stored, and how it is fitted to amax.

    An amax below `amax_floor` counts as that. `outer` is the scale one level up, None where there is one
    level. Raises ValueError for a field of another type, and for two levels of scales that are not divided.
    """

    format: FloatFormat
    fit: Fit
    amax_floor: float = 0.0
    outer: OuterScale | None = None

    def __post_init__(self) -> None:
        instance("a scale's format", self.format, FloatFormat)
        instance("fit", self.fit, Fit)
        real("an amax floor", self.amax_floor, 0)
        if self.outer is not None:
            instance("outer", self.outer, OuterScale)
            if self.fit is not Fit.NEAREST or self.amax_floor:
                raise ValueError(
                    f"a scale under an outer one is amax / Qmax with no amax floor, got {self.fit.value}, "
                    f"floor {self.amax_floor:g}"
                )

    @property
    def words(self) -> str:
        """The rule in words."""
        divided = f", in {self.format.name}" if self.fit is Fit.NEAREST else ""
        floor = f", with amax at least {self.amax_floor:g}" if self.amax_floor else ""
        outer = f" under an outer scale in {self.outer.format.name}" if self.outer else ""
        return f"{self.fit.value}{divided}{floor}{outer}"

    @property
    def powers_of_two(self) -> bool:
        """Every scale is a power of two."""
        return self.outer is None and (self.fit is not Fit.NEAREST or self.format.mantissa_bits == 0)

    @property
    def min_scale(self) -> float:
        """The smallest scale, taken by a zero tile and by any amax too small for its own."""
        return self.format.min_normal if self.outer is None else 0.0

    @property
    def max_scale(self) -> float:
        """The largest scale, taken by any amax too large for its own."""
        return self.format.max if self.outer is None else _FP32.max

    def scale(
        self, amax: ArrayLike, element: Format, outer_amax: ArrayLike | None = None
    ) -> NDArray[np.float32]:
        """float32, shape of amax: the scale of tiles with these amax, for codes of format `element`.

        amax is >= 0, inf or NaN; NaN comes back for the last two, and for an amax beyond fp32. `outer_amax`,
        shape of amax, is that of the outer tile around each tile, where the rule has two levels.

        Raises ValueError for a negative amax, for an element whose largest value is no normal fp32 number,
        and for outer amax where the rule has one level or none where it has two.
        """
        largest = instance("element", element, Format).max
        if not _FP32.min_normal <= largest <= _FP32.max:
            raise ValueError(f"{element.name}'s largest value, {largest:g}, is no normal fp32 number")
        if (outer_amax is None) != (self.outer is None):
            levels, got = ("one level", "some") if self.outer is None else ("two levels", "none")
            raise ValueError(f"a rule of two levels takes the amax of outer tiles, got {got} for {levels}")
        amax = _amax(amax)
        broken = ~np.isfinite(amax)
        sound = np.maximum(np.where(broken, np.float32(0), amax), np.float32(self.amax_floor))
        if outer_amax is not None:
            outer_amax = _amax(outer_amax)
            broken |= ~np.isfinite(outer_amax)
            scale = self._two_levels(sound, np.where(broken, np.float32(0), outer_amax), largest)
        elif self.fit is Fit.NEAREST:
            scale = self._divided(sound, largest)
        else:
            scale = self._power_of_two(sound, element)
        return np.where(broken, np.float32(np.nan), scale)

    def _divided(self, amax: NDArray[np.float32], largest: float) -> NDArray[np.float32]:
        with np.errstate(over="ignore"):
            scale = amax / np.float32(largest)
        scale = np.clip(scale, np.float32(self.min_scale), np.float32(self.max_scale))
        return self._stored(scale)

    def _power_of_two(self, amax: NDArray[np.float32], element: Format) -> NDArray[np.float32]:
        # amax = significand · 2**exponent, significand in [1/2, 1); float64 has no subnormals here.
        significand, exponent = np.frexp(amax.astype(np.float64))
        max_significand, max_exponent = np.frexp(element.max)
        exponent = exponent - max_exponent
        match self.fit:
            case Fit.ROUND_UP:
                exponent = exponent + (significand > max_significand)
            case Fit.EVEN:
                # From half a step below 1 on it rounds to the next power of two; the tie is odd there.
                half_step = 2.0 ** -(mantissa_bits(element, element.e_max) + 2)
                exponent = exponent + (significand >= 1 - half_step)
        exponent = np.where(amax == 0, self.format.e_min, exponent)
        return np.ldexp(np.float32(1), np.clip(exponent, self.format.e_min, self.format.e_max))

    def _two_levels(
        self, amax: NDArray[np.float32], outer_amax: NDArray[np.float32], largest: float
    ) -> NDArray[np.float32]:
        """Transformer Engine's order, each step rounded to fp32."""
        one, top = np.float32(1), np.float32(_FP32.max)
        with np.errstate(over="ignore", divide="ignore"):
            enc = np.minimum(np.float32(largest * self.format.max) / outer_amax, top)
            enc = np.where(outer_amax == 0, one, enc)
            inner = np.minimum(amax * (enc * (one / np.float32(largest))), np.float32(self.format.max))
        return self._stored(inner) * (one / enc)

    def _stored(self, scale: NDArray[np.float32]) -> NDArray[np.float32]:
        """float32: scales as their format holds them."""
        if self.format == _FP32:
            return scale
        return self.format.decode(self.format.encode(scale)).astype(np.float32)


def _amax(amax: ArrayLike) -> NDArray[np.float32]:
    with np.errstate(over="ignore"):
        amax = reals("amax", amax).astype(np.float32)
    if (amax < 0).any():
        raise ValueError(f"an amax is at least 0, got {np.nanmin(amax)}")
    return amax


def saturated_share(rule: ScaleRule, element: Format) -> float:
    """Share of tiles whose amax the rule puts beyond Qmax, where log2 amax is uniform over whole octaves.

    Floor keeps amax / scale in [2**e_max, 2**(e_max + 1)). What lies above Qmax saturates, so its share of
    the octave is 1 + e_max - log2(Qmax). Even does so up to the mantissa that rounds to the next exponent, 2
    - 2**-(mantissa_bits + 1). Rounding up and fp32 scales put no amax beyond Qmax. Raises ValueError for
    quotients in a coarser format, whose share has no closed form here.
    """
    above_octave = math.log2(element.max) - element.e_max
    match rule.fit:
        case Fit.FLOOR:
            return 1 - above_octave
        case Fit.EVEN:
            return max(math.log2(2 - 2.0 ** -(mantissa_bits(element, element.e_max) + 1)) - above_octave, 0.0)
        case Fit.ROUND_UP:
            return 0.0
        case Fit.NEAREST:
            if rule.format != _FP32 or rule.outer is not None:
                raise ValueError(f"no closed form says how much saturates where a scale is {rule.words}")
            return 0.0
        case _:
            assert_never(rule.fit)


FP32_SCALE = ScaleRule(format=_FP32, fit=Fit.NEAREST)
E8M0_FLOOR = ScaleRule(format=FORMATS["e8m0"], fit=Fit.FLOOR)
E8M0_EVEN = ScaleRule(format=FORMATS["e8m0"], fit=Fit.EVEN)
E8M0_ROUND_UP = ScaleRule(format=FORMATS["e8m0"], fit=Fit.ROUND_UP)

SCALE_RULES: dict[str, ScaleRule] = {
    "fp32": FP32_SCALE,
    "e8m0_floor": E8M0_FLOOR,
    "e8m0_even": E8M0_EVEN,
    "e8m0_round_up": E8M0_ROUND_UP,
}
"""The rules of one level that recipes use and pages offer, by name."""
