"""The specialized kernel's warpgroup that has a block to itself. See kernels.specialized_kernel."""

from triton.experimental import gluon
from triton.experimental.gluon import language as gl
from triton.experimental.gluon.language.nvidia.hopper import mbarrier, tma, warpgroup_mma_wait

from kernels.ring_kernel import (
    CONSUMERS,
    after,
    before,
    block_of,
    count_blocks,
    halves,
    multiply,
    release,
    scaled,
    store,
)


@gluon.jit
def skip(stage, phase, steps, facts):
    """Where the ring stands after `steps` stages that the other warpgroup empties."""
    moved = stage + steps
    return moved % facts.STAGES, phase ^ (moved // facts.STAGES & 1)


@gluon.jit
def consume_pingpong(
    W: gl.constexpr, ring, out_desc, out_ptr, a_scale_ptr, b_scale_ptr, m, n, k, out_stride_m, facts
):
    """A multiplying warpgroup that takes every other block: it stores one while its neighbor multiplies."""
    steps = (k + facts.BLOCK_K - 1) // facts.BLOCK_K
    staging = ring.out.index(W)
    programs = gl.num_programs(0)
    stage = 0
    phase = 0
    turn = 1 - W
    if W == 1:
        stage, phase = skip(stage, phase, steps, facts)
    acc = gl.zeros([facts.BLOCK_M * facts.PAIR_M, facts.BLOCK_N], gl.float32, facts.LAYOUT)
    start = gl.program_id(0) + W * programs
    for block in range(start, count_blocks(m, n, facts), CONSUMERS * programs):
        row, column = block_of(block, m, n, facts)
        mbarrier.wait(ring.turn.index(W), turn)
        turn = turn ^ 1
        mbarrier.wait(ring.full.index(stage), phase)
        acc = multiply(acc, False, ring.a.index(stage), ring, stage)
        stage, phase = after(stage, phase, facts)
        for step in range(1, steps):
            mbarrier.wait(ring.full.index(stage), phase)
            acc = multiply(acc, True, ring.a.index(stage), ring, stage)
            release(ring, before(stage, facts), True, facts)
            stage, phase = after(stage, phase, facts)
        mbarrier.arrive(ring.turn.index(1 - W), count=1)
        acc = warpgroup_mma_wait(0, deps=[acc])
        release(ring, before(stage, facts), True, facts)
        stage, phase = skip(stage, phase, steps, facts)
        if facts.AT_END:
            acc = scaled(acc, ring, W, W, a_scale_ptr, b_scale_ptr, facts)
            if facts.SCALE_BYTES != 0:
                mbarrier.arrive(ring.scales_empty.index(W), count=1)
        left, right = halves(acc.to(out_desc.dtype), facts)
        store(left, out_desc, staging, out_ptr, row, column, m, n, out_stride_m, 0, facts)
        HALF: gl.constexpr = facts.BLOCK_N // 2
        store(right, out_desc, staging, out_ptr, row, column + HALF, m, n, out_stride_m, 0, facts)
    tma.store_wait(0)
