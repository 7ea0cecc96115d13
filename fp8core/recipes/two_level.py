"""Recipes with two levels: an e4m3 scale for each 16 elements, under one fp32 scale for the tensor.

The order of rounding follows Transformer Engine (core_nvfp4.cuh); torchao's inference code keeps the inner
scale at 2**-6 or above and divides in another order.
"""

from dataclasses import replace

from fp8core.recipes.recipe import Family, Recipe
from fp8core.recipes.short import DEQUANTIZED, E2M1, E4M3, UNIFORM4, matmul, operand, stochastic, wgrad
from fp8core.recipes.spec import OperandSpec
from fp8core.rotations import NVFP4_SIGNS, Rotation, RotationKind
from fp8core.scales import Fit, OuterScale, ScaleRule
from fp8core.tiles import WHOLE, TileShape

_K = 16
_RULE = ScaleRule(format=E4M3, fit=Fit.NEAREST, outer=OuterScale(tile=TileShape(WHOLE, WHOLE)))
_LINE, _SQUARE = operand(E2M1, 1, _K, _RULE), operand(E2M1, _K, _K, _RULE)
_BETTER = replace(_RULE, outer=OuterScale(tile=TileShape(WHOLE, WHOLE), inner_max=256), search=(1.0, 1.5))
"""amax becomes 6 or 4, whichever errs less. 256 · 1.5 is an e4m3 number; 448 · 1.5 is beyond e4m3."""
_BETTER_LINE, _BETTER_SQUARE = operand(E2M1, 1, _K, _BETTER), operand(E2M1, _K, _K, _BETTER)
_RHT = Rotation(RotationKind.NVFP4_HADAMARD, len(NVFP4_SIGNS))
_REMARK = (
    "The last layers, about 15% of all, stay in bf16. Only Wgrad's operands are rotated, and only dy is "
    "rounded stochastically."
)


def _rotated(spec: OperandSpec) -> OperandSpec:
    return replace(spec, rotation=_RHT)


_EVEN = _rotated(operand(UNIFORM4, 1, _K, _RULE))

PUBLISHED = (
    Recipe(
        name="nvfp4",
        title="NVFP4",
        family=Family.TWO_LEVEL,
        source="NVIDIA, Pretraining Large Language Models with NVFP4, arXiv 2509.25149; Transformer Engine, "
        "NVFP4BlockScaling (common/cast/nvfp4/core_nvfp4.cuh)",
        fprop=matmul(_LINE, _SQUARE, DEQUANTIZED),
        dgrad=matmul(stochastic(_LINE), _SQUARE, DEQUANTIZED),
        wgrad=wgrad(_rotated(stochastic(_LINE)), _rotated(_LINE), DEQUANTIZED),
        remark=_REMARK,
    ),
    Recipe(
        name="nvfp4_1x16",
        title="NVFP4, 1×16 weights",
        family=Family.TWO_LEVEL,
        source="NVIDIA, arXiv 2509.25149, on what square weight tiles cost; Transformer Engine, "
        "NVFP4BlockScaling with disable_2d_quantization",
        fprop=matmul(_LINE, _LINE, DEQUANTIZED),
        dgrad=matmul(stochastic(_LINE), _LINE, DEQUANTIZED),
        wgrad=wgrad(_rotated(stochastic(_LINE)), _rotated(_LINE), DEQUANTIZED),
        remark=_REMARK,
    ),
    Recipe(
        name="four_over_six",
        title="Four Over Six",
        family=Family.TWO_LEVEL,
        source="Cook et al., Four Over Six, arXiv 2512.02010; Transformer Engine, quantize_4over6_nvfp4.cuh",
        fprop=matmul(_BETTER_LINE, _BETTER_SQUARE, DEQUANTIZED),
        dgrad=matmul(stochastic(_LINE), _BETTER_SQUARE, DEQUANTIZED),
        wgrad=wgrad(_rotated(stochastic(_LINE)), _rotated(_LINE), DEQUANTIZED),
        remark="Gradients are quantized as in NVFP4. Transformer Engine compares absolute errors unless "
        "told to compare squares, and divides by 6 where NVFP4 multiplies by fl32(1 / 6). Errors are squared "
        "in fp32: squares are infinite for numbers around 1e20 and above, 0 around 1e-24 and below, and amax "
        "then becomes 6.",
    ),
    Recipe(
        name="uniform4",
        title="Uniform 4-bit",
        family=Family.TWO_LEVEL,
        source="UFP4, arXiv 2606.20381 (the even grid, against the shrinkage of e2m1); fouroversix, nvint4 "
        "(that grid under NVFP4's scales)",
        fprop=matmul(_EVEN, _EVEN, DEQUANTIZED),
        dgrad=matmul(stochastic(_EVEN), _EVEN, DEQUANTIZED),
        wgrad=wgrad(stochastic(_EVEN), _EVEN, DEQUANTIZED),
        remark="All operands of all three matmuls are rotated. The paper trains with one fp32 scale for 16 "
        "elements, 6 bits an element; here scales are NVFP4's, so that only the grid differs from it.",
    ),
)
