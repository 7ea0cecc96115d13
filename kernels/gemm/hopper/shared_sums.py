"""Split-K in the warp-specialized kernels: programs share a block of D, and each sums a split of K.

Every program writes its part of the sum and counts itself in. The last one adds all parts in the order of
their splits, so D has the same bits each time. simple/general_kernel.py has it in `tl`.
"""

from triton.experimental import gluon
from triton.experimental.gluon import language as gl

from kernels.gemm.hopper import sizes
from kernels.gemm.hopper.gluon_api import barrier
from kernels.gemm.hopper.items import count_blocks

SLAB = gl.constexpr(sizes.SLAB)
CONSUMERS = gl.constexpr(sizes.CONSUMERS)
WARP_ROWS = gl.constexpr(SLAB.value // 4)


@gluon.jit
def in_order_of_threads(value):
    """[columns / 8, rows · 8]: a sum, permuted so that numbers of neighboring threads lie side by side.

    The tensor core gives a thread 2 neighbors of a row, and of the row 8 below, of each 8 columns: far apart
    in D. In this order a warp writes 512 bytes in one piece.
    """
    ROWS: gl.constexpr = value.shape[0]
    GROUPS: gl.constexpr = value.shape[1] // 8
    # [warp, row / 8, row % 8, group of 8 columns, pair, column in it]
    parts = value.reshape([ROWS // WARP_ROWS, 2, 8, GROUPS, 4, 2]).permute([3, 0, 2, 4, 1, 5])
    return parts.reshape([GROUPS, ROWS * 8])


@gluon.jit
def in_order_of_d(value, LAYOUT: gl.constexpr):
    """[rows, columns]: the inverse of `in_order_of_threads`."""
    GROUPS: gl.constexpr = value.shape[0]
    ROWS: gl.constexpr = value.shape[1] // 8
    parts = value.reshape([GROUPS, ROWS // WARP_ROWS, 8, 4, 2, 2]).permute([1, 4, 2, 0, 3, 5])
    # assert_trivial: every number stays in its thread, else the order above were wrong
    return gl.convert_layout(parts.reshape([ROWS, GROUPS * 8]), LAYOUT, assert_trivial=True)


@gluon.jit
def part_pointers(PART: gl.constexpr, parts_ptr, value, split, block, rows, m, n, ring):
    """(pointers to part number PART of a block's split, mask of its numbers that D has).

    All parts of a block have the size of `value`. rows: rows that D has from the part's first one on.
    """
    SIZE: gl.constexpr = value.shape[0] * value.shape[1]
    PARTS: gl.constexpr = ring.BLOCK_M * ring.BLOCK_N // SIZE
    groups = gl.arange(0, value.shape[0], gl.SliceLayout(1, value.type.layout))
    offsets = gl.arange(0, value.shape[1], gl.SliceLayout(0, value.type.layout))
    # int64: the parts of all splits may be more than 2**31 numbers
    which = (gl.cast(split, gl.int64) * count_blocks(m, n, ring) + block) * PARTS + PART
    ptrs = parts_ptr + which * SIZE + gl.expand_dims(groups * value.shape[1], 1)
    inside = offsets // (8 * WARP_ROWS) * WARP_ROWS < rows  # warp by warp: rows beyond D need no traffic
    return ptrs + gl.expand_dims(offsets, 0), gl.expand_dims(inside, 0)


@gluon.jit
def store_part(PART: gl.constexpr, value, parts_ptr, split, block, rows, m, n, ring):
    """Write a part's sum over a split of K, for the program that arrives last."""
    value = in_order_of_threads(value)
    ptrs, inside = part_pointers(PART, parts_ptr, value, split, block, rows, m, n, ring)
    gl.store(ptrs, value, mask=inside)


@gluon.jit
def load_part(PART: gl.constexpr, like, parts_ptr, split, block, rows, m, n, ring):
    ptrs, inside = part_pointers(PART, parts_ptr, like, split, block, rows, m, n, ring)
    # .cg reads from L2: this SM's L1 may hold older bytes
    return gl.load(ptrs, mask=inside, other=0.0, cache_modifier=".cg")


@gluon.jit
def arrive(WG: gl.constexpr, arrivals_ptr, block, ring):
    """Count this warpgroup in. True for the last of the block's splits: all sums are written."""
    count_ptr = arrivals_ptr + block * CONSUMERS + WG
    barrier()  # every thread's numbers are written before one of them says so
    # acq_rel: writes before a count are visible after every later count
    last = gl.atomic_add(count_ptr, 1, sem="acq_rel", scope="gpu") == ring.SPLITS - 1
    barrier()  # no thread reads before the count is known
    if last:
        gl.store(count_ptr, 0)  # ready for the next launch
    return last


@gluon.jit
def plus_two(PART: gl.constexpr, total, parts_ptr, split, block, rows, m, n, ring):
    """A sum of splits and the next two: the latency of one read hides behind the other's."""
    first = load_part(PART, total, parts_ptr, split, block, rows, m, n, ring)
    second = load_part(PART, total, parts_ptr, split + 1, block, rows, m, n, ring)
    return total + first + second


@gluon.jit
def plus_three(PART: gl.constexpr, total, parts_ptr, split, block, rows, m, n, ring):
    first = load_part(PART, total, parts_ptr, split, block, rows, m, n, ring)
    second = load_part(PART, total, parts_ptr, split + 1, block, rows, m, n, ring)
    third = load_part(PART, total, parts_ptr, split + 2, block, rows, m, n, ring)
    return total + first + second + third


@gluon.jit
def plus_four(PART: gl.constexpr, total, parts_ptr, split, block, rows, m, n, ring):
    first = load_part(PART, total, parts_ptr, split, block, rows, m, n, ring)
    second = load_part(PART, total, parts_ptr, split + 1, block, rows, m, n, ring)
    third = load_part(PART, total, parts_ptr, split + 2, block, rows, m, n, ring)
    fourth = load_part(PART, total, parts_ptr, split + 3, block, rows, m, n, ring)
    return total + first + second + third + fourth


@gluon.jit
def sum_of_parts(PART: gl.constexpr, own, parts_ptr, block, rows, m, n, ring):
    """The sum of all splits' parts, first to last, in the shape and layout of `own`.

    This program's own part is read back too: the order of the sum must not depend on who arrives last.
    """
    LAYOUT: gl.constexpr = own.type.layout
    ALONE: gl.constexpr = own.shape[1] > SLAB and not ring.ROOMY  # registers hold one part beside the sum
    FOUR: gl.constexpr = own.shape[1] == SLAB and ring.ROOMY
    total = in_order_of_threads(gl.zeros([own.shape[0], own.shape[1]], gl.float32, LAYOUT))
    if own.shape[1] < SLAB:  # a few numbers a thread: unrolled, all reads can be under way at once
        for pair in gl.static_range(ring.SPLITS // 2):
            total = plus_two(PART, total, parts_ptr, 2 * pair, block, rows, m, n, ring)
    elif FOUR:  # registers hold five parts; nobody needs `own` any more
        for four in range(ring.SPLITS // 4):
            total = plus_four(PART, total, parts_ptr, 4 * four, block, rows, m, n, ring)
        if ring.SPLITS % 4 == 3:
            total = plus_three(PART, total, parts_ptr, ring.SPLITS // 4 * 4, block, rows, m, n, ring)
        elif ring.SPLITS % 4 == 2:
            total = plus_two(PART, total, parts_ptr, ring.SPLITS // 4 * 4, block, rows, m, n, ring)
    elif ALONE:
        for split in range(ring.SPLITS):
            total += load_part(PART, total, parts_ptr, split, block, rows, m, n, ring)
    else:
        for pair in range(ring.SPLITS // 2):
            total = plus_two(PART, total, parts_ptr, 2 * pair, block, rows, m, n, ring)
    if ring.SPLITS % 2 and not (ALONE or (FOUR and ring.SPLITS % 4 == 3)):
        total += load_part(PART, total, parts_ptr, ring.SPLITS - 1, block, rows, m, n, ring)
    return in_order_of_d(total, LAYOUT)
