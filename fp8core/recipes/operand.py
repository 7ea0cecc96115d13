"""An operand as it lies on its stored tensor, and the quantized copies that a training step keeps."""

from dataclasses import dataclass, replace
from typing import TypeVar

from fp8core.linear import LayerTensor, Matmul, Side
from fp8core.recipes.spec import OperandSpec
from fp8core.tiles import Extent, TileGrid, TileShape

_T = TypeVar("_T")


@dataclass(frozen=True, kw_only=True)
class Operand:
    """How one operand of a matmul is quantized, and how it lies on its stored tensor.

    `k_is_rows` says that K runs down the stored rows, and with it the `k` extent of a tile.
    """

    spec: OperandSpec
    k_is_rows: bool

    @classmethod
    def over(cls, grid: TileGrid, spec: OperandSpec) -> "Operand":
        """The operand with the tiles of a grid, which replace those of `spec` where they differ.

        K runs down the rows where only that makes them the tiles of `spec`.
        """
        extents = (spec.tile.mn, spec.tile.k)
        k_is_rows = grid.tile == extents[::-1] != extents
        tile = TileShape(*(reversed(grid.tile) if k_is_rows else grid.tile))
        return cls(spec=replace(spec, tile=tile), k_is_rows=k_is_rows)

    @property
    def tile(self) -> tuple[Extent, Extent]:
        """(rows, columns) of a tile on the stored tensor."""
        return self.stored((self.spec.tile.mn, self.spec.tile.k))

    def stored(self, pair: tuple[_T, _T]) -> tuple[_T, _T]:
        """(rows, columns) of the stored tensor for (mn, k) in the matmul's dims, and back."""
        return pair[::-1] if self.k_is_rows else pair

    def grid(self, shape: tuple[int, int]) -> TileGrid:
        """The tiles over a stored tensor of `shape` (rows, columns)."""
        return TileGrid.over(shape, self.tile)

    def outer_grid(self, shape: tuple[int, int]) -> TileGrid | None:
        """The tiles that share an outer scale; None for a rule of one level."""
        outer = self.spec.scale_rule.outer
        return outer and TileGrid.over(shape, self.stored((outer.tile.mn, outer.tile.k)))

    @property
    def saved(self) -> "Operand | None":
        """The copy out of which this one is made; None where it is made of the tensor itself."""
        return self.spec.saved_as and replace(self, spec=self.spec.saved_as)


@dataclass(frozen=True, kw_only=True)
class Copy:
    """One quantized copy of a stored tensor: each reader gets equal codes and scales.

    `operand` is how the first reader has it; `readers` are the matmuls and sides that read it.
    """

    tensor: LayerTensor
    operand: Operand
    readers: tuple[tuple[Matmul, Side], ...]

    @property
    def spec(self) -> OperandSpec:
        return self.operand.spec

    @property
    def tile(self) -> tuple[Extent, Extent]:
        """(rows, columns) of a tile on the stored tensor."""
        return self.operand.tile

    @property
    def k_major(self) -> tuple[bool, ...]:
        """The layouts in memory that the readers need on Hopper, where both operands are contiguous along K.

        False is the layout as stored, True the transposed one. With two entries, the codes are held twice,
        and the second copy exists only because of layout.
        """
        return tuple(sorted({matmul.k_is_rows(side) for matmul, side in self.readers}))


def same_copy(operand: Operand) -> object:
    """Equal for operands that have equal codes and scales, whichever way K runs."""
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
