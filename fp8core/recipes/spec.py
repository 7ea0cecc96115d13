"""Specs of operands (format, tile, scale rule, rounding, rotation) and of a matmul's sum."""

from dataclasses import dataclass

from fp8core.accumulators import Accumulator
from fp8core.checks import instance
from fp8core.formats import Format
from fp8core.linear import Side
from fp8core.rotations import Rotation, RotationKind
from fp8core.rounding import Rounding
from fp8core.scales import ScaleRule
from fp8core.tiles import WHOLE, Extent, TileShape


@dataclass(frozen=True, kw_only=True)
class OperandSpec:
    """Quantization of one operand.

    tile: elements that share a scale, in the matmul's dims (free dim, contracted dim). rotation: Hadamard
    transform of runs along K, equal in both operands, so it cancels; rotated numbers are rounded to bf16.
    saved_as: the saved form of the tensor, whose values are quantized here, with its tile in this matmul's
    dims.

    Raises ValueError for a field of another type, a rotation that is no Hadamard transform, and a delayed
    scale of a part of a tensor. It also refuses tiles that cross an outer tile's edge, and a saved form that
    is itself saved, rotated or random.
    """

    format: Format
    tile: TileShape
    scale_rule: ScaleRule
    rounding: Rounding = Rounding.NEAREST_EVEN
    rotation: Rotation | None = None
    saved_as: "OperandSpec | None" = None

    def __post_init__(self) -> None:
        instance("format", self.format, Format)
        instance("tile", self.tile, TileShape)
        instance("scale_rule", self.scale_rule, ScaleRule)
        instance("rounding", self.rounding, Rounding)
        if self.rotation is not None:
            kind = instance("rotation", self.rotation, Rotation).kind
            if kind is RotationKind.ORTHOGONAL:
                raise ValueError(f"an operand is rotated by a Hadamard transform, got a {kind.value} matrix")
        if self.scale_rule.history and self.tile != TileShape(WHOLE, WHOLE):
            raise ValueError(f"a delayed scale is that of a whole tensor, got tiles of {self.tile}")
        outer = self.scale_rule.outer and self.scale_rule.outer.tile
        for large, small in ((outer.mn, self.tile.mn), (outer.k, self.tile.k)) if outer else ():
            if large is not WHOLE and (small is WHOLE or large % small):
                raise ValueError(
                    f"tiles of the inner level fill those of the outer one, got {self.tile} in {outer}"
                )
        if self.saved_as is not None:
            saved = instance("saved_as", self.saved_as, OperandSpec)
            if saved.saved_as or saved.rotation or saved.is_random or saved.scale_rule.history:
                raise ValueError(
                    "a copy is saved with a scale of its own amax, rounded to nearest, not rotated and not "
                    "out of another saved copy"
                )

    @property
    def is_random(self) -> bool:
        return self.rounding is Rounding.STOCHASTIC


@dataclass(frozen=True, kw_only=True)
class MatmulSpec:
    """One matmul: two operands (None stays bf16), the tensor core's accumulator, the format of D.

    Raises ValueError if the operands' rotations differ.
    """

    a: OperandSpec | None
    b: OperandSpec | None
    accumulator: Accumulator
    out: Format

    def __post_init__(self) -> None:
        for side, operand in (("A", self.a), ("B", self.b)):
            if operand is not None:
                instance(f"operand {side}", operand, OperandSpec)
        a, b = (operand and operand.rotation for operand in (self.a, self.b))
        if a != b:
            raise ValueError(
                f"a rotation cancels where both operands have it, got {_rotation(a)} on A and {_rotation(b)} "
                "on B"
            )

    def operand(self, side: Side) -> OperandSpec | None:
        return self.a if instance("a side", side, Side) is Side.A else self.b

    @property
    def quantized(self) -> tuple[OperandSpec, ...]:
        return tuple(operand for operand in (self.a, self.b) if operand is not None)

    @property
    def extents_along_k(self) -> tuple[int, ...]:
        """Extents along K of tiles that do not span it, A's first."""
        extents = (operand.tile.k for operand in self.quantized)
        return tuple(extent for extent in extents if extent is not WHOLE)

    def extent(self, side: Side) -> Extent:
        """Extent along K of an operand's constant scale; WHOLE without one."""
        operand = self.operand(side)
        return WHOLE if operand is None else operand.tile.k


def _rotation(rotation: Rotation | None) -> str:
    return "none" if rotation is None else f"{rotation.kind.value} of {rotation.size}"
