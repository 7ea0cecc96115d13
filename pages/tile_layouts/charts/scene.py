"""The numbers behind the pictures: a small corner of each tensor, quantized as a recipe says, and its marks.

A stands at the left, B above, D in the corner, so that m, n and k line up.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache, cached_property, lru_cache
from typing import Any

import altair as alt
import numpy as np
from numpy.typing import NDArray

from fp8core.formats import FORMATS, Format
from fp8core.inputs import OUTLIER_EVERY, InputKind, draw_operand
from fp8core.linear import MATMULS, OPERANDS, Axis, LayerShape, LayerTensor, Matmul, Side
from fp8core.operand_scales import Scales, fitted
from fp8core.philox import random_bits
from fp8core.quantize import prepared, quantize_part, scales
from fp8core.recipes import Copy, MatmulSpec, Operand, OperandSpec, Recipe
from fp8core.tiles import WHOLE, Extent, Tile, TileGrid
from pages.kit.charts.tile_marks import Row, drawn_extent
from pages.kit.charts.words import short

BF16, NO_SCALE = FORMATS["bf16"], "bf16, no scale"
K_TILES, K_ELEMENTS = 4, 64
TO_SCALE, LINES = 256, 16

# float32[rows, columns], the corner of a stored tensor.
Draw = Callable[[LayerTensor, tuple[int, int]], NDArray[np.float32]]


def numbers(
    kind: str, tensor: LayerTensor, shape: tuple[int, int], seed: int, fan_in: int
) -> NDArray[np.float32]:
    """float32[rows, columns]: a corner of x, w or dy. A narrow corner of x still holds an outlier channel."""
    own_seed = seed * len(OPERANDS) + OPERANDS.index(tensor)
    every = min(OUTLIER_EVERY, max(shape[1] // 2, 2))
    return draw_operand(InputKind(kind), tensor, shape, own_seed, fan_in=fan_in, outlier_every=every)


@dataclass(frozen=True, kw_only=True)
class DrawnOperand:
    """The corner of a stored tensor that is drawn.

    - corner: float32[rows, columns], the tensor's numbers.
    - x: float32[rows, columns], the numbers that are rounded: after a saved copy and a rotation.
    - operand, scales: how it is quantized; None where it stays bf16, and `x` is in bf16.
    - seed: of the random bits under stochastic rounding.
    """

    corner: NDArray[np.float32]
    x: NDArray[np.float32]
    operand: Operand | None
    scales: Scales | None
    seed: int = 0

    @classmethod
    def of(cls, corner: NDArray[np.float32], operand: Operand | None, seed: int) -> "DrawnOperand":
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
        """Its tiles; one of the whole corner where there are no scales."""
        shape = self.x.shape
        return TileGrid.over(shape, (WHOLE, WHOLE)) if self.operand is None else self.operand.grid(shape)

    @cached_property
    def outer_grid(self) -> TileGrid | None:
        """The tiles that share an outer scale; None where there is one level or none."""
        return self.operand and self.operand.outer_grid(self.x.shape)

    @cached_property
    def stored(self) -> NDArray[np.float64]:
        """float64[*grid.scale_shape]: the scales as stored, the inner ones of two levels; NaN without any."""
        if self.scales is None:
            return np.full(self.grid.scale_shape, np.nan)
        return self.scales.stored.astype(np.float64)

    @cached_property
    def exact(self) -> NDArray[np.float64]:
        """float64[*grid.scale_shape]: the factor of each tile's codes; 1 in bf16."""
        return np.ones(self.grid.scale_shape) if self.scales is None else self.scales.exact

    @cached_property
    def _random(self) -> NDArray[np.uint8] | None:
        if self.operand is None or not self.operand.spec.is_random:
            return None
        bits = random_bits(self.operand.stored(self.x.shape), self.seed)
        return bits.T if self.operand.k_is_rows else bits

    def codes(self, rows: slice, columns: slice) -> NDArray[np.unsignedinteger]:
        """The codes of a part. Those of all numbers would take longer than the rest of the picture."""
        if self.scales is None:
            return BF16.encode(self.x[rows, columns])
        return quantize_part(self.x, self.operand, self.scales.effective, rows, columns, self._random)

    def decoded(self, rows: slice, columns: slice) -> NDArray[np.float64]:
        """float64: the numbers that the tensor core multiplies in a part, before any scale."""
        return self.format.decode(self.codes(rows, columns))

    def amax(self, tile: Tile) -> float:
        rows, columns = tile.rows, tile.columns
        return float(np.abs(self.x[rows.start : rows.stop, columns.start : columns.stop]).max())

    def outer_of(self, tile: Tile) -> tuple[float, float] | None:
        """The outer scale above a stored tile, and the largest |x| that this scale follows."""
        if self.outer_grid is None:
            return None
        outer = self.outer_grid.tile_at(*self.outer_grid.tile_of(tile.rows.start, tile.columns.start))
        return float(self.scales.outer[outer.row, outer.column]), self.amax(outer)


