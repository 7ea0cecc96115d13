"""The data of the table: one corner of x and of w, cut into tiles and quantized as each recipe says."""

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from fp8core.inputs import InputKind, draw_operand
from fp8core.linear import FPROP, OPERANDS, LayerTensor, Side
from fp8core.quantize import scales
from fp8core.recipes import Recipe
from fp8core.recipes.keys import recipe_of_key
from fp8core.tiles import TileGrid
from pages.compare_recipes.charts.scene import LAYER, Corner, Differences

CORNER = (32, 256)
"""Rows and columns of the corner that every picture of tiles shows, so that their sizes compare."""
_KEPT = 128


@lru_cache(maxsize=_KEPT)
def differences(key: str, kind: str, seed: int) -> Differences:
    """The differences of a recipe by its key, its corners drawn from inputs of `kind`.

    Raises ValueError for a line that cannot be read.
    """
    recipe = recipe_of_key(key)
    return Differences(
        recipe=recipe,
        corners=(_corner(recipe, Side.A, kind, seed), _corner(recipe, Side.B, kind, seed)),
        copies={tensor: recipe.quantized_copies(tensor) for tensor in OPERANDS},
    )


def _corner(recipe: Recipe, side: Side, kind: str, seed: int) -> Corner:
    tensor, operand = FPROP.operand(side), recipe.operand(FPROP, side)
    if operand is None:
        grid = TileGrid.over(CORNER, CORNER)
        return Corner(tensor=tensor, operand=None, grid=grid, scale=np.full(grid.scale_shape, np.nan))
    found = scales(_numbers(tensor, kind, seed), operand)
    return Corner(
        tensor=tensor,
        operand=operand,
        grid=operand.grid(CORNER),
        scale=found.stored.astype(np.float64),
    )


@lru_cache(maxsize=_KEPT)
def _numbers(tensor: LayerTensor, kind: str, seed: int) -> NDArray[np.float32]:
    own_seed = len(OPERANDS) * seed + OPERANDS.index(tensor)
    return draw_operand(InputKind(kind), tensor, CORNER, own_seed, fan_in=LAYER.in_)
