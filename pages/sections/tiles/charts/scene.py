"""The data of one matmul's picture: a corner of each tensor, so small that every tile can be seen."""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fp8core.linear import Axis, LayerShape, Matmul, Side
from fp8core.quantize import QuantizedTensor
from fp8core.recipes import Copy, MatmulSpec, Recipe
from fp8core.tiles import WHOLE, Extent, Tile, TileGrid

FREE_ELEMENTS = 16
FREE_TILES = 3
K_TILES = 4
K_ELEMENTS = 64


def drawn_extent(extent: Extent, elements: int = FREE_ELEMENTS) -> int:
    """The number of elements to draw along a dim: a few tiles; some elements if a tile is one element, or
    WHOLE.
    """
    return elements if extent is WHOLE or extent == 1 else FREE_TILES * extent


def drawn_layer(
    matmul: Matmul, spec: MatmulSpec, layer: LayerShape, elements: int = FREE_ELEMENTS
) -> LayerShape:
    """The corner of the layer that a picture of this matmul shows; no axis larger than the layer's."""
    along_k = [extent for extent in (spec.a.tile.k, spec.b.tile.k) if extent is not WHOLE]
    wanted = {
        matmul.m: drawn_extent(spec.a.tile.mn, elements),
        matmul.n: drawn_extent(spec.b.tile.mn, elements),
        matmul.k: K_TILES * math.lcm(*along_k) if along_k else K_ELEMENTS,
    }
    size = {axis: min(wanted[axis], layer.size(axis)) for axis in Axis}
    return LayerShape(size[Axis.TOKENS], size[Axis.IN], size[Axis.OUT])


@dataclass(frozen=True, kw_only=True)
class OperandTile:
    """A tile as the matmul reads it: `row`, `column` in A[M, K] or B[K, N]; `stored` on the stored tensor."""

    side: Side
    row: int
    column: int
    free: range
    k: range
    stored: Tile
    scale: float
    amax: float


@dataclass(frozen=True, kw_only=True)
class DrawnOperand:
    """The corner of a stored tensor that is drawn: its numbers, quantized, and each tile's largest |x|."""

    x: NDArray[np.float32]
    quantized: QuantizedTensor
    amax: NDArray[np.float32]

    @property
    def grid(self) -> TileGrid:
        return self.quantized.grid


@dataclass(frozen=True, kw_only=True)
class Scene:
    """One recipe's matmul on the corner `drawn` of a layer of sizes `layer`, with its operands quantized."""

    recipe: Recipe
    matmul: Matmul
    layer: LayerShape
    drawn: LayerShape
    a: DrawnOperand
    b: DrawnOperand

    @property
    def spec(self) -> MatmulSpec:
        return self.recipe.spec(self.matmul)

    @property
    def mnk(self) -> tuple[int, int, int]:
        """(M, N, K) as drawn."""
        return self.matmul.mnk(self.drawn)

    def operand(self, side: Side) -> DrawnOperand:
        return self.a if side is Side.A else self.b

    def grid_shape(self, side: Side) -> tuple[int, int]:
        """(rows, columns) of tiles of the operand as the matmul reads it: A[M, K], B[K, N]."""
        rows, columns = self.operand(side).grid.scale_shape
        return (columns, rows) if self.matmul.is_transposed(side) else (rows, columns)

    def tile(self, side: Side, row: int, column: int) -> OperandTile:
        """The tile at a place in the operand as the matmul reads it."""
        place = (column, row) if self.matmul.is_transposed(side) else (row, column)
        return self._seen(side, self.operand(side).grid.tile_at(*place))

    def tiles(self, side: Side) -> Iterator[OperandTile]:
        """Every tile of an operand."""
        for stored in self.operand(side).grid.tiles():
            yield self._seen(side, stored)

    def along_k(self, side: Side, stored: NDArray[Any], free: int) -> NDArray[Any]:
        """[K] of an array on the stored operand: row `free` of A, column `free` of B."""
        return stored[:, free] if self.matmul.k_is_rows(side) else stored[free]

    def _seen(self, side: Side, stored: Tile) -> OperandTile:
        free, k = (
            (stored.columns, stored.rows) if self.matmul.k_is_rows(side) else (stored.rows, stored.columns)
        )
        turned = self.matmul.is_transposed(side)
        operand = self.operand(side)
        return OperandTile(
            side=side,
            row=stored.column if turned else stored.row,
            column=stored.row if turned else stored.column,
            free=free,
            k=k,
            stored=stored,
            scale=float(operand.quantized.scale[stored.row, stored.column]),
            amax=float(operand.amax[stored.row, stored.column]),
        )


@dataclass(frozen=True, kw_only=True)
class CopyScene:
    """A corner of a stored tensor, quantized as one of its copies; `shape` is the whole tensor's."""

    copy: Copy
    shape: tuple[int, int]
    quantized: QuantizedTensor


def drawn_copy_shape(copy: Copy, shape: tuple[int, int]) -> tuple[int, int]:
    """(rows, columns) of the corner of a stored tensor of `shape` that a picture of one copy shows."""
    rows, columns = (min(drawn_extent(e, 12), size) for e, size in zip(copy.tile, shape, strict=True))
    return rows, columns
