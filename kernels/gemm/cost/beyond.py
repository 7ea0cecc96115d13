"""Rows beyond A and B that TMA fills with zeros, in the last blocks of D. Pure; no torch.

It takes several times as long for one of them as for a row that is there. Most warp-specialized blocks lie
within D where D is larger than one of them (kernels.gemm.hopper.items.block_of).
"""

from fp8core.linear import Side
from kernels.gemm.blocks import Blocks, Body
from kernels.gemm.bodies import BODIES
from kernels.gemm.cost.facts import Facts
from kernels.gemm.hopper.sizes import BLOCK_K_BYTES, TMA_BYTES
from kernels.gemm.meaning import Meaning, ScaleAt


def zero_rows(meaning: Meaning, facts: Facts, blocks: Blocks, mnk: tuple[int, int, int]) -> int:
    """Lines of 128 zeros that TMA makes in a step of the slowest warp-specialized block."""
    if blocks.body.is_simple:
        return 0
    within = within_d(meaning, blocks)
    found = 0
    for side, size, mn, stays in zip(Side, (blocks.block_m, blocks.block_n), mnk[:2], within, strict=True):
        line_bytes = blocks.block_k * facts.bits(side, blocks) / 8
        high = _loaded_rows(meaning, blocks, mn) if side is Side.A else size
        found += _beyond(high if mn < size else size, mn, stays) * max(1, round(line_bytes / BLOCK_K_BYTES))
    return found


def within_d(meaning: Meaning, blocks: Blocks) -> tuple[bool, bool]:
    """(whether no block but one ends beyond D's rows, the same of its columns)."""
    if blocks.shares_last:
        return False, False
    b_tile = meaning.applied(Side.B)
    squares = meaning.scale_at is ScaleAt.K_LOOP and b_tile is not None and b_tile.mn != 1
    return True, blocks.body is Body.DECODING or not squares


def _beyond(size: int, mn: int, stays: bool) -> int:
    """Rows of the last block that its operand does not have."""
    if not stays or mn <= size:
        return -mn % size
    return -(mn - size) % TMA_BYTES


def _loaded_rows(meaning: Meaning, blocks: Blocks, m: int) -> int:
    """Rows of A in a load where M has fewer than a block."""
    storage_of = BODIES[blocks.body].storage
    return blocks.block_m if storage_of is None else storage_of(meaning, blocks).loaded(m)[0]
