"""Recipes as data: for each matmul and operand, the format, the tile that shares a scale, the scale's rule.

A scale must stay constant along the stretch of K that the tensor core sums. So every tile is given in the
matmul's own dims (free dim, contracted dim). The rest follows from it: where a tile lies on the stored
tensor, how many quantized copies a training step needs, how often an output element is rescaled.

A recipe is one entry in the file of its family: docs/recipes.md. Pages, kernels and tests find it there.
"""

from fp8core.recipes import blocks, mx, per_row, per_tensor, two_level
from fp8core.recipes.operand import Copy, Operand
from fp8core.recipes.recipe import Family, Recipe
from fp8core.recipes.spec import MatmulSpec, OperandSpec

RECIPES: dict[str, Recipe] = {
    recipe.name: recipe
    for family in (per_tensor, per_row, blocks, mx, two_level)
    for recipe in family.PUBLISHED
}

__all__ = ["RECIPES", "Copy", "Family", "MatmulSpec", "Operand", "OperandSpec", "Recipe"]
