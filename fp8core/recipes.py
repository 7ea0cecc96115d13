"""Recipes as data: for each matmul and operand, the format, the tile that shares a scale, the scale's rule.

A scale must stay constant along the stretch of K that the tensor core sums. So every tile below is given in
the matmul's own dims (free dim, contracted dim). The rest follows from it: where a tile lies on the stored
tensor, how many quantized copies a training step needs, how often an output element is rescaled.
"""

from dataclasses import dataclass

from fp8core.accumulators import ACCUMULATORS, Accumulator
from fp8core.checks import instance
from fp8core.formats import FORMATS, Format
from fp8core.linear import MATMULS, LayerTensor, Matmul, Side
from fp8core.rounding import Rounding
from fp8core.scales import E8M0_ROUND_UP, FP32_SCALE, ScaleRule
from fp8core.tiles import WHOLE, Extent, TileGrid, TileShape


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
class Copy:
    """One quantized copy of a stored tensor: each reader gets equal codes and scales.

    `tile` is (rows, columns) on the stored tensor. `readers` are the matmuls and sides that read it.
    """

    tensor: LayerTensor
    spec: OperandSpec
    tile: tuple[Extent, Extent]
    readers: tuple[tuple[Matmul, Side], ...]

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

    def grid(self, matmul: Matmul, side: Side, shape: tuple[int, int]) -> TileGrid:
        """The tiles of one operand, on its stored tensor of `shape` (rows, columns)."""
        return TileGrid.over(shape, self.spec(matmul).operand(side).tile.on_tensor(matmul, side))

    def quantized_copies(self, tensor: LayerTensor) -> tuple[Copy, ...]:
        """The distinct quantized copies of a stored tensor that one training step needs. A result
        needs none.
        """
        readers: dict[tuple[object, ...], list[tuple[Matmul, Side]]] = {}
        for matmul in MATMULS.values():
            side = matmul.side_of(tensor)
            if side is not None:
                spec = self.spec(matmul).operand(side)
                key = (spec.format, spec.tile.on_tensor(matmul, side), spec.scale_rule, spec.rounding)
                readers.setdefault(key, []).append((matmul, side))
        copies = []
        for matmul_sides in readers.values():
            matmul, side = matmul_sides[0]
            spec = self.spec(matmul).operand(side)
            tile = spec.tile.on_tensor(matmul, side)
            copies.append(Copy(tensor=tensor, spec=spec, tile=tile, readers=tuple(matmul_sides)))
        return tuple(copies)

    def copies(self, tensor: LayerTensor) -> int:
        """How many times a training step quantizes a tensor: 1 where all its readers share codes and scales.

        It counts values. The hardware's K-contiguous layout can still ask for the same codes twice, once
        transposed: `Copy.k_major` says where.
        """
        return len(self.quantized_copies(tensor))


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
