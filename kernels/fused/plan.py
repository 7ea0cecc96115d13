"""Launch decisions of the fused kernels: what one launch writes, blocks and warps. Pure; no torch."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

from fp8core.recipes import Operand, OperandSpec
from fp8core.rounding import Rounding
from fp8core.tiles import WHOLE, TileShape
from kernels.quantize.meeting import gathered
from kernels.quantize.plan import (
    HELD,
    K_PADDING,
    SIDE_BY_SIDE,
    THREADS,
    QuantizePlan,
    least_block,
    plan_within,
)


@dataclass(frozen=True, kw_only=True)
class _Usual:
    """A block, elements of a thread, and the fewest warps of a program, as they were fastest on an H200."""

    rows: int
    columns: int
    each: int
    warps: int = 4


_ALONG = _Usual(rows=32, columns=128, each=32)
_ALONG_OF_HALVES = _Usual(rows=8, columns=256, each=16)
"""Codes lie along rows alone. A program that computes both halves has as many numbers of each."""
_DOWN = _Usual(rows=128, columns=64, each=64)
"""Codes lie down columns, too: what is done for each tile of a thread is done for many elements."""
_DOWN_OF_HALVES = _Usual(rows=128, columns=32, each=32)
"""A program computes both halves. Where tiles ask for a larger block, it computes one of them."""
_ROWS = _Usual(rows=1, columns=64, each=64, warps=2)
"""A block has whole rows: few warps meet at its barriers."""
_ROWS_OF_BYTES = replace(_ROWS, warps=4)
"""Twice as many rows: scales of neighboring rows are neighbors, and a byte by itself is a sector written."""
_EACH_OF_HEAVY = 32
"""Elements of a thread at most, where encoding takes many registers for each."""
_TENSOR = TileShape(WHOLE, WHOLE)
_KEPT = 4096


@dataclass(frozen=True, kw_only=True)
class FusedPlan:
    """A block of the result, as it is stored, and how each operand cuts it into parts.

    - along, down: the operand whose K runs along the rows, or down the columns; None where there is none.
    - each: neighboring rows of a thread; 0 where it does not matter.
    - in_runs: `along` takes rows in the order in which they are loaded.
    - shared: both operands ask for the same amax of the whole result.
    - split: a program has a block of one half of the result, not of both.
    """

    block_rows: int
    block_columns: int
    warps: int
    each: int = 0
    in_runs: bool = True
    shared: bool = False
    split: bool = False
    along: QuantizePlan | None = None
    down: QuantizePlan | None = None

    @property
    def constants(self) -> dict[str, int]:
        """Constexpr arguments of the fused kernel."""
        return {
            "BLOCK_ROWS": self.block_rows,
            "BLOCK_COLUMNS": self.block_columns,
            "EACH": self.each,
            "IN_RUNS": self.in_runs,
            "SHARED": self.shared,
            "SPLIT": self.split,
        }

    def blocks(self, rows: int, columns: int) -> tuple[int, int]:
        """Blocks along the columns and the rows: neighbors in a row run one after the other.

        Codes are padded along K.
        """
        across, high = columns, rows
        if self.along is not None:
            across = -(-columns // K_PADDING) * K_PADDING
        if self.down is not None:
            high = -(-rows // K_PADDING) * K_PADDING
        return -(-across // self.block_columns), -(-high // self.block_rows)


def sides_of(operands: Sequence[Operand | None]) -> tuple[int | None, int | None] | None:
    """The numbers of the operands along the rows and down the columns; None where there are two of a kind."""
    along = [number for number, each in enumerate(operands) if each is not None and not each.k_is_rows]
    down = [number for number, each in enumerate(operands) if each is not None and each.k_is_rows]
    if max(len(along), len(down)) > 1:
        return None
    return along[0] if along else None, down[0] if down else None


def fuses(operands: Sequence[Operand | None], rows: int, columns: int, halves: int) -> bool:
    """True where one launch gives all copies of a result [rows, halves · columns]."""
    sides = sides_of(operands)
    if sides is None:
        return False
    along, down = (None if number is None else operands[number].spec for number in sides)
    return plan_fused(along, down, rows, columns, halves=halves) is not None


def keeps(operands: Sequence[Operand | None], plan: FusedPlan, reads: float) -> bool:
    """True where the result is computed once, kept in bf16 and read again, as its amax is to be known before.

    The other way is to compute it twice. `reads`, numbers that are read for each one of the result, are then
    read twice; a result that is kept is written and read. With as many bytes, to compute once is faster. A
    delayed scale waits for no pass over the result.
    """
    cuts = [(each.spec.scale_rule, plan.down if each.k_is_rows else plan.along) for each in operands if each]
    waits = any((rule.has_fitted_outer or not cut.fused) and not rule.history for rule, cut in cuts if cut)
    moves = 1 if None in operands else 2
    return waits and reads >= moves and not any(rule.history for rule, _ in cuts)


@lru_cache(maxsize=_KEPT)
def plan_fused(
    along: OperandSpec | None,
    down: OperandSpec | None,
    rows: int,
    columns: int,
    *,
    halves: int = 1,
    whole_rows: bool = False,
) -> FusedPlan | None:
    """The blocks of one launch for a result [rows, halves · columns]; None where there is no such launch.

    - halves: a block lies in each half, at the same place, so that a half is a whole number of blocks and
      needs no padding.
    - whole_rows: a block has whole rows, and codes lie along them.

    Tiles fit a block, or are the whole tensor, whose amax comes from a pass before. A scale is not searched.
    """
    least = _least(along, down, rows, columns * halves)
    if least is None:
        return None
    usual = (_DOWN if down else _ALONG) if halves == 1 else (_DOWN_OF_HALVES if down else _ALONG_OF_HALVES)
    if whole_rows:
        if down is not None:
            return None
        in_bytes = along is not None and _is_light(along) and along.scale_rule.format.bits == 8
        rows_of = _ROWS_OF_BYTES if in_bytes else _ROWS
        width = max(least[1], rows_of.columns, 1 << (columns - 1).bit_length())
        held = THREADS * rows_of.warps * rows_of.each
        usual, least = replace(rows_of, rows=max(1, held // width)), (least[0], width)
    block = max(least[0], usual.rows), max(least[1], usual.columns)
    while block[0] * block[1] > HELD and block[0] > least[0]:
        block = block[0] // 2, block[1]
    # Codes are padded along K behind the last half alone.
    crosses = halves > 1 and columns % max(block[1], K_PADDING) and (along or down)
    room = HELD if along or down else 2 * HELD
    if block[0] * block[1] > room or crosses:
        return None
    return _cut(along, down, (rows, columns * halves), block, usual)


def _least(
    along: OperandSpec | None, down: OperandSpec | None, rows: int, columns: int
) -> tuple[int, int] | None:
    """(rows, columns) of the smallest block for both operands; None where there is none."""
    least_rows, least_columns = 1, 1
    for spec, size, step in ((along, (rows, columns), 1), (down, (columns, rows), -1)):
        if spec is None:
            continue
        block = least_block(spec, *size, fused=spec.tile != _TENSOR, kept=spec.saved_as is not None)
        if block is None or not _is_taken(spec):
            return None
        own = block[::step]
        least_rows, least_columns = max(least_rows, own[0]), max(least_columns, own[1])
    return least_rows, least_columns


def _cut(
    along: OperandSpec | None,
    down: OperandSpec | None,
    size: tuple[int, int],
    block: tuple[int, int],
    usual: _Usual,
) -> FusedPlan:
    """The plan of a block (rows, columns) of a result of `size`."""
    elements = block[0] * block[1]
    split = usual is _DOWN_OF_HALVES and elements > usual.rows * usual.columns
    usual = _DOWN if split else usual
    light = all(spec is None or _is_light(spec) for spec in (along, down))
    each = usual.each if light else min(usual.each, _EACH_OF_HEAVY)
    warps = max(usual.warps, elements // (THREADS * each))
    plans = [
        spec and plan_within(spec, *mn_k, own, fused=spec.tile != _TENSOR)
        for spec, mn_k, own in ((along, size, block), (down, size[::-1], block[::-1]))
    ]
    asked = [spec and gathered(spec, fused=cut.fused) for spec, cut in zip((along, down), plans, strict=True)]
    return FusedPlan(
        block_rows=block[0],
        block_columns=block[1],
        warps=warps,
        each=0 if down is None else min(max(1, elements // (THREADS * warps * SIDE_BY_SIDE)), block[0]),
        in_runs=plans[0] is None or _in_runs(plans[0], block[0]),
        shared=asked[0] is not None and asked[0] == asked[1],
        split=split,
        along=plans[0],
        down=plans[1],
    )


def _is_taken(spec: OperandSpec) -> bool:
    """Its scales need a block's own numbers, and at most the amax of the whole result as it is.

    No rotation: its sums would go from thread to thread. To keep the result in bf16 and to rotate what is
    read of it is faster.
    """
    rule = spec.scale_rule
    outer = rule.outer if rule.has_fitted_outer else None
    whole = spec.tile == _TENSOR or (outer is not None and outer.tile == _TENSOR)
    one_scale = len(rule.search) == 1 and (outer is None or outer.tile == _TENSOR)
    return spec.rotation is None and one_scale and (spec.saved_as is None or not whole)


def _is_light(spec: OperandSpec) -> bool:
    """The hardware's cast is all that a number needs once it is scaled."""
    plain = spec.rotation is None and spec.saved_as is None and spec.rounding is Rounding.NEAREST_EVEN
    return plain and spec.format.name in ("e4m3", "e5m2")


def _in_runs(plan: QuantizePlan, block_rows: int) -> bool:
    """Each part spans one row, or all, so that the order of rows does not matter."""
    saved = () if plan.saved is None else (plan.saved[0],)
    return all(part in (1, block_rows) for part in (plan.part_mn, *saved))
