"""What the charts of the page show: a recipe's differences, and a curve over tile sizes."""

from dataclasses import dataclass
from math import prod

import numpy as np
from numpy.typing import NDArray

from fp8core.costs import copy_cost
from fp8core.experiments.error_curves import Draws
from fp8core.linear import MATMULS, LayerShape, LayerTensor, Side
from fp8core.recipes import Copy, Operand, Recipe
from fp8core.scales import ScaleRule
from fp8core.tiles import WHOLE, TileGrid

LAYER = LayerShape(4096, 4096, 14336)
"""The layer whose copies are counted in bytes."""


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
    """What the table shows of one recipe."""

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
    def reads(self) -> int:
        """The operands that are quantized, of the six of a training step."""
        return sum(len(copy.readers) for copies in self.copies.values() for copy in copies)

    @property
    def layouts(self) -> int:
        """The copies that exist only because Hopper wants K to be contiguous."""
        return sum(len(copy.k_major) - 1 for copies in self.copies.values() for copy in copies)

    @property
    def bytes(self) -> int:
        """Bytes of all of them at the sizes of LAYER."""
        costs = [copy_cost(copy, LAYER) for copies in self.copies.values() for copy in copies]
        return sum(cost.code_bytes + cost.scale_bytes for cost in costs)


@dataclass(frozen=True, kw_only=True)
class SizeCurve:
    """SQNR of all elements and of the smaller half of them, a point for each extent of a tile."""

    every: tuple[Draws, ...]
    small: tuple[Draws, ...]


def small_error(draws: Draws) -> tuple[float, float, float]:
    """‖e‖ / ‖x‖ in the mean of the decibels, in the best draw and in the worst."""
    mean, low, high = (10 ** (-sqnr / 20) for sqnr in (draws.mean, draws.high, draws.low))
    return mean, low, high
