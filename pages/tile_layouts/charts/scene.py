"""A small corner of each tensor, quantized as a recipe says."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fp8core.formats import FORMATS, Format
from fp8core.inputs import OUTLIER_EVERY, InputKind, draw_operand
from fp8core.linear import MATMULS, OPERANDS, Axis, LayerShape, LayerTensor, Matmul, Side
from fp8core.operand_scales import Scales, fitted
from fp8core.quantize import prepared, quantize_part, random_of, scales
from fp8core.recipes import Copy, MatmulSpec, Operand, OperandSpec, Recipe
from fp8core.tiles import WHOLE, Extent, Tile, TileGrid
from pages.kit.charts.tile_marks import Row
from pages.kit.charts.words import short

BF16, NO_SCALE = FORMATS["bf16"], "bf16, no scale"
K_TILES, K_ELEMENTS = 4, 64
TO_SCALE, LINES = 256, 16
_FREE_TILES, _FREE_ELEMENTS = 3, 12


@lru_cache(maxsize=32)
def numbers(
    kind: str, tensor: LayerTensor, shape: tuple[int, int], seed: int, fan_in: int
) -> NDArray[np.float32]:
    """float32[rows, columns]: a corner of x, w or dy; a narrow one of x has an outlier channel, too."""
    own_seed = seed * len(OPERANDS) + OPERANDS.index(tensor)
    every = min(OUTLIER_EVERY, max(shape[1] // 2, 2))
    return draw_operand(InputKind(kind), tensor, shape, own_seed, fan_in=fan_in, outlier_every=every)


def part_of(tile: Tile) -> tuple[slice, slice]:
    """The elements of a tile, to index its tensor."""
    return slice(tile.rows.start, tile.rows.stop), slice(tile.columns.start, tile.columns.stop)


@dataclass(frozen=True, kw_only=True)
class CornerOperand:
    """A corner of a stored tensor, float32[rows, columns]; operand and scales are None in bf16.

    `x` are the numbers to round: after a saved copy and a rotation. The seed is that of stochastic rounding.
    """

    corner: NDArray[np.float32]
    x: NDArray[np.float32]
    operand: Operand | None
    scales: Scales | None
    seed: int = 0

    @classmethod
    def of(cls, corner: NDArray[np.float32], operand: Operand | None, seed: int) -> "CornerOperand":
        if operand is None:
            x = corner.astype(BF16.ml_dtype).astype(np.float32)
            return cls(corner=corner, x=x, operand=None, scales=None)
        x = prepared(corner, operand)
        fit = fitted(x, operand, operand.grid(x.shape))
        return cls(corner=corner, x=x, operand=operand, scales=fit, seed=seed)

    @property
    def format(self) -> Format:
        return BF16 if self.operand is None else self.operand.spec.format

    @cached_property
    def grid(self) -> TileGrid:
        shape = self.x.shape
        return TileGrid.over(shape, (WHOLE, WHOLE)) if self.operand is None else self.operand.grid(shape)

    @cached_property
    def outer_grid(self) -> TileGrid | None:
        return self.operand and self.operand.outer_grid(self.x.shape)

    @cached_property
    def stored(self) -> NDArray[np.float64]:
        """float64[*grid.scale_shape]: the stored (inner) scales; NaN in bf16."""
        if self.scales is None:
            return np.full(self.grid.scale_shape, np.nan)
        return self.scales.stored.astype(np.float64)

    @cached_property
    def exact(self) -> NDArray[np.float64]:
        """float64[*grid.scale_shape]: the factors of codes; 1 in bf16."""
        return np.ones(self.grid.scale_shape) if self.scales is None else self.scales.exact

    @cached_property
    def _random(self) -> NDArray[np.uint8] | None:
        return self.operand and random_of(self.operand, self.x.shape, self.seed)

    def codes(self, rows: slice, columns: slice) -> NDArray[np.unsignedinteger]:
        """The codes of a part: all of them would take longer than the rest of the picture."""
        if self.scales is None:
            return BF16.encode(self.x[rows, columns])
        return quantize_part(self.x, self.operand, self.scales.effective, rows, columns, self._random)

    def amax(self, tile: Tile) -> float:
        return float(np.abs(self.x[part_of(tile)]).max())

    def outer_of(self, tile: Tile) -> tuple[float, float] | None:
        """The outer scale above a stored tile, and its amax."""
        if self.outer_grid is None:
            return None
        outer = self.outer_grid.tile_at(*self.outer_grid.tile_of(tile.rows.start, tile.columns.start))
        return float(self.scales.outer[outer.row, outer.column]), self.amax(outer)


@dataclass(frozen=True, kw_only=True)
class OperandTile:
    """A tile in A[M, K] or B[K, N]; `stored` lies on the stored tensor.

    `scale` is NaN in bf16, `exact` the factor of a code, `outer` the outer scale and its amax.
    """

    side: Side
    free: range
    k: range
    stored: Tile
    scale: float
    exact: float
    amax: float
    outer: tuple[float, float] | None


@dataclass(frozen=True, kw_only=True)
class Tiles:
    """All tiles of an operand: start and stop as int64[2, tiles], scales as float64[tiles]."""

    free: NDArray[np.int64]
    k: NDArray[np.int64]
    scale: NDArray[np.float64]


_ends = lru_cache(maxsize=256)(TileGrid.ends)


@dataclass(frozen=True, kw_only=True)
class Scene:
    recipe: Recipe
    matmul: Matmul
    layer: LayerShape
    corner: LayerShape
    a: CornerOperand
    b: CornerOperand

    @property
    def spec(self) -> MatmulSpec:
        return self.recipe.spec(self.matmul)

    @property
    def mnk(self) -> tuple[int, int, int]:
        return self.matmul.mnk(self.corner)

    def operand(self, side: Side) -> CornerOperand:
        return self.a if side is Side.A else self.b

    def grid_shape(self, side: Side) -> tuple[int, int]:
        """(rows, columns) of tiles in A[M, K] or B[K, N]."""
        rows, columns = self.operand(side).grid.scale_shape
        return (columns, rows) if self.matmul.is_transposed(side) else (rows, columns)

    def tile(self, side: Side, row: int, column: int) -> OperandTile:
        """The tile at a place in the grid of the stored operand."""
        operand = self.operand(side)
        stored = operand.grid.tile_at(row, column)
        free, k = stored.rows, stored.columns
        if self.matmul.k_is_rows(side):
            free, k = k, free
        return OperandTile(
            side=side,
            free=free,
            k=k,
            stored=stored,
            scale=float(operand.stored[stored.row, stored.column]),
            exact=float(operand.exact[stored.row, stored.column]),
            amax=operand.amax(stored),
            outer=operand.outer_of(stored),
        )

    def tiles(self, side: Side) -> Tiles:
        rows, columns = _ends(self.operand(side).grid)
        free, k = (columns, rows) if self.matmul.k_is_rows(side) else (rows, columns)
        return Tiles(free=free, k=k, scale=self.operand(side).stored.ravel())

    def codes_along_k(self, side: Side, free: int) -> NDArray[np.unsignedinteger]:
        """[K]: codes, also of bf16 numbers, of row `free` of A or column `free` of B."""
        line, whole = slice(free, free + 1), slice(None)
        part = (whole, line) if self.matmul.k_is_rows(side) else (line, whole)
        return self.operand(side).codes(*part).ravel()

    def factors_along_k(self, side: Side, free: int) -> NDArray[np.float64]:
        """float64[K]: what these codes say."""
        return self.operand(side).format.decode(self.codes_along_k(side, free))

    def values_along_k(self, side: Side, free: int) -> NDArray[np.float64]:
        """float64[K]: the numbers that are multiplied, scales included."""
        return self.factors_along_k(side, free) * self.scale_along_k(side, free)

    def scale_along_k(self, side: Side, free: int) -> NDArray[np.float64]:
        """float64[K]: the factors of these codes."""
        operand = self.operand(side)
        down, across = operand.grid.extents
        if self.matmul.k_is_rows(side):
            scale, extent, size = operand.exact[:, free // across], down, operand.x.shape[0]
        else:
            scale, extent, size = operand.exact[free // down], across, operand.x.shape[1]
        return np.repeat(scale, extent)[:size]

    def along_k(self, side: Side, stored: NDArray[Any], free: int) -> NDArray[Any]:
        """[K] of an array on the stored operand."""
        return stored[:, free] if self.matmul.k_is_rows(side) else stored[free]


def _free(spec: OperandSpec | None) -> Extent:
    return WHOLE if spec is None else spec.tile.mn


def _corner_extent(extent: Extent) -> int:
    """Elements along a dim: a few tiles, or some elements where a tile is one or all."""
    return _FREE_ELEMENTS if extent is WHOLE or extent == 1 else _FREE_TILES * extent


def _scene(
    recipe: Recipe, matmul: Matmul, kind: str, seed: int, layer: LayerShape, sizes: dict[Axis, int]
) -> Scene:
    """A matmul on a corner of the layer, of at most these sizes."""
    corner = LayerShape(*(min(sizes[axis], layer.size(axis)) for axis in (Axis.TOKENS, Axis.IN, Axis.OUT)))

    def operand(side: Side) -> CornerOperand:
        tensor = matmul.operand(side)
        x = numbers(kind, tensor, corner.of(tensor), seed, layer.in_)
        return CornerOperand.of(x, recipe.operand(matmul, side), seed)

    a, b = operand(Side.A), operand(Side.B)
    return Scene(recipe=recipe, matmul=matmul, layer=layer, corner=corner, a=a, b=b)


def matmul_scene(recipe: Recipe, matmul: Matmul, kind: str, seed: int, layer: LayerShape) -> Scene:
    """A matmul on a corner of the layer with four tiles along K."""
    spec = recipe.spec(matmul)
    sizes = {matmul.m: _corner_extent(_free(spec.a)), matmul.n: _corner_extent(_free(spec.b))}
    sizes[matmul.k] = K_TILES * math.lcm(*spec.extents_along_k) if spec.extents_along_k else K_ELEMENTS
    return _scene(recipe, matmul, kind, seed, layer, sizes)


def overview_scenes(recipes: Sequence[Recipe], kind: str, seed: int, layer: LayerShape) -> list[Scene]:
    """All matmuls: TO_SCALE along a dim, LINES along one with tiles of one element or all."""
    scenes = []
    for matmul in MATMULS.values():
        for recipe in recipes:
            spec = recipe.spec(matmul)
            free = {matmul.m: _free(spec.a), matmul.n: _free(spec.b)}
            sizes = {axis: LINES if extent in (1, WHOLE) else TO_SCALE for axis, extent in free.items()}
            scenes.append(_scene(recipe, matmul, kind, seed, layer, sizes | {matmul.k: TO_SCALE}))
    return scenes


@dataclass(frozen=True, kw_only=True)
class CopyScene:
    copy: Copy
    grid: TileGrid
    scales: Scales


def copy_scenes(
    recipe: Recipe, tensor: LayerTensor, kind: str, seed: int, layer: LayerShape
) -> list[CopyScene]:
    corners = []
    for copy in recipe.quantized_copies(tensor):
        rows, columns = (
            min(_corner_extent(extent), size)
            for extent, size in zip(copy.tile, layer.of(tensor), strict=True)
        )
        x = numbers(kind, tensor, (rows, columns), seed, layer.in_)
        corners.append(CopyScene(copy=copy, grid=copy.operand.grid(x.shape), scales=scales(x, copy.operand)))
    return corners


def stored_slice(tensor: LayerTensor, rows: range, columns: range) -> str:
    """A slice of the stored tensor, such as ``x[5, 256:384]``."""
    parts = (str(r.start) if len(r) == 1 else f"{r.start}:{r.stop}" for r in (rows, columns))
    return f"{tensor.value}[{', '.join(parts)}]"


def scale_words(scales: Scales) -> list[str]:
    """The scale of each tile, with the outer one, if any."""
    stored = list(map(short, scales.stored.ravel().tolist()))
    if scales.outer_inside is None:
        return stored
    outer = map(short, scales.outer_inside.ravel().tolist())
    return [f"{inner} · {above}" for inner, above in zip(stored, outer, strict=True)]


def arrow(x0: float, y0: float, x1: float, y1: float, color: str, head: float = 4) -> list[Row]:
    """A line with a cap at its start and a point at its end."""
    across, down = (1, 0) if y0 == y1 else (0, 1)
    back_x, back_y = x1 - 1.5 * head * across, y1 - 1.5 * head * down
    cap = (x0 - head * down, y0 - head * across, x0 + head * down, y0 + head * across)
    point = [(back_x + side * down, back_y + side * across, x1, y1) for side in (-head, head)]
    ends = [(x0, y0, x1, y1), cap, *point]
    return [dict(zip(("x0", "y0", "x1", "y1"), end, strict=True)) | {"color": color} for end in ends]
