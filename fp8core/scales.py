"""Scale rules: from a tile's amax to the scale that multiplies its codes back.

The kernels follow the same rules on the bits of amax:

- **Ordinary tile**: fp32: scale = fl32(amax / Qmax), one correctly rounded division.
  E8M0 floor: 2**(floor(log2 amax) - e_max) (OCP MX 1.0, section 6.3); amax may land above Qmax and saturate.
  E8M0 round-up: the smallest 2**E with amax <= Qmax · 2**E (arXiv 2506.08027, section 3). Both read exponent
  and mantissa: a floating-point log2 is off by one near powers of two.
  E8M0 even: amax rounded to the mantissa of the element's highest binade, then floor (torchao's EVEN).
- **Zero tile, or too small an amax**: the smallest scale, `min_scale`: 2**-126 (smallest normal fp32) or
  2**-127 (E8M0 code 0), whose reciprocal is finite. Codes are those of x / min_scale.
- **Too large an amax**: the largest scale, `max_scale`: FLT_MAX or 2**127 (E8M0 code 254), and amax
  saturates. This takes an element with a Qmax below 2.
- **NaN or infinity in the tile**: the scale is NaN and so is every code: a broken value is not clipped.
- **Two levels** (an `outer` scale): Transformer Engine's order for NVFP4 (core_nvfp4.cuh; arXiv 2509.25149),
  each step in fp32. Smax is the largest value of the scale's format, inner_max is Smax by default, and
  top = min(Qmax · inner_max, FLT_MAX):
  enc = min(top / outer amax, FLT_MAX), 1 if that amax or enc is 0; scale = amax · (enc · fl32(1 / Qmax)),
  at most Smax, rounded to the scale's format, where it may be 0; outer scale = fl32(1 / enc).
- **A constant outer scale**: a further factor of every code. Tiles are fitted without it, so
  amax / (scale · constant) is rounded: MXFP4 training takes 4/3, which keeps E8M0's floor from saturating
  (arXiv 2502.20586).
- **Delayed** (`history`): the largest amax of earlier steps (Transformer Engine, DelayedScaling): one pass
  over the tensor is enough, and growth since then saturates.
- **A target**: amax is brought to that number instead of Qmax. A tapered format is finest far below its
  largest value: HiF8 takes 15 for x and w (MindSpeed, te/pytorch/fp8/constants.py).
- **A search**: each factor of `search` multiplies amax, and the least squared error wins. (1, 1.5) puts amax
  on 6 or on 4 in e2m1: Four Over Six (arXiv 2512.02010).
"""

import math
from dataclasses import dataclass
from enum import Enum
from typing import assert_never

import numpy as np
from numpy.typing import ArrayLike

from fp8core.arrays import Float32
from fp8core.checks import instance, real, reals, whole
from fp8core.formats import FORMATS, FloatFormat, Format
from fp8core.formats.binades import mantissa_bits
from fp8core.tiles import WHOLE, TileShape

_FP32 = FORMATS["fp32"]
_WHOLE_TENSOR = TileShape(WHOLE, WHOLE)
NO_SEARCH = (1.0,)
"""Factors of a rule that takes amax as it is."""


class Fit(Enum):
    """Fit of a scale to amax: a rounded quotient, or a power of two."""

    NEAREST = "amax / Qmax"
    FLOOR = "the power of two of amax over that of Qmax"
    EVEN = "the power of two of amax rounded to the element's mantissa, over that of Qmax"
    CEIL = "the power of two at or above amax, over that of Qmax"
    ROUND_UP = "the smallest power of two that keeps amax within Qmax"


@dataclass(frozen=True, kw_only=True)
class OuterScale:
    """A second scale, in fp32, for each `tile`: it brings inner scales into their format's range.

    `inner_max`: inner scale of the outer tile's amax; None is the inner format's largest. `constant`: the
    outer scale itself, for the whole tensor. Raises ValueError for another type of tile, numbers that are not
    positive, and both.
    """

    tile: TileShape
    inner_max: float | None = None
    constant: float | None = None

    def __post_init__(self) -> None:
        instance("an outer scale's tile", self.tile, TileShape)
        for name, number in (("inner_max", self.inner_max), ("constant", self.constant)):
            if number is not None:
                real(f"an outer scale's {name}", number, above=0)
        if self.constant is not None and (self.inner_max is not None or self.tile != _WHOLE_TENSOR):
            raise ValueError(
                f"a constant outer scale is one number for the whole tensor, got tiles of {self.tile} and "
                f"inner_max {self.inner_max}"
            )

    @property
    def format(self) -> FloatFormat:
        return _FP32


