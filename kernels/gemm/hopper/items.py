"""Work items: the order in which programs take blocks of D, and the steps of K of each (split-K).

`ring` stands for the Ring of either kernel.
"""

from triton.experimental import gluon
from triton.experimental.gluon import language as gl


@gluon.jit
def start_of(program, m, n, ring):
    """(first row, first column) of a program's block of D.

    Programs go through groups of GROUP block rows, so that those at once load the same blocks and the L2
    reads each once; of GROUP block columns if a block is higher than wide, which loads more of A than of B.

    For a row beyond A or B, TMA takes three times as long as for one inside. So with WITHIN_M or WITHIN_N, a
    block that would end beyond D begins earlier. Some of D's numbers are then written twice, with the same
    bits.
    """
    rows = (m + ring.BLOCK_M - 1) // ring.BLOCK_M
    columns = (n + ring.BLOCK_N - 1) // ring.BLOCK_N
    across, along = rows, columns
    if ring.BLOCK_M > ring.BLOCK_N:
        across, along = columns, rows
    in_group = ring.GROUP * along
    first = program // in_group * ring.GROUP
    width = min(across - first, ring.GROUP)  # the last group may be narrower
    block_across = first + program % in_group % width
    block_along = program % in_group // width
    row, column = block_across * ring.BLOCK_M, block_along * ring.BLOCK_N
    if ring.BLOCK_M > ring.BLOCK_N:
        row, column = block_along * ring.BLOCK_M, block_across * ring.BLOCK_N
    # TMA loads scales from multiples of 16 bytes. A scale may be one byte (decoding/): 16 rows then.
    if ring.WITHIN_M:
        row = min(row, max((m - ring.BLOCK_M + 15) // 16 * 16, 0))
    if ring.WITHIN_N:
        column = min(column, max((n - ring.BLOCK_N + 15) // 16 * 16, 0))
    return row, column


@gluon.jit
def count_blocks(m, n, ring):
    return ((m + ring.BLOCK_M - 1) // ring.BLOCK_M) * ((n + ring.BLOCK_N - 1) // ring.BLOCK_N)


@gluon.jit
def count_items(m, n, OWN_SPLITS: gl.constexpr, ring):
    """Items of work: every block of D, once for each program that shares it."""
    return count_blocks(m, n, ring) * (ring.SPLITS // OWN_SPLITS)


@gluon.jit
def count_steps(k, ring):
    """Steps of BLOCK_K along K. Beyond K, TMA fills the last step with zeros, which add nothing."""
    return (k + ring.BLOCK_K - 1) // ring.BLOCK_K


@gluon.jit
def share_of(item, m, n, steps, OWN_SPLITS: gl.constexpr, ring):
    """(block of D, first split of K, first step, the step after the last) of a work item.

    An item is a whole block; with split-K, OWN_SPLITS of the SPLITS of K. Neighbors load the same A: they get
    the same split of different blocks.
    """
    block, split, first, stop = item, 0, 0, steps
    if ring.SPLITS > OWN_SPLITS:
        blocks = count_blocks(m, n, ring)
        length = (steps + ring.SPLITS - 1) // ring.SPLITS * OWN_SPLITS
        share = item // blocks
        block = item % blocks
        split, first = share * OWN_SPLITS, share * length
        stop = min(first + length, steps)  # the last split may be shorter
    return block, split, first, stop
