"""Families of GEMMs: those for which a table of plans has blocks together. Pure; no torch, no GPU."""

from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING

from fp8core.recipes import OperandSpec
from fp8core.tiles import WHOLE, Extent, TileShape
from kernels.gemm.arithmetic import FP8_FORMATS, Arithmetic, ScaleAt

if TYPE_CHECKING:
    from kernels.gemm.numerics import Numerics


class Geometry(Enum):
    """Geometry of a tile on an operand [mn, K]: the rows that it has, and all of K or a part."""

    TENSOR = "tensor"
    ROW = "row"
    BAND = "band"
    LINE = "line"
    SQUARE = "square"
    COLUMN = "column"
    UNSCALED = "bf16"

    @classmethod
    def of(cls, tile: TileShape) -> "Geometry":
        """Geometry of a tile, by the rows that it has and by its part of K.

        | rows | all of K | a part of K |
        |---|---|---|
        | one | ROW | LINE |
        | several | BAND | SQUARE |
        | all | TENSOR | COLUMN |

        UNSCALED is for an operand that stays bf16 and has no tiles.
        """
        over_k = tile.k is WHOLE
        if tile.mn is WHOLE:
            return cls.TENSOR if over_k else cls.COLUMN
        if tile.mn == 1:
            return cls.ROW if over_k else cls.LINE
        return cls.BAND if over_k else cls.SQUARE


@dataclass(frozen=True, kw_only=True)
class Read:
    """An operand as a kernel reads it: geometry of tiles, format of codes, one or two levels of scales.

    The FP8 formats count as one.
    """

    geometry: Geometry
    codes: str
    levels: int

    @classmethod
    def of(cls, operand: OperandSpec | None) -> "Read":
        if operand is None:
            return cls(geometry=Geometry.UNSCALED, codes="", levels=0)
        levels = 1 if operand.scale_rule.outer is None else 2
        codes = "" if operand.format in FP8_FORMATS else operand.format.name
        return cls(geometry=Geometry.of(operand.tile), codes=codes, levels=levels)

    def __str__(self) -> str:
        """FP8 codes and one level of scales go without saying."""
        codes = f"/{self.codes}" if self.codes else ""
        return f"{self.geometry.value}{codes}{'/2level' if self.levels > 1 else ''}"


@dataclass(frozen=True, kw_only=True)
class Family:
    """The key of a table of plans, beside the shape. `promotion` as in Numerics; `out` names a format."""

    arithmetic: Arithmetic
    scale_at: ScaleAt
    promotion: Extent
    out: str
    a: Read
    b: Read

    @classmethod
    def of(cls, numerics: "Numerics") -> "Family":
        return cls(
            arithmetic=numerics.arithmetic,
            scale_at=numerics.scale_at,
            promotion=numerics.promotion,
            out=numerics.spec.out.name,
            a=Read.of(numerics.spec.a),
            b=Read.of(numerics.spec.b),
        )

    def __str__(self) -> str:
        sums = "fast" if self.promotion is WHOLE else f"promoted-{self.promotion}"
        arithmetic, scale_at = self.arithmetic.name.lower(), self.scale_at.name.lower()
        return f"{arithmetic} {scale_at} {sums} {self.out} {self.a}·{self.b}"
