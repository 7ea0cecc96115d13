"""Launch decisions of the kernel that writes two layouts of one read. Pure; no torch, no GPU."""

from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

from fp8core.recipes import OperandSpec
from fp8core.tiles import WHOLE
from kernels.device import DeviceKind
from kernels.quantize.constants import history_extent, operand_facts
from kernels.quantize.facts import element_facts
from kernels.quantize.meeting import gathered, meeting_block
from kernels.quantize.plan import (
    HELD,
    K_PADDING,
    SIDE_BY_SIDE,
    THREADS,
    QuantizePlan,
    least_block,
    patch_of,
    plan_within,
)

_KEPT = 4096
_EACH = 64
"""Elements of a thread."""
_USUAL = 64, 128
_LONGEST = 256
"""A block that is longer is too narrow: what it writes along its short dim are a few bytes in a row."""


@dataclass(frozen=True, kw_only=True)
class BothPlan:
    """A block of x [rows, columns], and how each operand cuts it into parts.

    - each: rows of the block that a thread has as neighbors.
    - in_runs: the first operand takes rows in the order in which they are loaded.
    - shared: both ask for the same amax of the whole tensor.
    """

    block_rows: int
    block_columns: int
    along: QuantizePlan
    down: QuantizePlan
    shared: bool = False

    @property
    def warps(self) -> int:
        return max(4, self.block_rows * self.block_columns // (THREADS * _EACH))

    @property
    def each(self) -> int:
        own = self.block_rows * self.block_columns // (THREADS * self.warps * SIDE_BY_SIDE)
        return min(max(own, 1), self.block_rows)

    @property
    def in_runs(self) -> bool:
        saved = () if self.along.saved is None else (self.along.saved[0],)
        return all(part in (1, self.block_rows) for part in (self.along.part_mn, *saved))


@lru_cache(maxsize=_KEPT)
def plan_both(
    along: OperandSpec, down: OperandSpec, rows: int, columns: int, *, programs: int = 0
) -> BothPlan | None:
    """The block for both operands of x [rows, columns]; None where each needs a launch of its own.

    That is so where a saved copy does not fit a block, and where more is done for a number than to cast it.
    programs: those that run at once. Where they can hold the tensor, they find its amax together.
    """
    if not all(_is_light(spec) for spec in (along, down)):
        return None
    for fused in ((True, True), (True, False), (False, True), (False, False)):
        first = least_block(along, rows, columns, fused=fused[0])
        second = least_block(down, columns, rows, fused=fused[1])
        if first is None or second is None:
            continue
        least = max(first[0], second[1]), max(first[1], second[0])
        if least[0] * least[1] <= HELD and max(least) <= _LONGEST:
            break
    else:
        return None
    tiles = [spec.scale_rule.history or not each for spec, each in zip((along, down), fused, strict=True)]
    if any(
        lines and WHOLE in (spec.tile.mn, spec.tile.k) and spec.tile.mn != spec.tile.k
        for spec, lines in zip((along, down), tiles, strict=True)
    ):
        # Rows and columns would each be read for an amax before.
        return None
    block_rows, block_columns = (max(pair) for pair in zip(least, _USUAL, strict=True))
    while block_rows * block_columns > HELD:
        if block_rows > least[0]:
            block_rows //= 2
        else:
            block_columns //= 2
    asked = [gathered(spec, fused=each) for spec, each in zip((along, down), fused, strict=True)]
    meets, shared = False, asked[0] is not None and asked[0] == asked[1]
    if shared:
        padded = -(-rows // K_PADDING) * K_PADDING
        met = meeting_block((block_rows, block_columns), (padded, columns), least[0], programs)
        meets, (block_rows, block_columns) = met is not None, met or (block_rows, block_columns)
    plans = (
        plan_within(along, rows, columns, (block_rows, block_columns), fused=fused[0]),
        plan_within(down, columns, rows, (block_columns, block_rows), fused=fused[1]),
    )
    return BothPlan(
        block_rows=block_rows,
        block_columns=block_columns,
        along=replace(plans[0], meets=meets),
        down=replace(plans[1], meets=meets),
        shared=shared,
    )


def _is_light(spec: OperandSpec) -> bool:
    """Codes take few steps: else two reads are faster than a block whose numbers wait in registers."""
    heavy = spec.rotation is not None or spec.is_random or len(spec.scale_rule.search) > 1
    way = element_facts(spec.format, spec.rounding, DeviceKind.GPU).encode_by
    return not heavy and way in ("cast", "few binades")


def both_grid(plan: BothPlan, rows: int, columns: int) -> tuple[int, int]:
    """Blocks along the columns and along the rows: codes are padded along both."""
    padded = [-(-size // K_PADDING) * K_PADDING for size in (columns, rows)]
    return -(-padded[0] // plan.block_columns), -(-padded[1] // plan.block_rows)


def both_constants(along: OperandSpec, down: OperandSpec, plan: BothPlan, kind: DeviceKind) -> dict[str, Any]:
    """The constexpr arguments of both_kernel."""
    return {
        "ALONG": operand_facts(along, plan.along, kind),
        "DOWN": operand_facts(down, plan.down, kind),
        "BLOCK_ROWS": plan.block_rows,
        "BLOCK_COLUMNS": plan.block_columns,
        "EACH": plan.each,
        "ACROSS": patch_of(plan.block_columns),
        "IN_RUNS": plan.in_runs,
        "SHARED": plan.shared,
        "MEETS": plan.along.meets,
        "HISTORY": history_extent(along),
        "CAST": kind is DeviceKind.GPU,
    }
