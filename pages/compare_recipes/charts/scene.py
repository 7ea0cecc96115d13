"""The data of the page: the tiles and the scales of a corner as a recipe has them, and accuracy against tile
size with its price. The pool's processes import this module: it imports no Streamlit and no Altair.
"""

from dataclasses import dataclass
from functools import lru_cache
from math import prod

import numpy as np
from numpy.typing import NDArray

from fp8core.costs import copy_cost
from fp8core.experiments.error_curves import (
    Counted,
    Draws,
    drawn_bands,
    extents_up_to,
    line_tile,
    over_tiles,
    square_tile,
)
from fp8core.formats import FORMATS
from fp8core.inputs import InputKind, draw_operand
from fp8core.linear import FPROP, MATMULS, OPERANDS, LayerShape, LayerTensor, Side
from fp8core.quantize import scales
from fp8core.recipes import Copy, Operand, OperandSpec, Recipe
from fp8core.recipes.keys import recipe_of_key
from fp8core.scales import SCALE_RULES, ScaleRule
from fp8core.tiles import WHOLE, TileGrid

LAYER = LayerShape(4096, 4096, 14336)
"""The layer whose copies are counted in bytes."""
CORNER = (32, 256)
"""Rows and columns of the corner that every picture of tiles shows, so that their sizes compare."""
_KEPT = 128


@dataclass(frozen=True, kw_only=True)
class Corner:
    """A corner of one operand of Fprop: its tiles, and float64[*grid.scale_shape], the scale of each.

    An operand that stays bf16 has one tile and no scale, which is NaN.
    """

    tensor: LayerTensor
    operand: Operand | None
    grid: TileGrid
    scale: NDArray[np.float64]


@dataclass(frozen=True, kw_only=True)
class Differences:
    """A row of the table: a recipe, a corner of x and of w, and the copies of each tensor."""

    recipe: Recipe
    corners: tuple[Corner, Corner]
    copies: dict[LayerTensor, tuple[Copy, ...]]

    @property
    def rule(self) -> ScaleRule | None:
        """The scale rule of its first quantized operand; None where all operands stay bf16."""
        operands = (self.recipe.operand(matmul, side) for matmul in MATMULS.values() for side in Side)
        return next((operand.spec.scale_rule for operand in operands if operand is not None), None)

    @property
    def others(self) -> int:
        """The numbers of x that share their scale with one of them in Fprop; 0 where x stays bf16."""
        corner = self.corners[0]
        if corner.operand is None:
            return 0
        tile = zip(corner.operand.tile, LAYER.of(corner.tensor), strict=True)
        return prod(size if extent is WHOLE else extent for extent, size in tile) - 1

    @property
    def kept(self) -> int:
        """The quantized copies of x, w and dy that a training step keeps; layouts do not count."""
        return sum(map(len, self.copies.values()))

    @property
    def bytes(self) -> int:
        """Bytes of all copies at the sizes of LAYER."""
        costs = [copy_cost(copy, LAYER) for copies in self.copies.values() for copy in copies]
        return sum(cost.code_bytes + cost.scale_bytes for cost in costs)


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
    stored = scales(numbers(tensor, kind, seed), operand).stored.astype(np.float64)
    return Corner(tensor=tensor, operand=operand, grid=operand.grid(CORNER), scale=stored)


@lru_cache(maxsize=_KEPT)
def numbers(tensor: LayerTensor, kind: str, seed: int) -> NDArray[np.float32]:
    """float32[*CORNER]: the corner of x or w that is quantized."""
    own_seed = len(OPERANDS) * seed + OPERANDS.index(tensor)
    return draw_operand(InputKind(kind), tensor, CORNER, own_seed, fan_in=LAYER.in_)


RULES = {"fp32": "fp32", "e8m0_round_up": "power of two"}
"""The scales that are compared, with what a reader calls them."""
LINE, SQUARE = "1 × k", "k × k"
TILES = {LINE: line_tile, SQUARE: square_tile}
CURVES = tuple((rule, tile) for tile in TILES for rule in RULES)
"""Every rule in every kind of tile."""


@dataclass(frozen=True, kw_only=True)
class SizeCurve:
    """SQNR of all elements and of the smaller half of them, a point for each extent of a tile."""

    every: tuple[Draws, ...]
    small: tuple[Draws, ...]


def small_error(draws: Draws) -> tuple[float, float, float]:
    """‖e‖ / ‖x‖ in the mean of the decibels, in the best draw and in the worst."""
    mean, low, high = (10 ** (-sqnr / 20) for sqnr in (draws.mean, draws.high, draws.low))
    return mean, low, high


def curve_name(rule: str, tile: str) -> str:
    """A curve in words, such as ``fp32, 1 × k``."""
    return f"{RULES[rule]}, {tile}"


def size_curve(
    rule: str, tile: str, format_name: str, kind: str, seed: int, extents: tuple[int, ...] | None = None
) -> SizeCurve:
    """The curve of one scale rule in tiles of one kind; all extents unless some are named."""
    drawn = drawn_bands(InputKind(kind), seed)
    spec = OperandSpec(format=FORMATS[format_name], tile=line_tile(1), scale_rule=SCALE_RULES[rule])
    operand = Operand(spec=spec, k_is_rows=False)
    at = extents_up_to(drawn[0].shape[1]) if extents is None else extents
    every, small = (
        over_tiles(operand, drawn, at, counted, TILES[tile])
        for counted in (Counted.ALL, Counted.SMALLER_HALF)
    )
    return SizeCurve(every=every, small=small)