@dataclass(frozen=True, kw_only=True)
class ScaleRule:
    """Rule from amax to a stored scale: the scale's `format`, and its fit.

    amax_floor: the least amax that counts. outer: the scale one level up, or None. history: earlier steps
    whose largest amax decides; 0 is the tensor's own. search: factors of amax; the least squared error wins,
    the first of equals. target: number that amax is brought to, for a quotient of one level; None is Qmax,
    the largest of the codes' format.

    Raises ValueError for a field of another type or range, and for two fitted levels that are not quotients.
    """

    format: FloatFormat
    fit: Fit
    amax_floor: float = 0.0
    outer: OuterScale | None = None
    history: int = 0
    search: tuple[float, ...] = (1.0,)
    target: float | None = None

    def __post_init__(self) -> None:
        instance("a scale's format", self.format, FloatFormat)
        instance("fit", self.fit, Fit)
        real("an amax floor", self.amax_floor, 0)
        whole("a scale's history of steps", self.history, 0)
        if not isinstance(self.search, tuple) or not self.search:
            raise ValueError(f"a search has one factor of amax or more, got {self.search!r}")
        for factor in self.search:
            real("a factor of amax", factor, above=0)
        if self.history and (self.outer is not None or self.search != NO_SEARCH):
            raise ValueError(
                "a delayed scale has one level and no search, got another one beside its history"
            )
        if self.target is not None:
            real("the number that amax is brought to", self.target, above=0)
            if self.fit is not Fit.NEAREST or self.outer is not None:
                raise ValueError(
                    f"amax is brought to a number by a scale of one level that is {Fit.NEAREST.value}, "
                    f"got {self.target:g} with {self.fit.value}"
                )
        if self.outer is not None:
            instance("outer", self.outer, OuterScale)
            if self.has_fitted_outer and (self.fit is not Fit.NEAREST or self.amax_floor):
                raise ValueError(
                    f"a scale under an outer one is amax / Qmax with no amax floor, got {self.fit.value}, "
                    f"floor {self.amax_floor:g}"
                )

    @property
    def has_fitted_outer(self) -> bool:
        """Return True for a second level that follows the amax of its tile."""
        return self.outer is not None and self.outer.constant is None

    @property
    def words(self) -> str:
        words = f"amax / {self.target:g}" if self.target is not None else self.fit.value
        if self.fit is Fit.NEAREST:
            words += f", in {self.format.name}"
        if self.amax_floor:
            words += f", with amax at least {self.amax_floor:g}"
        if self.history:
            words += f", amax being the largest of the last {self.history:,} steps"
        if self.outer is not None and self.outer.constant is not None:
            words += f", times {self.outer.constant:.6g}"
        elif self.outer is not None:
            words += f" under an outer scale in {self.outer.format.name}"
            words += f" that brings amax to {self.outer.inner_max:g} · Qmax" if self.outer.inner_max else ""
        if self.search != NO_SEARCH:
            words += f"; the best of amax times {', '.join(f'{factor:g}' for factor in self.search)}"
        return words

    @property
    def powers_of_two(self) -> bool:
        return not self.has_fitted_outer and (self.fit is not Fit.NEAREST or self.format.mantissa_bits == 0)

    @property
    def min_scale(self) -> float:
        """Scale of a zero tile and of too small an amax."""
        return 0.0 if self.has_fitted_outer else self.format.min_normal

    @property
    def max_scale(self) -> float:
        """Scale of too large an amax."""
        return self.format.max

    def scale(self, amax: ArrayLike, element: Format, outer_amax: ArrayLike | None = None) -> Float32:
        """float32, shape of amax: stored scales for codes of format `element`.

        amax is >= 0, inf or NaN; inf, NaN and an amax beyond fp32 give NaN. `outer_amax`, for two fitted
        levels: the outer tile's, in amax's shape.

        Raises ValueError for a negative amax, an element whose largest value is no normal fp32 number, and
        outer amax that the rule does not fit.
        """
        largest = _largest(element)
        if (outer_amax is None) == self.has_fitted_outer:
            levels, what = ("two levels", "none") if self.has_fitted_outer else ("one level", "some")
            raise ValueError(f"a rule of two levels takes the amax of outer tiles, got {what} for {levels}")
        amax = _amax(amax)
        is_no_number = ~np.isfinite(amax)
        sound = np.maximum(np.where(is_no_number, np.float32(0), amax), np.float32(self.amax_floor))
        if outer_amax is not None:
            outer_amax = _amax(outer_amax)
            is_no_number |= ~np.isfinite(outer_amax)
            scale = self._inner(sound, np.where(is_no_number, np.float32(0), outer_amax), element)
        elif self.fit is Fit.NEAREST:
            scale = self._divided(sound, self.target or largest)
        else:
            scale = self._power_of_two(sound, element)
        return np.where(is_no_number, np.float32(np.nan), scale)

    def outer_scale(self, outer_amax: ArrayLike, element: Format) -> Float32:
        """float32, shape of outer_amax: outer scales; NaN for a broken tile.

        Raises ValueError for a rule of one level, and as `scale`.
        """
        if self.outer is None:
            raise ValueError("a rule of one level has no outer scale")
        amax = _amax(outer_amax)
        if self.outer.constant is not None:
            return np.full(amax.shape, self.outer.constant, np.float32)
        is_no_number = ~np.isfinite(amax)
        outer = np.float32(1) / self._enc(np.where(is_no_number, np.float32(0), amax), element)
        return np.where(is_no_number, np.float32(np.nan), outer)

    def outer_reach(self, element: Format) -> np.float32:
        """Number that an outer tile's amax is brought to. Raises ValueError for one level."""
        if self.outer is None:
            raise ValueError("a rule of one level has no outer scale")
        reach = _largest(element) * float(self.outer.inner_max or self.format.max)
        return np.float32(min(reach, _FP32.max))

    def _divided(self, amax: Float32, largest: float) -> Float32:
        with np.errstate(over="ignore"):
            scale = amax / np.float32(largest)
        scale = np.clip(scale, np.float32(self.min_scale), np.float32(self.max_scale))
        return self._stored(scale)

    def _power_of_two(self, amax: Float32, element: Format) -> Float32:
        # amax = significand · 2**exponent, significand in [1/2, 1); float64 has no subnormals here.
        significand, exponent = np.frexp(amax.astype(np.float64))
        max_significand, max_exponent = np.frexp(element.max)
        exponent = exponent - max_exponent
        match self.fit:
            case Fit.ROUND_UP:
                exponent = exponent + (significand > max_significand)
            case Fit.CEIL:
                exponent = exponent + (significand > 0.5)
            case Fit.EVEN:
                # From half a step below 1 on it rounds to the next power of two; the tie is odd there.
                half_step = 2.0 ** -(mantissa_bits(element, element.e_max) + 2)
                exponent = exponent + (significand >= 1 - half_step)
        exponent = np.where(amax == 0, self.format.e_min, exponent)
        return np.ldexp(np.float32(1), np.clip(exponent, self.format.e_min, self.format.e_max))

    def _enc(self, outer_amax: Float32, element: Format) -> Float32:
        """float32: factor from the outer amax to the largest code times the largest inner scale."""
        with np.errstate(over="ignore", divide="ignore"):
            enc = np.minimum(self.outer_reach(element) / outer_amax, np.float32(_FP32.max))
        return np.where((outer_amax == 0) | (enc == 0), np.float32(1), enc)

    def _inner(self, amax: Float32, outer_amax: Float32, element: Format) -> Float32:
        share = self._enc(outer_amax, element) * (np.float32(1) / np.float32(element.max))
        with np.errstate(over="ignore"):
            inner = np.minimum(amax * share, np.float32(self.format.max))
        return self._stored(inner)

    def _stored(self, scale: Float32) -> Float32:
        if self.format == _FP32:
            return scale
        return self.format.decode(self.format.encode(scale)).astype(np.float32)


