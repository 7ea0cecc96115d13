"""An operand on its stored tensor, and the quantized copies of a training step."""

from dataclasses import dataclass, replace
from typing import TypeVar

from fp8core.linear import LayerTensor, Matmul, Side
from fp8core.recipes.spec import OperandSpec
from fp8core.tiles import Extent, TileGrid, TileShape

_T = TypeVar("_T")


@dataclass(frozen=True, kw_only=True)
class Operand:
    """Quantization of one operand of a matmul, on its stored tensor.

    `k_is_rows`: K, and a tile's `k` extent, run down the stored rows.
    """

    spec: OperandSpec
    k_is_rows: bool

    @classmethod
    def over(cls, grid: TileGrid, spec: OperandSpec) -> "Operand":
        """Operand with a grid's tiles, which replace those of `spec`.

        K runs down the rows if only that makes them the tiles of `spec`.
        """
        extents = (spec.tile.mn, spec.tile.k)
        k_is_rows = grid.tile == extents[::-1] != extents
        tile = TileShape(*(reversed(grid.tile) if k_is_rows else grid.tile))
        return cls(spec=replace(spec, tile=tile), k_is_rows=k_is_rows)

    @property
    def tile(self) -> tuple[Extent, Extent]:
        return self.stored((self.spec.tile.mn, self.spec.tile.k))

    def stored(self, pair: tuple[_T, _T]) -> tuple[_T, _T]:
        """Convert (mn, k) in the matmul's dims to (rows, columns) of the stored tensor, and back."""
        return pair[::-1] if self.k_is_rows else pair

    def grid(self, shape: tuple[int, int]) -> TileGrid:
        return TileGrid.over(shape, self.tile)

    def outer_grid(self, shape: tuple[int, int]) -> TileGrid | None:
        """Tiles that share an outer scale; None for one level."""
        outer = self.spec.scale_rule.outer
        return outer and TileGrid.over(shape, self.stored((outer.tile.mn, outer.tile.k)))

    @property
    def saved(self) -> "Operand | None":
        """Copy out of which this one is made; None for the tensor itself."""
        return self.spec.saved_as and replace(self, spec=self.spec.saved_as)


@dataclass(frozen=True, kw_only=True)
class Copy:
    """One quantized copy of a stored tensor, with equal codes and scales for each reader.

    `operand` is the first reader's; `readers` are matmuls and sides.
    """

    tensor: LayerTensor
    operand: Operand
    readers: tuple[tuple[Matmul, Side], ...]

    @property
    def spec(self) -> OperandSpec:
        return self.operand.spec

    @property
    def tile(self) -> tuple[Extent, Extent]:
        return self.operand.tile

    @property
    def k_major(self) -> tuple[bool, ...]:
        """Layouts that Hopper's readers need: True is transposed.

        With two entries the codes are stored twice, only for layout.
        """
        return tuple(sorted({matmul.k_is_rows(side) for matmul, side in self.readers}))


def same_copy(operand: Operand) -> object:
    """Key that is equal for operands with equal codes and scales, whichever way K runs."""
    spec, outer = operand.spec, operand.spec.scale_rule.outer
    if outer is not None:
        outer = replace(outer, tile=TileShape(*operand.stored((outer.tile.mn, outer.tile.k))))
    stored = replace(
        spec,
        tile=TileShape(*operand.tile),
        scale_rule=replace(spec.scale_rule, outer=outer),
        saved_as=None,
    )
    saved = operand.saved
    return stored, operand.k_is_rows if spec.rotation else None, saved and same_copy(saved)
