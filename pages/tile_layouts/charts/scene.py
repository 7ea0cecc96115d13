"""The data of one matmul's picture: a corner of each tensor, so small that every tile can be seen."""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fp8core.linear import Axis, LayerShape, Matmul, Side
from fp8core.operand_scales import Scales
from fp8core.recipes import Copy, MatmulSpec, OperandSpec, Recipe
from fp8core.tiles import WHOLE, Extent, Tile, TileGrid
from pages.kit.charts.tile_marks import drawn_extent
from pages.tile_layouts.charts.operand import DrawnOperand

K_TILES = 4
K_ELEMENTS = 64
TO_SCALE, LINES = 256, 16
_GRIDS_KEPT = 256


def drawn_layer(matmul: Matmul, spec: MatmulSpec, layer: LayerShape) -> LayerShape:
    """The corner of the layer that a picture of this matmul shows; no axis larger than the layer's."""
    along_k = spec.extents_along_k
    wanted = {
        matmul.m: drawn_extent(_free(spec.a)),
        matmul.n: drawn_extent(_free(spec.b)),
        matmul.k: K_TILES * math.lcm(*along_k) if along_k else K_ELEMENTS,
    }
    return _within(wanted, layer)


def layer_to_scale(matmul: Matmul, spec: MatmulSpec, layer: LayerShape) -> LayerShape:
    """The corner that small pictures show, to scale: TO_SCALE elements along each dim.

    Where a tile has one element along a dim, or all, fewer lines are drawn, each of them thicker.
    """
    free = {matmul.m: _free(spec.a), matmul.n: _free(spec.b)}
    wanted = {axis: LINES if extent in (1, WHOLE) else TO_SCALE for axis, extent in free.items()}
    return _within({**wanted, matmul.k: TO_SCALE}, layer)


def _within(wanted: dict[Axis, int], layer: LayerShape) -> LayerShape:
    size = {axis: min(wanted[axis], layer.size(axis)) for axis in Axis}
    return LayerShape(size[Axis.TOKENS], size[Axis.IN], size[Axis.OUT])


def _free(spec: OperandSpec | None) -> Extent:
    """The extent of a tile along the free dim; WHOLE where there are no tiles."""
    return WHOLE if spec is None else spec.tile.mn


@dataclass(frozen=True, kw_only=True)
class OuterTile:
    """The outer tile around a tile: its scale, and the largest |x| that the scale follows."""

    scale: float
    amax: float


@dataclass(frozen=True, kw_only=True)
class OperandTile:
    """A tile as the matmul reads it: `row`, `column` in A[M, K] or B[K, N]; `stored` on the stored tensor.

    `scale` is the stored one, NaN in bf16; `exact` what a code is multiplied by, the outer scale included.
    """

    side: Side
    row: int
    column: int
    free: range
    k: range
    stored: Tile
    scale: float
    exact: float
    amax: float
    outer: OuterTile | None


@dataclass(frozen=True, kw_only=True)
class SeenTiles:
    """Every tile of an operand as the matmul reads it, in the order of `TileGrid.tiles`.

    `row`, `column` int64[tiles] are places in A[M, K] or B[K, N]. `free` and `k` are int64[2, tiles]: where a
    tile starts and stops. So are `rows` and `columns`, on the stored tensor. `scale` is float64[tiles].
    """

    row: NDArray[np.int64]
    column: NDArray[np.int64]
    free: NDArray[np.int64]
    k: NDArray[np.int64]
    rows: NDArray[np.int64]
    columns: NDArray[np.int64]
    scale: NDArray[np.float64]


@lru_cache(maxsize=_GRIDS_KEPT)
def _places(grid: TileGrid) -> tuple[NDArray[np.int64], ...]:
    """The row and the column of every tile in the grid of scales, and its rows and columns: no seed changes
    them.
    """
    row, column = (place.ravel() for place in np.indices(grid.scale_shape))
    places = row, column, *grid.ends()
    for one in places:
        one.flags.writeable = False
    return places


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

    def seen(self, side: Side) -> SeenTiles:
        """Every tile of an operand at once."""
        operand = self.operand(side)
        row, column, rows, columns = _places(operand.grid)
        free, k = (columns, rows) if self.matmul.k_is_rows(side) else (rows, columns)
        turned = self.matmul.is_transposed(side)
        return SeenTiles(
            row=column if turned else row,
            column=row if turned else column,
            free=free,
            k=k,
            rows=rows,
            columns=columns,
            scale=operand.stored.ravel(),
        )

    def factors_along_k(self, side: Side, free: int) -> NDArray[np.float64]:
        """float64[K]: the decoded codes, or bf16 numbers, of row `free` of A or of column `free` of B."""
        line, every = slice(free, free + 1), slice(None)
        part = (every, line) if self.matmul.k_is_rows(side) else (line, every)
        return self.operand(side).decoded(*part).ravel()

    def scale_along_k(self, side: Side, free: int) -> NDArray[np.float64]:
        """float64[K]: what each code of row `free` of A or column `free` of B is multiplied by."""
        operand = self.operand(side)
        down, across = operand.grid.extents
        if self.matmul.k_is_rows(side):
            scale, extent, size = operand.exact[:, free // across], down, operand.x.shape[0]
        else:
            scale, extent, size = operand.exact[free // down], across, operand.x.shape[1]
        return np.repeat(scale, extent)[:size]

    def along_k(self, side: Side, stored: NDArray[Any], free: int) -> NDArray[Any]:
        """[K] of an array on the stored operand: row `free` of A, column `free` of B."""
        return stored[:, free] if self.matmul.k_is_rows(side) else stored[free]

    def _seen(self, side: Side, stored: Tile) -> OperandTile:
        free, k = (
            (stored.columns, stored.rows) if self.matmul.k_is_rows(side) else (stored.rows, stored.columns)
        )
        turned = self.matmul.is_transposed(side)
        operand = self.operand(side)
        part = operand.x[stored.rows.start : stored.rows.stop, stored.columns.start : stored.columns.stop]
        return OperandTile(
            side=side,
            row=stored.column if turned else stored.row,
            column=stored.row if turned else stored.column,
            free=free,
            k=k,
            stored=stored,
            scale=float(operand.stored[stored.row, stored.column]),
            exact=float(operand.exact[stored.row, stored.column]),
            amax=float(np.abs(part).max()),
            outer=_outer(operand, stored),
        )


def _outer(operand: DrawnOperand, stored: Tile) -> OuterTile | None:
    """The outer tile around a stored tile; None where the rule has one level."""
    around = operand.outer_grid
    if around is None or operand.scales is None or operand.scales.outer is None:
        return None
    at = around.tile_at(*around.tile_of(stored.rows.start, stored.columns.start))
    inside = operand.x[at.rows.start : at.rows.stop, at.columns.start : at.columns.stop]
    return OuterTile(scale=float(operand.scales.outer[at.row, at.column]), amax=float(np.abs(inside).max()))


@dataclass(frozen=True, kw_only=True)
class CopyScene:
    """The scales of a corner of a stored tensor in one of its copies; `shape` is the whole tensor's."""

    copy: Copy
    shape: tuple[int, int]
    grid: TileGrid
    scales: Scales


def drawn_copy_shape(copy: Copy, shape: tuple[int, int]) -> tuple[int, int]:
    """(rows, columns) of the corner of a stored tensor of `shape` that a picture of one copy shows."""
    rows, columns = (min(drawn_extent(e, 12), size) for e, size in zip(copy.tile, shape, strict=True))
    return rows, columns
