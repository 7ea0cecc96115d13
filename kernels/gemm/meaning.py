"""What a GEMM computes, as far as its speed depends on it: matmuls of one family share their blocks. Pure."""

from dataclasses import dataclass
from enum import Enum

from fp8core.recipes import MatmulSpec
from fp8core.tiles import WHOLE, Extent, TileShape


class Arithmetic(Enum):
    """What is multiplied, and by which unit."""

    FP8 = "fp8 tensor core"
    DEQUANTIZED = "dequantized to bf16, bf16 tensor core"
    NATIVE_MX = "scaled tensor core"


class ScaleAt(Enum):
    """Where the scales come in."""

    EPILOGUE = "scales in the epilogue"
    K_LOOP = "scales in the K loop"
    OPERANDS = "scales on the operands"


PROMOTED_WORDS = "promoted every"
"""What a plan's title says of a sum that leaves the tensor core along K, before the number of products."""

REFOLDED_WORDS = "refolded, not bit-exact"
"""What a plan's title and a result's row say of operands that are refolded before they are multiplied."""


class Summation(Enum):
    """How sums along K are asked for. REFOLDED: for MXFP8 on a GPU without block-scaled MMA, 1x32
    scales are first folded into one for 1x128 of A and for 128x128 of B (fp8core.refold); not bit-exact.
    """

    RECIPE = "recipe"
    FAST = "fast"
    PROMOTED = "promoted"
    REFOLDED = "refolded"

    @property
    def words(self) -> str:
        """The value, as a result's row says it."""
        return REFOLDED_WORDS if self is Summation.REFOLDED else self.value


class Geometry(Enum):
    """How a tile lies on an operand [mn, K]: over how many rows, and whether over all of K."""

    TENSOR = "tensor"
    ROW = "row"
    BAND = "band"
    LINE = "line"
    SQUARE = "square"
    COLUMN = "column"

    @classmethod
    def of(cls, tile: TileShape) -> "Geometry":
        """TENSOR: the whole; ROW, BAND: one, several rows over all of K; LINE, SQUARE, COLUMN: one, several,
        all rows over a part of K.
        """
        over_k = tile.k is WHOLE
        if tile.mn is WHOLE:
            return cls.TENSOR if over_k else cls.COLUMN
        if tile.mn == 1:
            return cls.ROW if over_k else cls.LINE
        return cls.BAND if over_k else cls.SQUARE


@dataclass(frozen=True, kw_only=True)
class Family:
    """The key of a table of plans, beside the shape. `promotion` as in GemmPlan; out: a format's name."""

    kernel: Arithmetic
    scale_at: ScaleAt
    promotion: Extent
    out: str
    a: Geometry
    b: Geometry

    @classmethod
    def of(cls, spec: MatmulSpec, kernel: Arithmetic, scale_at: ScaleAt, promotion: Extent) -> "Family":
        return cls(
            kernel=kernel,
            scale_at=scale_at,
            promotion=promotion,
            out=spec.out.name,
            a=Geometry.of(spec.a.tile),
            b=Geometry.of(spec.b.tile),
        )

    def __str__(self) -> str:
        sums = "fast" if self.promotion is WHOLE else f"promoted-{self.promotion}"
        kernel, scale_at = self.kernel.name.lower(), self.scale_at.name.lower()
        return f"{kernel} {scale_at} {sums} {self.out} {self.a.value}·{self.b.value}"
