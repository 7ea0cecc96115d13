"""The specialized kernel's warpgroup whose sums stay in the tensor core. See kernels.specialized_kernel."""

from triton.experimental import gluon
from triton.experimental.gluon import language as gl
from triton.experimental.gluon.language.nvidia.hopper import mbarrier, tma, warpgroup_mma_wait

from kernels.ring_kernel import (
    CONSUMERS,
    SLAB,
    STORED_N,
    after,
    before,
    block_of,
    count_blocks,
    halves,
    multiply,
    release,
    scaled,
    parts_of,
    store,
)


@gluon.jit
def consume_chain(
    W: gl.constexpr, ring, out_desc, out_ptr, a_scale_ptr, b_scale_ptr, m, n, k, out_stride_m, facts
):
    """A multiplying warpgroup whose sums stay in the tensor core."""
    LATE: gl.constexpr = out_desc.dtype == gl.bfloat16
    steps = (k + facts.BLOCK_K - 1) // facts.BLOCK_K
    staging = ring.out.index(W)
    parts = parts_of(ring, facts)
    stage = 0
    phase = 0
    last_row = 0
    last_column = 0
    acc = gl.zeros([SLAB * facts.PAIR_M, facts.BLOCK_N], gl.float32, facts.LAYOUT)
    left, right = halves(acc.to(out_desc.dtype), facts)
    start = gl.program_id(0)
    for block in range(start, count_blocks(m, n, facts), gl.num_programs(0)):
        row, column = block_of(block, m, n, facts)
        row += W * SLAB * facts.PAIR_M
        mbarrier.wait(ring.full.index(stage), phase)
        acc = multiply(acc, False, parts.index(stage * CONSUMERS + W), ring, stage)
        stage, phase = after(stage, phase, facts)
        if LATE and block != start:
            store(left, out_desc, staging, out_ptr, last_row, last_column, m, n, out_stride_m, 0, facts)
            if steps == 1:
                column_2 = last_column + STORED_N
                store(right, out_desc, staging, out_ptr, last_row, column_2, m, n, out_stride_m, 0, facts)
        for step in range(1, steps):
            mbarrier.wait(ring.full.index(stage), phase)
            acc = multiply(acc, True, parts.index(stage * CONSUMERS + W), ring, stage)
            release(ring, before(stage, facts), True, facts)
            stage, phase = after(stage, phase, facts)
            if LATE and (step == 1) & (block != start):
                column_2 = last_column + STORED_N
                store(right, out_desc, staging, out_ptr, last_row, column_2, m, n, out_stride_m, 0, facts)
        acc = warpgroup_mma_wait(0, deps=[acc])
        release(ring, before(stage, facts), True, facts)
        if facts.AT_END:
            acc = scaled(acc, ring, W, 0, a_scale_ptr, b_scale_ptr, facts)
            if facts.SCALE_BYTES != 0:
                mbarrier.arrive(ring.scales_empty.index(0), count=1)
        left, right = halves(acc.to(out_desc.dtype), facts)
        last_row = row + 0
        last_column = column + 0
        if not LATE:
            store(left, out_desc, staging, out_ptr, row, column, m, n, out_stride_m, 0, facts)
            store(right, out_desc, staging, out_ptr, row, column + STORED_N, m, n, out_stride_m, 0, facts)
    if LATE and start < count_blocks(m, n, facts):
        store(left, out_desc, staging, out_ptr, last_row, last_column, m, n, out_stride_m, 0, facts)
        column_2 = last_column + STORED_N
        store(right, out_desc, staging, out_ptr, last_row, column_2, m, n, out_stride_m, 0, facts)
    tma.store_wait(0)
