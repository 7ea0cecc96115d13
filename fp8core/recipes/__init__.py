"""Recipes as data: for each matmul and operand, the format, the tile that shares a scale, the scale's rule.

A scale stays constant along the stretch of K that the tensor core sums, so a tile is given in the matmul's
dims (free dim, contracted dim). Its place on the stored tensor, the quantized copies of a step and the
rescales of an output follow from it.

A recipe is one entry in the file of its family: docs/recipes.md.
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
