"""The variant for small M: a warpgroup has 64 rows of a block of 128, or half the columns of one of 64.

kernels.gemm.hopper.kernel has the table of roles. With few rows, reading B takes longest, so one partial sum
at a time suffices; with CHAINS the tensor core keeps the sum. A D of few blocks gets split-K
(shared_sums.py): one split a program, or several, so that all SMs end together.
"""

from triton.experimental import gluon
from triton.experimental.gluon import language as gl
from triton.experimental.gluon.language.nvidia.hopper import mbarrier, tma, warpgroup_mma, warpgroup_mma_wait

from kernels.gemm.hopper.gluon_api import reinterpret
from kernels.gemm.hopper.items import count_items, count_steps, share_of, start_of
from kernels.gemm.hopper.promoted import SLAB, promote, single_scale
from kernels.gemm.hopper.ring import (
    CONSUMERS,
    SQUARE,
    advance,
    apply_scales,
    fetch,
    free_scales,
    previous,
    release,
    release_last,
    store,
)
from kernels.gemm.hopper.shared_sums import arrive, store_part, sum_of_parts


@gluon.jit
def finish(acc, ring, WG: gl.constexpr, fetched, out_desc, scales, position):
    """Scale a warpgroup's finished sum and send it to D. Returns the phase of its next fetch."""
    row, column = position
    staging = ring.out.index(WG)
    if ring.AT_END:
        acc = apply_scales(acc, *scales, ring)
        free_scales(ring)
    fetch(ring, WG, out_desc, staging, row, column, 0)
    return store(acc, ring, WG, fetched, out_desc, staging, row, column, 0)


@gluon.jit
def consume_small_m(WG: gl.constexpr, ring, out_desc, scale_ptrs, split_ptrs, mnk, b_mn_tiles):
    """A multiplying warpgroup, with one slab of 64 rows or half of the columns."""
    m, n, k = mnk
    parts_ptr, arrivals_ptr = split_ptrs
    SLABS: gl.constexpr = ring.BLOCK_M // SLAB
    HALVES: gl.constexpr = CONSUMERS // SLABS
    MINE_M: gl.constexpr = WG if SLABS == CONSUMERS else 0
    MINE_N: gl.constexpr = 0 if SLABS == CONSUMERS else WG
    MANY: gl.constexpr = ring.B_SCALES == ring.BLOCK_N
    ROW: gl.constexpr = gl.SliceLayout(1, ring.LAYOUT)
    COLUMN: gl.constexpr = gl.SliceLayout(0, ring.LAYOUT)
    SETS: gl.constexpr = ring.a_scale.shape[0]
    a_parts = reinterpret(ring.a, ring.a.dtype, [ring.STAGES * SLABS, SLAB, ring.BLOCK_K], ring.a.layout)
    b_shape: gl.constexpr = [ring.STAGES * HALVES, ring.COLUMNS, ring.BLOCK_K]
    b_parts = reinterpret(ring.b, ring.b.dtype, b_shape, ring.b.layout)
    row_scales = reinterpret(ring.a_scale, gl.float32, [SETS * SLABS, SLAB], ring.a_scale.layout)
    if MANY:
        column_scales = reinterpret(
            ring.b_scale, gl.float32, [SETS * HALVES, ring.COLUMNS], ring.b_scale.layout
        )
    else:
        column_scales = ring.b_scale
    steps = count_steps(k, ring)
    gl.assume(steps > 0)  # the launcher takes no empty K
    zero = gl.zeros([SLAB, ring.COLUMNS], gl.float32, ring.LAYOUT)
    partial = zero
    stage = 0
    phase = 0
    fetched = 0
    for item in range(gl.program_id(0), count_items(m, n, 1, ring), gl.num_programs(0)):
        block, split, first, stop = share_of(item, m, n, steps, 1, ring)
        if ring.SPLITS > 1:
            gl.assume(first < stop)  # the launcher splits K into no more parts than there are steps
            partial = zero  # else its registers are not free where other programs' sums are added
        row, column = start_of(block, m, n, ring)
        row += MINE_M * SLAB
        acc = zero
        for step in range(first, stop):
            mbarrier.wait(ring.full.index(stage), phase)
            a = a_parts.index(stage * SLABS + MINE_M)  # [SLAB, BLOCK_K]
            b = b_parts.index(stage * HALVES + MINE_N).permute([1, 0])  # [BLOCK_K, COLUMNS]
            if ring.CHAINS:
                # One wgmma goes on running; the one before it is done, and with it the stage before.
                acc = warpgroup_mma(a, b, acc, use_acc=step > first, is_async=True)
                acc = warpgroup_mma_wait(1, deps=[acc])
            else:
                partial = warpgroup_mma(a, b, partial, use_acc=False, is_async=True)
            if step > first:
                release(ring, previous(stage, ring))  # behind a wgmma, which hides its cost
            row_scale = 0.0
            column_scale = 0.0
            if ring.IN_LOOP:
                row_scale = row_scales.index(stage * SLABS + MINE_M).load(ROW)  # [SLAB]
                if MANY:
                    column_scale = column_scales.index(stage * HALVES + MINE_N).load(COLUMN)  # [COLUMNS]
                else:
                    column_scale = single_scale(ring, stage, step * b_mn_tiles + column // SQUARE)  # [1]
            if not ring.CHAINS:
                partial = warpgroup_mma_wait(0, deps=[partial])
                acc = promote(acc, partial, row_scale, column_scale, ring)
            stage, phase = advance(stage, phase, ring)
        if ring.CHAINS:
            acc = warpgroup_mma_wait(0, deps=[acc])
        release_last(ring, previous(stage, ring))
        position = (row, column + MINE_N * ring.COLUMNS)
        scales = (row_scales.index(MINE_M), column_scales.index(MINE_N)) + scale_ptrs
        if ring.SPLITS == 1:
            fetched = finish(acc, ring, WG, fetched, out_desc, scales, position)
        else:
            store_part(WG, acc, parts_ptr, split, block, m - row, m, n, ring)
            if arrive(WG, arrivals_ptr, block, ring):
                acc = sum_of_parts(WG, acc, parts_ptr, block, m - row, m, n, ring)
                fetched = finish(acc, ring, WG, fetched, out_desc, scales, position)
            elif ring.AT_END:
                if ring.SCALE_BYTES != 0:  # these scales are not read, and the next block's may come
                    mbarrier.arrive(ring.scales_empty.index(0), count=1)
    tma.store_wait(0)  # a program must not end while TMA still reads its shared memory
