"""Recipes with a scale for each line or square of 128 elements.

DeepGEMM and DeepSeek's inference code keep amax at 1e-4 or above, which costs small gradients their range;
Transformer Engine and these entries do not. Transformer Engine rounds these scales to powers of two by
default.
"""

from dataclasses import replace

from fp8core.recipes.recipe import Family, Recipe
from fp8core.recipes.short import E4M3, matmul, operand, wgrad
from fp8core.scales import E8M0_ROUND_UP, FP32_SCALE

_LINE, _SQUARE = (operand(E4M3, mn, 128, FP32_SCALE) for mn in (1, 128))
_LINE_2, _SQUARE_2 = (operand(E4M3, mn, 128, E8M0_ROUND_UP) for mn in (1, 128))
_SAVED = replace(_LINE_2, saved_as=operand(E4M3, 128, 1, E8M0_ROUND_UP))
"""Lines along tokens, out of Fprop's lines along features."""

PUBLISHED = (
    Recipe(
        name="deepseek_v3",
        title="DeepSeek-V3",
        family=Family.BLOCKS,
        source="DeepSeek-V3 Technical Report, arXiv 2412.19437, sections 3.3.2 and 3.5.2; DeepGEMM",
        fprop=matmul(_LINE, _SQUARE),
        dgrad=matmul(_LINE, _SQUARE),
        wgrad=wgrad(_LINE, _LINE),
    ),
    Recipe(
        name="deepseek_v3_pow2",
        title="DeepSeek-V3, powers of two",
        family=Family.BLOCKS,
        source="DeepSeek-V3 Technical Report, arXiv 2412.19437, section 3.3.3 (the saved activations); "
        "DeepGEMM with use_ue8m0 (deep_gemm/utils/math.py)",
        fprop=matmul(_LINE_2, _SQUARE_2),
        dgrad=matmul(_LINE_2, _SQUARE_2),
        wgrad=wgrad(_LINE_2, _SAVED),
        remark="Wgrad does not see x itself. Its copy is made out of the one that Fprop saved: dequantized, "
        "and quantized again in tiles that run along tokens. Powers of two keep most codes. DeepSeek's "
        "own code holds amax at 1e-4.",
    ),
)
