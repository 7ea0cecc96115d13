"""Scale rules: from a tile's amax to the scale that multiplies its codes back.

One documented rule for every case, the same in the kernels, which work on the bits of amax:

- **Ordinary tile**: fp32 rule: scale = fl32(amax / Qmax), one correctly rounded division.
  E8M0 floor: 2**(floor(log2 amax) - e_max) (OCP MX 1.0, section 6.3); amax may land above Qmax and saturate.
  E8M0 round-up: the smallest 2**E with amax <= Qmax · 2**E (arXiv 2506.08027, section 3). Both are read off
  the exponent and mantissa bits; a log2 in floating point is off by one near powers of two.
  E8M0 even: amax rounded to the element's mantissa first, then floor (torchao's EVEN).
- **Zero tile, and amax too small for its scale**: the scale is held at the smallest one, `min_scale`:
  2**-126 (the smallest normal fp32) or 2**-127 (E8M0 code 0), so its reciprocal is finite. The codes are
  those of x / min_scale: zeros for a zero tile.
- **A NaN or an infinity in the tile**: amax is not finite; the scale is NaN and every code of the tile is
  NaN, so that a broken value is seen in all that it touches instead of being clipped to a number.
"""

import math
from dataclasses import dataclass
from enum import Enum
from typing import assert_never

import numpy as np
from numpy.typing import NDArray

from fp8core.formats import FORMATS, Format

_FP32_MANTISSA = FORMATS["fp32"].mantissa_bits
_FP32_BIAS = FORMATS["fp32"].bias


class ScaleKind(Enum):
    """How a scale is derived from amax."""

    FP32 = "amax / Qmax, in fp32"
    E8M0_FLOOR = "the power of two of amax over that of Qmax"
    E8M0_EVEN = "the power of two of amax rounded to the element's mantissa, over that of Qmax"
    E8M0_ROUND_UP = "the smallest power of two that keeps amax within Qmax"


@dataclass(frozen=True)
class ScaleRule:
    """amax → scale. `kind` says how."""

    kind: ScaleKind

    @property
    def format(self) -> Format:
        """The format in which a scale is stored."""
        return FORMATS["fp32" if self.kind is ScaleKind.FP32 else "e8m0"]

    @property
    def min_scale(self) -> float:
        """The smallest scale, taken by a zero tile and by any amax too small for its own."""
        return self.format.min_normal

    def scale(self, amax: NDArray[np.float32], element: Format) -> NDArray[np.float32]:
        """float32, shape of amax: the scale of tiles with these amax, for codes of format `element`.

        amax is >= 0, inf or NaN; NaN comes back for the last two.
        """
        amax = np.asarray(amax, np.float32)
        broken = ~np.isfinite(amax)
        sound = np.where(broken, np.float32(0), amax)
        match self.kind:
            case ScaleKind.FP32:
                scale = np.maximum(sound / np.float32(element.max), np.float32(self.min_scale))
            case ScaleKind.E8M0_FLOOR | ScaleKind.E8M0_EVEN | ScaleKind.E8M0_ROUND_UP:
                if self.kind is ScaleKind.E8M0_EVEN:
                    sound = _half_step_up(sound, element)
                exponent, mantissa = _split(sound)
                max_exponent, max_mantissa = _split(np.float32(element.max))
                exponent = exponent - max_exponent
                if self.kind is ScaleKind.E8M0_ROUND_UP:
                    exponent = exponent + (mantissa > max_mantissa)
                scale = np.ldexp(np.float32(1), np.maximum(exponent, self.format.e_min))
            case _:
                assert_never(self.kind)
        return np.where(broken, np.float32(np.nan), scale)


def saturated_share(rule: ScaleRule, element: Format) -> float:
    """Share of tiles whose amax the rule puts beyond Qmax, where log2 amax is uniform over whole octaves.

    Floor keeps amax / scale in [2**e_max, 2**(e_max + 1)), so what lies above Qmax saturates, and its share
    of the octave is 1 + e_max - log2(Qmax). Even does the same up to the mantissa that rounds to the next
    exponent, 2 - 2**-(mantissa_bits + 1). The other rules put no amax beyond Qmax.
    """
    above_octave = math.log2(element.max) - element.e_max
    match rule.kind:
        case ScaleKind.E8M0_FLOOR:
            return 1 - above_octave
        case ScaleKind.E8M0_EVEN:
            return max(math.log2(2 - 2.0 ** -(element.mantissa_bits + 1)) - above_octave, 0.0)
        case ScaleKind.FP32 | ScaleKind.E8M0_ROUND_UP:
            return 0.0
        case _:
            assert_never(rule.kind)


def _split(x: NDArray[np.float32]) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Unbiased exponent field and mantissa bits; a subnormal reads as exponent -127, below every scale."""
    bits = np.asarray(x, np.float32).view(np.int32)
    return (bits >> _FP32_MANTISSA) - _FP32_BIAS, bits & ((1 << _FP32_MANTISSA) - 1)


def _half_step_up(x: NDArray[np.float32], element: Format) -> NDArray[np.float32]:
    """x plus half a step of the element's mantissa, on the bits: its exponent is that of x rounded. A tie
    that reaches the next exponent comes from an all-ones, odd mantissa, so nearest-even agrees.
    """
    bits = np.asarray(x, np.float32).view(np.int32)
    return (bits + (1 << (_FP32_MANTISSA - element.mantissa_bits - 1))).view(np.float32)


FP32_SCALE = ScaleRule(ScaleKind.FP32)
E8M0_FLOOR = ScaleRule(ScaleKind.E8M0_FLOOR)
E8M0_EVEN = ScaleRule(ScaleKind.E8M0_EVEN)
E8M0_ROUND_UP = ScaleRule(ScaleKind.E8M0_ROUND_UP)
