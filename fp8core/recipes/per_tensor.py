"""Recipes with one scale for a tensor: it spans K, so its scale comes in once, at the end.

Implementations differ for a zero or tiny amax. Transformer Engine's scale is the inverse (it multiplies
before the cast): 1 for a zero amax, FLT_MAX for infinity. torchao keeps amax at 1e-12 or above. Neither
changes a code of another tensor.
"""

from dataclasses import replace

from fp8core.recipes.recipe import Family, Recipe
from fp8core.recipes.short import DEQUANTIZED, E4M3, E5M2, FAST, HIF8, matmul, operand, wgrad
from fp8core.rounding import Rounding
from fp8core.scales import FP32_SCALE
from fp8core.tiles import WHOLE

_HISTORY = 1024
_DELAYED_SCALE = replace(FP32_SCALE, history=_HISTORY)

_E4M3, _E5M2 = (operand(element, WHOLE, WHOLE, FP32_SCALE) for element in (E4M3, E5M2))
_LATE_E4M3, _LATE_E5M2 = (operand(element, WHOLE, WHOLE, _DELAYED_SCALE) for element in (E4M3, E5M2))

_HIF8, _HIF8_GRADIENT = (
    replace(operand(HIF8, WHOLE, WHOLE, replace(FP32_SCALE, target=target)), rounding=Rounding.NEAREST_AWAY)
    for target in (15, 224)
)
"""HiF8 keeps three mantissa bits up to 15. Gradients give one of them for range."""

PUBLISHED = (
    Recipe(
        name="per_tensor",
        title="Per tensor, hybrid",
        family=Family.PER_TENSOR,
        source="Micikevicius et al., FP8 Formats for Deep Learning, arXiv 2209.05433; "
        "Transformer Engine, Float8CurrentScaling with Format.HYBRID",
        fprop=matmul(_E4M3, _E4M3, FAST),
        dgrad=matmul(_E5M2, _E4M3),
        wgrad=wgrad(_E5M2, _E4M3),
    ),
    Recipe(
        name="per_tensor_e4m3",
        title="Per tensor, e4m3",
        family=Family.PER_TENSOR,
        source="torchao float8, Float8LinearConfig with recipe tensorwise (e4m3 for gradients by "
        "configuration); Transformer Engine, Float8CurrentScaling with Format.E4M3",
        fprop=matmul(_E4M3, _E4M3, FAST),
        dgrad=matmul(_E4M3, _E4M3),
        wgrad=wgrad(_E4M3, _E4M3),
    ),
    Recipe(
        name="per_tensor_delayed",
        title="Per tensor, delayed",
        family=Family.PER_TENSOR,
        source="Transformer Engine, DelayedScaling with Format.HYBRID (common/recipe/delayed_scaling.cu, "
        "pytorch/quantization.py); Micikevicius et al., arXiv 2209.05433",
        fprop=matmul(_LATE_E4M3, _LATE_E4M3, FAST),
        dgrad=matmul(_LATE_E5M2, _LATE_E4M3),
        wgrad=wgrad(_LATE_E5M2, _LATE_E4M3),
        remark="The first step has no history: it takes the tensor's own amax here, as MindSpeed does. "
        "Transformer Engine starts with a scale of 1.",
    ),
    Recipe(
        name="per_tensor_hifloat8",
        title="Per tensor, HiF8",
        family=Family.PER_TENSOR,
        source="Luo et al., Ascend HiFloat8 Format for Deep Learning, arXiv 2409.16626; MindSpeed, "
        "mindspeed/te/pytorch/fp8/constants.py, Format.HIF8 (amax at 15, for gradients at 224)",
        fprop=matmul(_HIF8, _HIF8, DEQUANTIZED),
        dgrad=matmul(_HIF8_GRADIENT, _HIF8, DEQUANTIZED),
        wgrad=wgrad(_HIF8_GRADIENT, _HIF8, DEQUANTIZED),
        remark="Other code of the same hardware brings amax to the format's largest value, 32768, where only "
        "one mantissa bit is left.",
    ),
)
