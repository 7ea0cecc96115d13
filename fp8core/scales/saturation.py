"""The share of tiles that a scale rule lets saturate, in closed form."""

import math
from typing import assert_never

from fp8core.formats import FORMATS, Format
from fp8core.formats.binades import mantissa_bits
from fp8core.scales.rule import Fit, ScaleRule


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
        case Fit.ROUND_UP | Fit.CEIL:
            return 0.0
        case Fit.NEAREST:
            if rule.format != FORMATS["fp32"] or rule.outer is not None:
                raise ValueError(f"no closed form says how much saturates where a scale is {rule.words}")
            return 0.0
        case _:
            assert_never(rule.fit)
