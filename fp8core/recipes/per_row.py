"""Recipes with one scale for each row of an operand: a row spans K, so its scale comes in once, at the end.

torchao's rowwise and rowwise_with_gw_hp round scales up to powers of two; these entries keep fp32 scales, as
torch._scaled_mm. torchao also keeps amax at 1e-12 or above and divides in float64, which changes a scale by
at most one unit in the last place.
"""

from fp8core.recipes.recipe import Family, Recipe
from fp8core.recipes.short import E4M3, FAST, matmul, operand, wgrad
from fp8core.scales import FP32_SCALE
from fp8core.tiles import WHOLE

_ROW, _TENSOR = (operand(E4M3, mn, WHOLE, FP32_SCALE) for mn in (1, WHOLE))

PUBLISHED = (
    Recipe(
        name="rowwise",
        title="Per row",
        family=Family.PER_ROW,
        source="torchao float8, recipe rowwise, without its rounding of scales to powers of two; "
        "torch._scaled_mm with row-wise scales",
        fprop=matmul(_ROW, _ROW, FAST),
        dgrad=matmul(_ROW, _ROW),
        wgrad=wgrad(_ROW, _ROW),
    ),
    Recipe(
        name="rowwise_hp_wgrad",
        title="Per row, bf16 Wgrad",
        family=Family.PER_ROW,
        source="torchao float8, recipe rowwise_with_gw_hp (torchao/float8/config.py), without its rounding "
        "of scales to powers of two",
        fprop=matmul(_ROW, _ROW, FAST),
        dgrad=matmul(_ROW, _TENSOR),
        wgrad=wgrad(None, None),
        remark="Wgrad reads x and dy in bf16, so neither needs a second copy. In Dgrad the weight has one "
        "scale.",
    ),
)
