"""The specialized kernel's warpgroup that promotes where M is small. See kernels.gemm.hopper.kernel."""

from triton.experimental import gluon
from triton.experimental.gluon import language as gl
from triton.experimental.gluon.language.nvidia.hopper import mbarrier, tma, warpgroup_mma, warpgroup_mma_wait

from kernels.gemm.hopper.gluon_api import reinterpret
from kernels.gemm.hopper.promoted import SLAB, promote, single_scale
from kernels.gemm.hopper.ring import (
    CONSUMERS,
    after,
    before,
    block_of,
    count_blocks,
    fetch,
    release,
    scaled,
    share_of,
    store,
)
from kernels.gemm.hopper.shared_sums import arrive, collected, put


@gluon.jit
def leave(acc, ring, W: gl.constexpr, fetched, out_desc, scales, place, facts):
    """A warpgroup's part of a block is summed: it is scaled, and goes to D. Returns what `store` does."""
    row, column = place
    staging = ring.out.index(W)
    if facts.AT_END:
        acc = scaled(acc, *scales, facts)
        if facts.SCALE_BYTES != 0:  # with RUNS a program has one block: whoever is not last need not tell
            mbarrier.arrive(ring.scales_empty.index(0), count=1)
    fetch(ring, W, out_desc, staging, row, column, facts)
    return store(acc, ring, W, fetched, out_desc, staging, row, column, 0, facts)


@gluon.jit
def consume_low(W: gl.constexpr, ring, out_desc, scale_ptrs, split_ptrs, m, n, k, b_mn_tiles, facts):
    """A multiplying warpgroup of a block of 128 rows, of which it has a slab of 64, or of one of 64, of which
    it has half of the columns. What there is to read takes longer than to multiply and to add, so one partial
    sum at a time will do. Where programs share the block, it passes on the sum of its run of K, and the last
    to do so adds all of them.
    """
    parts_ptr, arrivals_ptr = split_ptrs
    SLABS: gl.constexpr = facts.BLOCK_M // SLAB
    HALVES: gl.constexpr = CONSUMERS // SLABS
    MINE_M: gl.constexpr = W if SLABS == CONSUMERS else 0
    MINE_N: gl.constexpr = 0 if SLABS == CONSUMERS else W
    MANY: gl.constexpr = facts.B_SCALES == facts.BLOCK_N
    COLUMN_TILE: gl.constexpr = facts.BLOCK_N
    ROW: gl.constexpr = gl.SliceLayout(1, facts.LAYOUT)
    COLUMN: gl.constexpr = gl.SliceLayout(0, facts.LAYOUT)
    SETS: gl.constexpr = ring.a_scale.shape[0]
    a_parts = reinterpret(ring.a, ring.a.dtype, [facts.STAGES * SLABS, SLAB, facts.BLOCK_K], ring.a.layout)
    b_shape: gl.constexpr = [facts.STAGES * HALVES, facts.COLUMNS, facts.BLOCK_K]
    b_parts = reinterpret(ring.b, ring.b.dtype, b_shape, ring.b.layout)
    row_scales = reinterpret(ring.a_scale, gl.float32, [SETS * SLABS, SLAB], ring.a_scale.layout)
    if MANY:
        column_scales = reinterpret(
            ring.b_scale, gl.float32, [SETS * HALVES, facts.COLUMNS], ring.b_scale.layout
        )
    else:
        column_scales = ring.b_scale
    steps = (k + facts.BLOCK_K - 1) // facts.BLOCK_K
    gl.assume(steps > 0)  # the launcher takes no empty K
    zero = gl.zeros([SLAB, facts.COLUMNS], gl.float32, facts.LAYOUT)
    partial = zero
    stage = 0
    phase = 0
    fetched = 0
    for item in range(gl.program_id(0), count_blocks(m, n, facts) * facts.RUNS, gl.num_programs(0)):
        block, run, first, stop = share_of(item, m, n, steps, 1, facts)
        if facts.RUNS > 1:
            gl.assume(first < stop)  # no more runs than steps
            partial = zero  # else its registers are not free where parts are added
        row, column = block_of(block, m, n, facts)
        row += MINE_M * SLAB
        acc = zero
        for step in range(first, stop):
            mbarrier.wait(ring.full.index(stage), phase)
            a = a_parts.index(stage * SLABS + MINE_M)
            b = b_parts.index(stage * HALVES + MINE_N).permute([1, 0])
            partial = warpgroup_mma(a, b, partial, use_acc=False, is_async=True)
            if step > first:
                release(ring, before(stage, facts))
            row_scale = 0.0
            column_scale = 0.0
            if facts.IN_LOOP:
                row_scale = row_scales.index(stage * SLABS + MINE_M).load(ROW)
                if MANY:
                    column_scale = column_scales.index(stage * HALVES + MINE_N).load(COLUMN)
                else:
                    column_scale = single_scale(ring, stage, step * b_mn_tiles + column // COLUMN_TILE, facts)
            partial = warpgroup_mma_wait(0, deps=[partial])
            acc = promote(acc, partial, row_scale, column_scale, facts)
            stage, phase = after(stage, phase, facts)
        release(ring, before(stage, facts))
        place = (row, column + MINE_N * facts.COLUMNS)
        scales = (row_scales.index(MINE_M), column_scales.index(MINE_N)) + scale_ptrs
        if facts.RUNS == 1:
            fetched = leave(acc, ring, W, fetched, out_desc, scales, place, facts)
        else:
            put(W, acc, parts_ptr, run, block, m - row, m, n, facts)
            if arrive(W, arrivals_ptr, block, facts):
                acc = collected(W, acc, parts_ptr, block, m - row, m, n, facts)
                fetched = leave(acc, ring, W, fetched, out_desc, scales, place, facts)
    tma.store_wait(0)
