"""Rules of one level that recipes use and pages offer."""

from fp8core.formats import FORMATS
from fp8core.scales.rule import Fit, ScaleRule

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