@dataclass(frozen=True, kw_only=True)
class OperandTile:
    """A tile as the matmul reads it: `row`, `column` in A[M, K] or B[K, N]; `stored` on the stored tensor.

    `scale` is the stored one, NaN in bf16; `exact` is the factor of a code, the outer scale included.
    `outer` is the outer scale and its amax.
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
    outer: tuple[float, float] | None


@dataclass(frozen=True, kw_only=True)
class Tiles:
    """All tiles of an operand as the matmul reads it, in the order of `TileGrid.tiles`.

    - row, column: int64[tiles], the place of a tile in A[M, K] or B[K, N].
    - free, k: int64[2, tiles], the start and the stop of a tile; so are rows and columns as stored.
    - scale: float64[tiles].
    """

    row: NDArray[np.int64]
    column: NDArray[np.int64]
    free: NDArray[np.int64]
    k: NDArray[np.int64]
    rows: NDArray[np.int64]
    columns: NDArray[np.int64]
    scale: NDArray[np.float64]


@lru_cache(maxsize=256)
def _indices(grid: TileGrid) -> tuple[NDArray[np.int64], ...]:
    row, column = (index.ravel() for index in np.indices(grid.scale_shape))
    return row, column, *grid.ends()


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
        return self.matmul.mnk(self.drawn)

    def operand(self, side: Side) -> DrawnOperand:
        return self.a if side is Side.A else self.b

    def grid_shape(self, side: Side) -> tuple[int, int]:
        """(rows, columns) of tiles of the operand as the matmul reads it: A[M, K], B[K, N]."""
        rows, columns = self.operand(side).grid.scale_shape
        return (columns, rows) if self.matmul.is_transposed(side) else (rows, columns)

    def tile(self, side: Side, row: int, column: int) -> OperandTile:
        """A tile by its row and column in the operand as the matmul reads it."""
        operand, is_transposed = self.operand(side), self.matmul.is_transposed(side)
        stored = operand.grid.tile_at(*((column, row) if is_transposed else (row, column)))
        free, k = stored.rows, stored.columns
        if self.matmul.k_is_rows(side):
            free, k = k, free
        return OperandTile(
            side=side,
            row=row,
            column=column,
            free=free,
            k=k,
            stored=stored,
            scale=float(operand.stored[stored.row, stored.column]),
            exact=float(operand.exact[stored.row, stored.column]),
            amax=operand.amax(stored),
            outer=operand.outer_of(stored),
        )

    def tiles(self, side: Side) -> Tiles:
        operand = self.operand(side)
        row, column, rows, columns = _indices(operand.grid)
        free, k = (columns, rows) if self.matmul.k_is_rows(side) else (rows, columns)
        if self.matmul.is_transposed(side):
            row, column = column, row
        scale = operand.stored.ravel()
        return Tiles(row=row, column=column, free=free, k=k, rows=rows, columns=columns, scale=scale)

    def factors_along_k(self, side: Side, free: int) -> NDArray[np.float64]:
        """float64[K]: the decoded codes, or bf16 numbers, of row `free` of A or of column `free` of B."""
        line, whole = slice(free, free + 1), slice(None)
        part = (whole, line) if self.matmul.k_is_rows(side) else (line, whole)
        return self.operand(side).decoded(*part).ravel()

    def scale_along_k(self, side: Side, free: int) -> NDArray[np.float64]:
        """float64[K]: the factor of each code of row `free` of A or column `free` of B."""
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


def _free(spec: OperandSpec | None) -> Extent:
    """The extent of a tile along the free dim; WHOLE where there are no tiles."""
    return WHOLE if spec is None else spec.tile.mn


def _within(sizes: dict[Axis, int], layer: LayerShape) -> LayerShape:
    return LayerShape(*(min(sizes[axis], layer.size(axis)) for axis in (Axis.TOKENS, Axis.IN, Axis.OUT)))


def drawn_layer(matmul: Matmul, spec: MatmulSpec, layer: LayerShape) -> LayerShape:
    """The corner of the layer that the picture of one matmul shows: four tiles along K."""
    along_k = spec.extents_along_k
    free = {matmul.m: drawn_extent(_free(spec.a)), matmul.n: drawn_extent(_free(spec.b))}
    return _within({**free, matmul.k: K_TILES * math.lcm(*along_k) if along_k else K_ELEMENTS}, layer)


def _layer_to_scale(matmul: Matmul, spec: MatmulSpec, layer: LayerShape) -> LayerShape:
    """The corner that small pictures show, to scale: TO_SCALE elements along each dim.

    Where a tile has one element along a dim, or all, fewer lines are drawn, each of them thicker.
    """
    free = {matmul.m: _free(spec.a), matmul.n: _free(spec.b)}
    lines = {axis: LINES if extent in (1, WHOLE) else TO_SCALE for axis, extent in free.items()}
    return _within({**lines, matmul.k: TO_SCALE}, layer)


def _scene(
    recipe: Recipe, matmul: Matmul, layer: LayerShape, drawn: LayerShape, draw: Draw, seed: int
) -> Scene:
    def operand(side: Side) -> DrawnOperand:
        tensor = matmul.operand(side)
        return DrawnOperand.of(draw(tensor, drawn.of(tensor)), recipe.operand(matmul, side), seed)

    a, b = operand(Side.A), operand(Side.B)
    return Scene(recipe=recipe, matmul=matmul, layer=layer, drawn=drawn, a=a, b=b)


def scene(recipe: Recipe, matmul: Matmul, kind: str, seed: int, layer: LayerShape) -> Scene:
    """A matmul of a recipe on the corner of the layer that is drawn."""
    drawn = drawn_layer(matmul, recipe.spec(matmul), layer)
    return _scene(recipe, matmul, layer, drawn, lambda *corner: numbers(kind, *corner, seed, layer.in_), seed)


def overview_scenes(recipes: Sequence[Recipe], kind: str, seed: int, layer: LayerShape) -> list[Scene]:
    """All matmuls of these recipes. Pictures of equal corners share their numbers."""
    draw = cache(lambda *corner: numbers(kind, *corner, seed, layer.in_))
    return [
        _scene(recipe, matmul, layer, _layer_to_scale(matmul, recipe.spec(matmul), layer), draw, seed)
        for matmul in MATMULS.values()
        for recipe in recipes
    ]


@dataclass(frozen=True, kw_only=True)
class CopyScene:
    """The scales of a corner of a stored tensor in one of its copies."""

    copy: Copy
    grid: TileGrid
    scales: Scales


def copy_scenes(
    recipe: Recipe, tensor: LayerTensor, kind: str, seed: int, layer: LayerShape
) -> list[CopyScene]:
    """A corner of each quantized copy of one stored tensor that a training step needs."""
    corners = []
    for copy in recipe.quantized_copies(tensor):
        rows, columns = (
            min(drawn_extent(extent), size) for extent, size in zip(copy.tile, layer.of(tensor), strict=True)
        )
        x = numbers(kind, tensor, (rows, columns), seed, layer.in_)
        corners.append(CopyScene(copy=copy, grid=copy.operand.grid(x.shape), scales=scales(x, copy.operand)))
    return corners


def stored_slice(tensor: LayerTensor, rows: range, columns: range) -> str:
    """A slice of the stored tensor, such as ``x[5, 256:384]``."""
    parts = (str(r.start) if len(r) == 1 else f"{r.start}:{r.stop}" for r in (rows, columns))
    return f"{tensor.value}[{', '.join(parts)}]"


def scale_words(scales: Scales | None) -> list[str]:
    """The scale of each tile in words, with the outer one where there are two levels."""
    if scales is None:
        return [NO_SCALE]
    stored = list(map(short, scales.stored.ravel().tolist()))
    if scales.outer_inside is None:
        return stored
    outer = map(short, scales.outer_inside.ravel().tolist())
    return [f"{inner} · {above}" for inner, above in zip(stored, outer, strict=True)]


# Start and stop: two numbers, or two arrays of them.
Ends = Any


@dataclass(frozen=True, kw_only=True)
class Panel:
    """A rectangle of the picture that shows dim `across` from left to right and dim `down` from the top."""

    across: str
    columns: int
    down: str
    rows: int
    left: float
    top: float
    width: float
    height: float

    @property
    def right(self) -> float:
        return self.left + self.width

    @property
    def bottom(self) -> float:
        return self.top + self.height

    def boxes(self, rows: Ends, columns: Ends) -> Row:
        """Corners of rectangles that cover elements from the first of `rows` and `columns` to the second."""
        wide, tall = self.width / max(self.columns, 1), self.height / max(self.rows, 1)
        return {
            "x0": self.left + wide * columns[0],
            "x1": self.left + wide * columns[1],
            "y0": self.top + tall * rows[0],
            "y1": self.top + tall * rows[1],
        }


@dataclass(frozen=True, kw_only=True)
class Frame:
    a: Panel
    b: Panel
    d: Panel

    def operand_boxes(self, side: Side, free: Ends, k: Ends) -> Row:
        """Corners of rectangles that cover `free` and `k` of an operand."""
        return self.a.boxes(free, k) if side is Side.A else self.b.boxes(k, free)


def frame(
    mnk: tuple[int, int, int], *, left: float, top: float, wide: float, k: float, m: float, gap: Ends
) -> Frame:
    """Panels for these M, N, K. A and B are `wide`, B is `k` high and A `m`; `gap` is (across, down)."""
    sizes = dict(zip("mnk", mnk, strict=True))
    x, y = left + wide + gap[0], top + k + gap[1]

    def panel(across: str, down: str, left: float, top: float, height: float) -> Panel:
        dims = {"across": across, "columns": sizes[across], "down": down, "rows": sizes[down]}
        return Panel(**dims, left=left, top=top, width=wide, height=height)

    return Frame(a=panel("k", "m", left, y, m), b=panel("n", "k", x, top, k), d=panel("n", "m", x, y, m))


def scale_color(field: str = "log2") -> alt.Color:
    """The color of a tile, from its operand's smallest scale, 0, to its largest, 1."""
    return alt.Color(f"{field}:Q", legend=None, scale=alt.Scale(range="ramp", domain=[0, 1], clamp=True))


def arrow(x0: float, y0: float, x1: float, y1: float, color: str, head: float = 4) -> list[Row]:
    """A line with a cap at its start and a point at its end, along one side of a panel."""
    across, down = (1, 0) if y0 == y1 else (0, 1)
    back_x, back_y = x1 - 1.5 * head * across, y1 - 1.5 * head * down
    cap = (x0 - head * down, y0 - head * across, x0 + head * down, y0 + head * across)
    point = [(back_x + side * down, back_y + side * across, x1, y1) for side in (-head, head)]
    return lines([(x0, y0, x1, y1), cap, *point], color)


def lines(ends: list[tuple[float, ...]], color: str) -> list[Row]:
    return [dict(zip(("x0", "y0", "x1", "y1"), end, strict=True)) | {"color": color} for end in ends]
