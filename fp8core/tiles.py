"""Tiles: elements that share one scale, and their layout on a stored tensor."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from fp8core.arrays import Float32, Floats, Int64
from fp8core.checks import instance, reals, whole
from fp8core.linear import Matmul, Side

WHOLE = None
"""Extent of a tile that spans a dim."""

Extent = int | None

_SHORT = 200
"""Elements: a loop over tiles at most so wide takes longer than its work."""


def check_extent(what: str, extent: Extent) -> None:
    if extent is not WHOLE:
        whole(f"{what}, unless it is WHOLE,", extent, 1)


@dataclass(frozen=True)
class TileShape:
    """Extents of a tile in the matmul's dims: `mn` along the free dim, `k` along the contracted one.

    Raises ValueError for an extent below 1 that is not WHOLE.
    """

    mn: Extent
    k: Extent

    def __post_init__(self) -> None:
        check_extent("a tile's mn extent", self.mn)
        check_extent("a tile's k extent", self.k)

    def on_tensor(self, matmul: Matmul, side: Side) -> tuple[Extent, Extent]:
        """(rows, columns) of the tile on the stored tensor that `matmul` reads as `side`.

        DeepSeek-V3's Wgrad reads x in tiles of 1 feature × 128 tokens: on_tensor is (128, 1).
        """
        instance("a matmul", matmul, Matmul)
        return (self.k, self.mn) if matmul.k_is_rows(side) else (self.mn, self.k)


@dataclass(frozen=True, kw_only=True)
class Tile:
    """One tile: its place in the grid of scales, and its half-open ranges of elements."""

    row: int
    column: int
    rows: range
    columns: range


@dataclass(frozen=True)
class TileGrid:
    """A tensor of `shape` (rows, columns) cut into tiles of `tile` elements; edge tiles may be partial.

    `tile` keeps a WHOLE extent; `extents` has numbers. An empty dim has no tiles. Raises ValueError unless
    shape and tile are two whole numbers each.
    """

    shape: tuple[int, int]
    tile: tuple[Extent, Extent]

    def __post_init__(self) -> None:
        sizes, tile = (isinstance(pair, tuple) and len(pair) == 2 for pair in (self.shape, self.tile))
        if not tile:
            raise ValueError(f"a tile has a row and a column extent, got {self.tile!r}")
        if not sizes or min(whole("a size of a tensor", size) for size in self.shape) < 0:
            raise ValueError(f"a tile grid covers a tensor of two dims of size >= 0, got shape {self.shape}")
        check_extent("a tile's row extent", self.tile[0])
        check_extent("a tile's column extent", self.tile[1])

    @classmethod
    def over(cls, shape: tuple[int, int], tile: tuple[Extent, Extent]) -> "TileGrid":
        return cls(*(tuple(pair) if isinstance(pair, Iterable) else pair for pair in (shape, tile)))

    @cached_property
    def extents(self) -> tuple[int, int]:
        """Full tile in elements, WHOLE resolved."""
        sizes = zip(self.shape, self.tile, strict=True)
        rows, columns = (max(size if extent is WHOLE else extent, 1) for size, extent in sizes)
        return rows, columns

    @cached_property
    def scale_shape(self) -> tuple[int, int]:
        rows, columns = (-(-size // extent) for size, extent in zip(self.shape, self.extents, strict=True))
        return rows, columns

    def tile_of(self, row: int, column: int) -> tuple[int, int]:
        """(row, column), in the grid of scales, of an element's tile. Raises IndexError."""
        if not (0 <= whole("a row", row) < self.shape[0] and 0 <= whole("a column", column) < self.shape[1]):
            raise IndexError(f"element ({row}, {column}) is outside a tensor of shape {self.shape}")
        return row // self.extents[0], column // self.extents[1]

    def tile_at(self, row: int, column: int) -> Tile:
        """Tile at a place in the grid of scales. Raises IndexError."""
        whole("a tile's row", row), whole("a tile's column", column)
        if not (0 <= row < self.scale_shape[0] and 0 <= column < self.scale_shape[1]):
            raise IndexError(f"tile ({row}, {column}) is outside a grid of {self.scale_shape} tiles")
        (tall, wide), (rows, columns) = self.extents, self.shape
        return Tile(
            row=row,
            column=column,
            rows=range(row * tall, min((row + 1) * tall, rows)),
            columns=range(column * wide, min((column + 1) * wide, columns)),
        )

    def ends(self) -> tuple[Int64, Int64]:
        """int64[2, tiles], start and stop: rows and columns of all tiles, in the order of `tiles`."""
        places = zip(np.indices(self.scale_shape), self.extents, self.shape, strict=True)
        rows, columns = (
            np.stack([at.ravel() * extent, np.minimum((at.ravel() + 1) * extent, size)])
            for at, extent, size in places
        )
        return rows, columns

    def tiles(self) -> Iterator[Tile]:
        for row in range(self.scale_shape[0]):
            for column in range(self.scale_shape[1]):
                yield self.tile_at(row, column)

    def expand(self, scale: Floats) -> Floats:
        """scale[*scale_shape] → [rows, columns]: each element's scale."""
        scale = reals("scale", scale)
        if scale.shape != self.scale_shape:
            raise ValueError(f"this grid has {self.scale_shape} scales, got an array of shape {scale.shape}")
        tall = np.repeat(scale, self.extents[0], axis=0)[: self.shape[0]]
        return np.repeat(tall, self.extents[1], axis=1)[:, : self.shape[1]]

    def amax(self, x: Float32) -> Float32:
        """float32[*scale_shape]: largest |x| of each tile; a NaN makes it NaN."""
        x = reals("x", x)
        if x.shape != self.shape:
            raise ValueError(f"this grid lies over a tensor of shape {self.shape}, got {x.shape}")
        if 0 in self.shape:
            return np.zeros(self.scale_shape, np.float32)
        tall, wide = self.extents
        down = np.abs(x)
        if tall > 1:
            down = np.maximum.reduceat(down, np.arange(0, self.shape[0], tall), axis=0)
        if self.shape[1] % wide == 0:
            tiles = down.reshape(len(down), -1, wide)
            # Halves are faster to compare than many short rows.
            while tiles.shape[2] % 2 == 0 and tiles.shape[2] <= _SHORT:
                half = tiles.shape[2] // 2
                tiles = np.maximum(tiles[..., :half], tiles[..., half:])
            return tiles.max(axis=2)
        return np.maximum.reduceat(down, np.arange(0, self.shape[1], wide), axis=1)
