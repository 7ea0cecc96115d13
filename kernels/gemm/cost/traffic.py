"""Traffic of a GEMM with memory: how often the L2 must fetch A and B again. Pure; no torch.

Programs that run at once go through D in groups (Blocks.group). A group's own rows of one operand stay in
the L2 while the group sweeps over all of the other operand, which each group reads anew unless the L2 holds
all of it.
"""

from dataclasses import dataclass

from fp8core.linear import Side
from kernels.gemm.blocks import Blocks
from kernels.gemm.cost.facts import Facts

_SCALES = 0.03
"""Bytes of scales beside a byte of codes."""
_KEPT = 0.5
"""Part of the L2 up to which all stays in it that is read again. A judgment: the rest turns over."""


@dataclass(frozen=True, slots=True)
class Factors:
    """Bytes of all of A and of B, and of a block's rows of them; blocks across a group and along it.

    by_columns: a group has block columns of D, not block rows. columns: blocks in a row of D.
    """

    a_bytes: float
    b_bytes: float
    a_panel: float
    b_panel: float
    across: int
    along: int
    by_columns: bool
    columns: int
    n: int

    @classmethod
    def of(cls, facts: Facts, blocks: Blocks, mnk: tuple[int, int, int]) -> "Factors":
        m, n, k = mnk
        a_row, b_row = (_row_bytes(facts, blocks, side, k) for side in Side)
        rows, columns = -(-m // blocks.block_m), -(-n // blocks.block_n)
        by_columns = blocks.transposed or (not blocks.body.is_simple and blocks.block_m > blocks.block_n)
        return cls(
            a_bytes=m * a_row,
            b_bytes=n * b_row,
            a_panel=min(m, blocks.block_m) * a_row,
            b_panel=min(n, blocks.block_n) * b_row,
            across=columns if by_columns else rows,
            along=rows if by_columns else columns,
            by_columns=by_columns,
            columns=columns,
            n=n,
        )


def _row_bytes(facts: Facts, blocks: Blocks, side: Side, k: int) -> float:
    """Bytes of one row of an operand as the kernel reads it."""
    size = k * facts.bits(side, blocks) / 8
    return size * (1 + _SCALES) if blocks.decodes(side) else size


def dram_bytes(factors: Factors, blocks: Blocks, at_once: int, l2_bytes: int) -> float:
    """Bytes of A and B that come from memory, where so many blocks of D are computed at once."""
    group = min(blocks.group, factors.across)
    groups = -(-factors.across // group)
    width = min(factors.along, max(1, -(-at_once // group)))
    waves = -(-factors.along // width)
    own, own_panel, other, other_panel = (
        (factors.b_bytes, factors.b_panel, factors.a_bytes, factors.a_panel)
        if factors.by_columns
        else (factors.a_bytes, factors.a_panel, factors.b_bytes, factors.b_panel)
    )
    held = group * own_panel
    again = 1 + (waves - 1) * _missed(held + width * other_panel, l2_bytes)
    swept = 1 + (groups - 1) * _missed(held + other, l2_bytes)
    return own * again + other * swept


def out_of_step_bytes(factors: Factors, blocks: float, l2_bytes: int) -> float:
    """Bytes of A and B that so many blocks read for themselves: their programs are not in step with others,
    and find of an operand what the L2 holds of it.
    """
    a = factors.a_panel * _missed(factors.a_bytes, l2_bytes)
    return blocks * (a + factors.b_panel * _missed(factors.b_bytes, l2_bytes))


def written_run_bytes(factors: Factors, blocks: Blocks, at_once: int, row_bytes: int) -> float:
    """Bytes of a row of D that programs write at about one time: short ones come in many pages of memory."""
    group = min(blocks.group, factors.across)
    beside = group if factors.by_columns else max(1, at_once // group)
    return min(row_bytes, min(beside, factors.columns) * blocks.block_n * row_bytes / factors.n)


def _missed(wanted_bytes: float, l2_bytes: int) -> float:
    """Part of what is read again that the L2 no longer has."""
    if not l2_bytes:
        return 1.0
    return min(1.0, max(0.0, (wanted_bytes / l2_bytes - _KEPT) / (1.0 - _KEPT) / 2))
