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
"""

import math
from dataclasses import dataclass
from enum import Enum
from typing import assert_never

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fp8core.checks import instance, reals
from fp8core.formats import FORMATS, FloatFormat, Format
from fp8core.formats.binades import mantissa_bits

_FP32 = FORMATS["fp32"]


class ScaleKind(Enum):
    """How a scale is derived from amax."""

    FP32 = "amax / Qmax, in fp32"
    E8M0_FLOOR = "the power of two of amax over that of Qmax"
    E8M0_EVEN = "the power of two of amax rounded to the element's mantissa, over that of Qmax"
    E8M0_ROUND_UP = "the smallest power of two that keeps amax within Qmax"


@dataclass(frozen=True)
class ScaleRule:
    """amax → scale. `kind` says how. Raises ValueError for what is no ScaleKind."""

    kind: ScaleKind

    def __post_init__(self) -> None:
        instance("kind", self.kind, ScaleKind)

    @property
    def format(self) -> FloatFormat:
        """The format in which a scale is stored."""
        return FORMATS["fp32" if self.kind is ScaleKind.FP32 else "e8m0"]

    @property
    def min_scale(self) -> float:
        """The smallest scale, taken by a zero tile and by any amax too small for its own."""
        return self.format.min_normal

    @property
    def max_scale(self) -> float:
        """The largest scale, taken by any amax too large for its own."""
        return self.format.max

    def scale(self, amax: ArrayLike, element: Format) -> NDArray[np.float32]:
        """float32, shape of amax: the scale of tiles with these amax, for codes of format `element`.

        amax is >= 0, inf or NaN; NaN comes back for the last two, and for an amax beyond fp32. Raises
        ValueError for a negative amax and for an element whose largest value is no normal fp32 number.
        """
        largest = instance("element", element, Format).max
        if not _FP32.min_normal <= largest <= _FP32.max:
            raise ValueError(f"{element.name}'s largest value, {largest:g}, is no normal fp32 number")
        with np.errstate(over="ignore"):
            amax = reals("amax", amax).astype(np.float32)
        if (amax < 0).any():
            raise ValueError(f"an amax is at least 0, got {np.nanmin(amax)}")
        broken = ~np.isfinite(amax)
        sound = np.where(broken, np.float32(0), amax)
        match self.kind:
            case ScaleKind.FP32:
                with np.errstate(over="ignore"):
                    scale = sound / np.float32(largest)
                scale = np.clip(scale, np.float32(self.min_scale), np.float32(self.max_scale))
            case ScaleKind.E8M0_FLOOR | ScaleKind.E8M0_EVEN | ScaleKind.E8M0_ROUND_UP:
                # sound = significand · 2**exponent, significand in [1/2, 1); float64 has no subnormals here.
                significand, exponent = np.frexp(sound.astype(np.float64))
                max_significand, max_exponent = np.frexp(largest)
                exponent = exponent - max_exponent
                if self.kind is ScaleKind.E8M0_ROUND_UP:
                    exponent = exponent + (significand > max_significand)
                if self.kind is ScaleKind.E8M0_EVEN:
                    # From half a step below 1 on it rounds to the next power of two; the tie is odd there.
                    half_step = 2.0 ** -(mantissa_bits(element, element.e_max) + 2)
                    exponent = exponent + (significand >= 1 - half_step)
                exponent = np.where(sound == 0, self.format.e_min, exponent)
                scale = np.ldexp(np.float32(1), np.clip(exponent, self.format.e_min, self.format.e_max))
            case _:
                assert_never(self.kind)
        return np.where(broken, np.float32(np.nan), scale)


def saturated_share(rule: ScaleRule, element: Format) -> float:
    """Share of tiles whose amax the rule puts beyond Qmax, where log2 amax is uniform over whole octaves.

    Floor keeps amax / scale in [2**e_max, 2**(e_max + 1)). What lies above Qmax saturates, so its share of
    the octave is 1 + e_max - log2(Qmax). Even does so up to the mantissa that rounds to the next exponent, 2
    - 2**-(mantissa_bits + 1). The other rules put no amax beyond Qmax.
    """
    above_octave = math.log2(element.max) - element.e_max
    match rule.kind:
        case ScaleKind.E8M0_FLOOR:
            return 1 - above_octave
        case ScaleKind.E8M0_EVEN:
            return max(math.log2(2 - 2.0 ** -(mantissa_bits(element, element.e_max) + 1)) - above_octave, 0.0)
        case ScaleKind.FP32 | ScaleKind.E8M0_ROUND_UP:
            return 0.0
        case _:
            assert_never(rule.kind)


FP32_SCALE = ScaleRule(ScaleKind.FP32)
E8M0_FLOOR = ScaleRule(ScaleKind.E8M0_FLOOR)
E8M0_EVEN = ScaleRule(ScaleKind.E8M0_EVEN)
E8M0_ROUND_UP = ScaleRule(ScaleKind.E8M0_ROUND_UP)
