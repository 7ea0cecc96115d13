"""Scale rules: from a tile's amax to the scale that multiplies its codes back."""

from fp8core.scales.named import (
    E8M0_CEIL,
    E8M0_EVEN,
    E8M0_FLOOR,
    E8M0_ROUND_UP,
    FP32_SCALE,
    SCALE_RULES,
)
from fp8core.scales.rule import NO_SEARCH, Fit, OuterScale, ScaleRule
from fp8core.scales.saturation import saturated_share

__all__ = [
    "E8M0_CEIL",
    "E8M0_EVEN",
    "E8M0_FLOOR",
    "E8M0_ROUND_UP",
    "FP32_SCALE",
    "NO_SEARCH",
    "SCALE_RULES",
    "Fit",
    "OuterScale",
    "ScaleRule",
    "saturated_share",
]
