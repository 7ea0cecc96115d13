"""Share of tiles that a scale rule lets saturate, in closed form."""

import math
from typing import assert_never

from fp8core.formats import FORMATS, Format
from fp8core.formats.binades import mantissa_bits
from fp8core.scales.rule import Fit, ScaleRule


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