def _largest(element: Format) -> float:
    largest = instance("element", element, Format).max
    if not _FP32.min_normal <= largest <= _FP32.max:
        raise ValueError(f"{element.name}'s largest value, {largest:g}, is no normal fp32 number")
    return largest


def _amax(amax: ArrayLike) -> Float32:
    with np.errstate(over="ignore"):
        amax = reals("amax", amax).astype(np.float32)
    if (amax < 0).any():
        raise ValueError(f"an amax is at least 0, got {np.nanmin(amax)}")
    return amax


FP32_SCALE = ScaleRule(format=FORMATS["fp32"], fit=Fit.NEAREST)
E8M0_FLOOR = ScaleRule(format=FORMATS["e8m0"], fit=Fit.FLOOR)
E8M0_CEIL = ScaleRule(format=FORMATS["e8m0"], fit=Fit.CEIL)
E8M0_EVEN = ScaleRule(format=FORMATS["e8m0"], fit=Fit.EVEN)
E8M0_ROUND_UP = ScaleRule(format=FORMATS["e8m0"], fit=Fit.ROUND_UP)

SCALE_RULES: dict[str, ScaleRule] = {
    "fp32": FP32_SCALE,
    "e8m0_floor": E8M0_FLOOR,
    "e8m0_even": E8M0_EVEN,
    "e8m0_ceil": E8M0_CEIL,
    "e8m0_round_up": E8M0_ROUND_UP,
}


def saturated_share(rule: ScaleRule, element: Format) -> float:
    """Share of tiles with amax beyond Qmax, for log2 amax uniform over whole octaves.

    Floor keeps amax / scale in [2**e_max, 2**(e_max + 1)): the part above Qmax is 1 + e_max - log2(Qmax) of
    the octave. Even does so up to the mantissa that rounds up, 2 - 2**-(mantissa_bits + 1). Rounding up and
    fp32 scales put no amax beyond Qmax. Raises ValueError for quotients in a coarser format.
    """
    above_octave = math.log2(element.max) - element.e_max
    match rule.fit:
        case Fit.FLOOR:
            return 1 - above_octave
        case Fit.EVEN:
            return max(math.log2(2 - 2.0 ** -(mantissa_bits(element, element.e_max) + 1)) - above_octave, 0.0)
        case Fit.ROUND_UP | Fit.CEIL:
            return 0.0
        case Fit.NEAREST:
            if rule.format != FORMATS["fp32"] or rule.outer is not None:
                raise ValueError(f"no closed form says how much saturates where a scale is {rule.words}")
            return 0.0
        case _:
            assert_never(rule.fit)
