"""A plan as JSON data, for a measurement's row. Pure; no torch, no GPU."""

from dataclasses import dataclass

from fp8core.tiles import WHOLE, Extent
from kernels.gemm.blocks import Blocks, Variant
from kernels.gemm.numerics import PROMOTED_WORDS, REFOLDED_WORDS, Arithmetic, ScaleAt


@dataclass(frozen=True, kw_only=True)
class PlanRecord:
    """The plan that a kernel ran by. The recipe of the measured job has the formats and tiles.

    `refolded`: a pass refolded the operands first; `promotion` as in Numerics.
    """

    arithmetic: Arithmetic
    scale_at: ScaleAt
    promotion: Extent
    refolded: bool
    blocks: Blocks

    @property
    def variant(self) -> Variant:
        return self.blocks.variant

    @property
    def title(self) -> str:
        """The plan in words, for a result's row."""
        promoted = "" if self.promotion is WHOLE else f", {PROMOTED_WORDS} {self.promotion}"
        refolded = f"{REFOLDED_WORDS}, " if self.refolded else ""
        return f"{refolded}{self.arithmetic.value}, {self.scale_at.value}{promoted}; {self.blocks.title}"
