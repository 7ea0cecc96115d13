"""Recipes as data: for each matmul and operand, the format, the tile that shares a scale, the scale's rule.

A scale must stay constant along the stretch of K that the tensor core sums. So every tile below is given in
the matmul's own dims (free dim, contracted dim). The rest follows from it: where a tile lies on the stored
tensor, how many quantized copies a training step needs, how often an output element is rescaled.
"""

from dataclasses import dataclass, replace
from typing import TypeVar

from fp8core.accumulators import ACCUMULATORS, Accumulator
from fp8core.checks import instance
from fp8core.formats import FORMATS, Format
from fp8core.linear import MATMULS, LayerTensor, Matmul, Side
from fp8core.rounding import Rounding
from fp8core.scales import E8M0_ROUND_UP, FP32_SCALE, ScaleRule
from fp8core.tiles import WHOLE, Extent, TileGrid, TileShape

_T = TypeVar("_T")


@dataclass(frozen=True, kw_only=True)
class OperandSpec:
    """How one operand is quantized. Raises ValueError for a field of another type."""

    format: Format
    tile: TileShape
    scale_rule: ScaleRule
    rounding: Rounding = Rounding.NEAREST_EVEN

    def __post_init__(self) -> None:
        instance("format", self.format, Format)
        instance("tile", self.tile, TileShape)
        instance("scale_rule", self.scale_rule, ScaleRule)
        instance("rounding", self.rounding, Rounding)


@dataclass(frozen=True, kw_only=True)
class MatmulSpec:
    """How one matmul is computed: its two operands, the tensor core's accumulator, the format of D."""

    a: OperandSpec
    b: OperandSpec
    accumulator: Accumulator
    out: Format

    def operand(self, side: Side) -> OperandSpec:
        return self.a if instance("a side", side, Side) is Side.A else self.b


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


@dataclass(frozen=True, kw_only=True)
class Recipe:
    """A way to train a linear layer in FP8: a spec for each of its matmuls, and where it is described."""

    name: str
    title: str
    source: str
    fprop: MatmulSpec
    dgrad: MatmulSpec
    wgrad: MatmulSpec

    def spec(self, matmul: Matmul) -> MatmulSpec:
        """How one of the layer's three matmuls is computed. Raises ValueError for another one."""
        instance("a matmul", matmul, Matmul)
        if matmul.name not in MATMULS:
            raise ValueError(f"a recipe has a spec for {', '.join(MATMULS)}, got {matmul.name!r}")
        return {"fprop": self.fprop, "dgrad": self.dgrad, "wgrad": self.wgrad}[matmul.name]

    def operand(self, matmul: Matmul, side: Side) -> Operand:
        """How one operand of a matmul is quantized, and how it lies on its stored tensor."""
        return Operand(spec=self.spec(matmul).operand(side), k_is_rows=matmul.k_is_rows(side))

    def operands(self, matmul: Matmul) -> tuple[Operand, Operand]:
        """A and B of a matmul."""
        return self.operand(matmul, Side.A), self.operand(matmul, Side.B)

    def grid(self, matmul: Matmul, side: Side, shape: tuple[int, int]) -> TileGrid:
        """The tiles of one operand, on its stored tensor of `shape` (rows, columns)."""
        return self.operand(matmul, side).grid(shape)

    def quantized_copies(self, tensor: LayerTensor) -> tuple[Copy, ...]:
        """The distinct quantized copies of a stored tensor that one training step needs. A result
        needs none.
        """
        readers: dict[object, list[tuple[Matmul, Side]]] = {}
        for matmul in MATMULS.values():
            side = matmul.side_of(tensor)
            if side is not None:
                readers.setdefault(_as_stored(self.operand(matmul, side)), []).append((matmul, side))
        return tuple(
            Copy(tensor=tensor, operand=self.operand(*who[0]), readers=tuple(who)) for who in readers.values()
        )

    def copies(self, tensor: LayerTensor) -> int:
        """How many times a training step quantizes a tensor: 1 where all its readers share codes and scales.

        It counts values. The hardware's K-contiguous layout can still ask for the same codes twice, once
        transposed: `Copy.k_major` says where.
        """
        return len(self.quantized_copies(tensor))


