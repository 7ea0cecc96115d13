"""The specialized kernel's warpgroup that promotes where M is small. See kernels.specialized_kernel."""

from triton.experimental import gluon
from triton.experimental.gluon import language as gl
from triton.experimental.gluon.language.nvidia.hopper import mbarrier, tma, warpgroup_mma, warpgroup_mma_wait

from kernels.gluon_api import reinterpret
from kernels.ring_kernel import (
    CONSUMERS,
    after,
    before,
    block_of,
    count_blocks,
    fetch,
    release,
    scaled,
    store,
)
from kernels.slabs_kernel import SLAB, promote, single_scale


@gluon.jit
def consume_low(W: gl.constexpr, ring, out_desc, a_scale_ptr, b_scale_ptr, m, n, k, b_mn_tiles, facts):
    """A multiplying warpgroup of a block of 128 rows, of which it has a slab of 64, or of one of 64, of which
    it has half of the columns. What there is to read takes longer than to multiply and to add, so one partial
    sum at a time will do.
    """
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
    out = ring.out.index(W)
    zero = gl.zeros([SLAB, facts.COLUMNS], gl.float32, facts.LAYOUT)
    partial = zero
    stage = 0
    phase = 0
    fetched = 0
    for block in range(gl.program_id(0), count_blocks(m, n, facts), gl.num_programs(0)):
        row, column = block_of(block, m, n, facts)
        row += MINE_M * SLAB
        acc = zero
        for step in range(steps):
            mbarrier.wait(ring.full.index(stage), phase)
            a = a_parts.index(stage * SLABS + MINE_M)
            b = b_parts.index(stage * HALVES + MINE_N).permute([1, 0])
            partial = warpgroup_mma(a, b, partial, use_acc=False, is_async=True)
            if step > 0:
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
        if facts.AT_END:
            acc = scaled(
                acc, row_scales.index(MINE_M), column_scales.index(MINE_N), a_scale_ptr, b_scale_ptr, facts
            )
            if facts.SCALE_BYTES != 0:
                mbarrier.arrive(ring.scales_empty.index(0), count=1)
        mine = column + MINE_N * facts.COLUMNS
        fetch(ring, W, out_desc, out, row, mine, facts)
        fetched = store(acc, ring, W, fetched, out_desc, out, row, mine, 0, facts)
    tma.store_wait(0)
