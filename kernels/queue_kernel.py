"""The specialized kernel's warpgroup whose two slabs take turns. See kernels.specialized_kernel."""

from triton.experimental import gluon
from triton.experimental.gluon import language as gl
from triton.experimental.gluon.language.nvidia.hopper import mbarrier, tma, warpgroup_mma, warpgroup_mma_wait

from kernels.ring_kernel import (
    CONSUMERS,
    SLAB,
    after,
    before,
    block_of,
    count_blocks,
    parts_of,
    release,
    scaled,
    store,
)

SLABS = gl.constexpr(2)


@gluon.jit
def finish(acc, part, row, column, ring, out_desc, staging, out_ptr, a_scale_ptr, b_scale_ptr, m, n, out_stride_m, facts):
    if facts.AT_END:
        acc = scaled(acc, ring, part, 0, a_scale_ptr, b_scale_ptr, facts)
    store(acc, out_desc, staging, out_ptr, row, column, m, n, out_stride_m, 0, facts)


@gluon.jit
def consume_queue(
    W: gl.constexpr, ring, out_desc, out_ptr, a_scale_ptr, b_scale_ptr, m, n, k, out_stride_m, facts
):
    FIRST: gl.constexpr = W * SLABS
    steps = (k + facts.BLOCK_K - 1) // facts.BLOCK_K
    slabs = parts_of(ring, facts)
    staging = ring.out.index(W)
    acc0 = gl.zeros([SLAB, facts.BLOCK_N * facts.PAIR_N], gl.float32, facts.LAYOUT)
    acc1 = acc0
    last_row = 0
    last_column = 0
    stage = 0
    phase = 0
    start = gl.program_id(0)
    for block in range(start, count_blocks(m, n, facts), gl.num_programs(0)):
        row, column = block_of(block, m, n, facts)
        row += FIRST * SLAB
        mbarrier.wait(ring.full.index(stage), phase)
        b = ring.b.index(stage).permute([1, 0])
        acc0 = warpgroup_mma(slabs.index(stage * CONSUMERS * SLABS + FIRST), b, acc0, use_acc=False, is_async=True)
        acc0 = warpgroup_mma_wait(1, deps=[acc0])
        if block != start:
            finish(acc1, FIRST + 1, last_row + SLAB, last_column, ring, out_desc, staging, out_ptr, a_scale_ptr, b_scale_ptr, m, n, out_stride_m, facts)
            if facts.SCALE_BYTES != 0:
                mbarrier.arrive(ring.scales_empty.index(0), count=1)
        acc1 = warpgroup_mma(slabs.index(stage * CONSUMERS * SLABS + FIRST + 1), b, acc1, use_acc=False, is_async=True)
        acc0, acc1 = warpgroup_mma_wait(2, deps=[acc0, acc1])
        stage, phase = after(stage, phase, facts)
        for step in range(1, steps):
            mbarrier.wait(ring.full.index(stage), phase)
            b = ring.b.index(stage).permute([1, 0])
            acc0 = warpgroup_mma(slabs.index(stage * CONSUMERS * SLABS + FIRST), b, acc0, use_acc=True, is_async=True)
            acc1 = warpgroup_mma(slabs.index(stage * CONSUMERS * SLABS + FIRST + 1), b, acc1, use_acc=True, is_async=True)
            acc0, acc1 = warpgroup_mma_wait(2, deps=[acc0, acc1])
            release(ring, before(stage, facts), True, facts)
            stage, phase = after(stage, phase, facts)
        acc0, acc1 = warpgroup_mma_wait(1, deps=[acc0, acc1])
        finish(acc0, FIRST, row, column, ring, out_desc, staging, out_ptr, a_scale_ptr, b_scale_ptr, m, n, out_stride_m, facts)
        acc1 = warpgroup_mma_wait(0, deps=[acc1])
        release(ring, before(stage, facts), True, facts)
        last_row = row + 0
        last_column = column + 0
    if start < count_blocks(m, n, facts):
        finish(acc1, FIRST + 1, last_row + SLAB, last_column, ring, out_desc, staging, out_ptr, a_scale_ptr, b_scale_ptr, m, n, out_stride_m, facts)
    tma.store_wait(0)