def _as_stored(operand: Operand) -> object:
    """Equal for operands that have equal codes and scales, whichever way K runs."""
    outer = operand.outer_grid((1, 1))
    spec = replace(operand.spec, tile=TileShape(*operand.tile))
    return replace(spec, scale_rule=replace(spec.scale_rule, outer=None)), outer and outer.tile


_E4M3, _E5M2, _BF16, _FP32 = FORMATS["e4m3"], FORMATS["e5m2"], FORMATS["bf16"], FORMATS["fp32"]
_FAST, _PROMOTED = ACCUMULATORS["hopper_fast"], ACCUMULATORS["hopper_promoted"]


def _operand(format_: Format, mn: Extent, k: Extent, rule: ScaleRule = FP32_SCALE) -> OperandSpec:
    return OperandSpec(format=format_, tile=TileShape(mn, k), scale_rule=rule)


def _matmul(
    a: OperandSpec, b: OperandSpec, accumulator: Accumulator = _PROMOTED, out: Format = _BF16
) -> MatmulSpec:
    return MatmulSpec(a=a, b=b, accumulator=accumulator, out=out)


_TENSOR, _TENSOR_E5M2 = _operand(_E4M3, WHOLE, WHOLE), _operand(_E5M2, WHOLE, WHOLE)
_ROW = _operand(_E4M3, 1, WHOLE)
_LINE_128, _SQUARE_128 = _operand(_E4M3, 1, 128), _operand(_E4M3, 128, 128)
_LINE_32 = _operand(_E4M3, 1, 32, E8M0_ROUND_UP)

RECIPES: dict[str, Recipe] = {
    recipe.name: recipe
    for recipe in (
        Recipe(
            name="per_tensor",
            title="Per tensor, hybrid",
            source="Micikevicius et al., FP8 Formats for Deep Learning, arXiv 2209.05433; "
            "Transformer Engine, Float8CurrentScaling with Format.HYBRID",
            fprop=_matmul(_TENSOR, _TENSOR, _FAST),
            dgrad=_matmul(_TENSOR_E5M2, _TENSOR),
            wgrad=_matmul(_TENSOR_E5M2, _TENSOR, out=_FP32),
        ),
        Recipe(
            name="per_tensor_e4m3",
            title="Per tensor, e4m3",
            source="torchao float8, Float8LinearConfig with recipe tensorwise (e4m3 for gradients by "
            "configuration); Transformer Engine, Float8CurrentScaling with Format.E4M3",
            fprop=_matmul(_TENSOR, _TENSOR, _FAST),
            dgrad=_matmul(_TENSOR, _TENSOR),
            wgrad=_matmul(_TENSOR, _TENSOR, out=_FP32),
        ),
        Recipe(
            name="rowwise",
            title="Per row",
            source="torchao float8, recipe rowwise; torch._scaled_mm with row-wise scales",
            fprop=_matmul(_ROW, _ROW, _FAST),
            dgrad=_matmul(_ROW, _ROW),
            wgrad=_matmul(_ROW, _ROW, out=_FP32),
        ),
        Recipe(
            name="deepseek_v3",
            title="DeepSeek-V3",
            source="DeepSeek-V3 Technical Report, arXiv 2412.19437, sections 3.3.2 and 3.5.2; DeepGEMM",
            fprop=_matmul(_LINE_128, _SQUARE_128),
            dgrad=_matmul(_LINE_128, _SQUARE_128),
            wgrad=_matmul(_LINE_128, _LINE_128, out=_FP32),
        ),
        Recipe(
            name="mxfp8",
            title="MXFP8",
            source="OCP Microscaling Formats (MX) 1.0; Mishra et al., "
            "Recipes for Pre-training LLMs with MXFP8, arXiv 2506.08027",
            fprop=_matmul(_LINE_32, _LINE_32, ACCUMULATORS["hopper_bf16"]),
            dgrad=_matmul(_LINE_32, _LINE_32, ACCUMULATORS["hopper_bf16"]),
            wgrad=_matmul(_LINE_32, _LINE_32, ACCUMULATORS["hopper_bf16"], out=_FP32),
        ),
    )
}
