"""The specialized kernel's warpgroup that has a block to itself. See kernels.gemm.hopper.kernel."""

from triton.experimental import gluon
from triton.experimental.gluon import language as gl
from triton.experimental.gluon.language.nvidia.hopper import mbarrier, tma, warpgroup_mma, warpgroup_mma_wait

from kernels.gemm.hopper.ring import (
    CONSUMERS,
    after,
    before,
    block_of,
    count_blocks,
    fetch,
    halves,
    release,
    scaled,
    store,
)


@gluon.jit
def skip(stage, phase, steps, facts):
    """Where the ring stands `steps` stages on: the other warpgroup empties those."""
    moved = stage + steps
    return moved % facts.STAGES, phase ^ ((moved // facts.STAGES) & 1)


@gluon.jit
def multiply(acc, keep, ring, stage):
    """Queue one block of K on the tensor core and go on while one wgmma is under way."""
    b = ring.b.index(stage).permute([1, 0])
    acc = warpgroup_mma(ring.a.index(stage), b, acc, use_acc=keep, is_async=True)
    return warpgroup_mma_wait(1, deps=[acc])


@gluon.jit
def consume_pingpong(W: gl.constexpr, ring, out_desc, a_scale_ptr, b_scale_ptr, m, n, k, facts):
    """A multiplying warpgroup that takes every other block, and stores it while the other one multiplies.

    It starts on its block once the other has seen all stages of the block before: a barrier tells a phase
    from the one before it, no more.
    """
    HALF: gl.constexpr = facts.BLOCK_N // 2
    steps = (k + facts.BLOCK_K - 1) // facts.BLOCK_K
    staging = ring.out.index(W)
    stage = 0
    phase = 0
    turn_phase = 1 - W
    fetched = 0
    if W == 1:
        stage, phase = skip(stage, phase, steps, facts)
    acc = gl.zeros([facts.BLOCK_M, facts.BLOCK_N], gl.float32, facts.LAYOUT)
    start = gl.program_id(0) + W * gl.num_programs(0)
    for block in range(start, count_blocks(m, n, facts), CONSUMERS * gl.num_programs(0)):
        row, column = block_of(block, m, n, facts)
        mbarrier.wait(ring.turn.index(W), turn_phase)
        turn_phase = turn_phase ^ 1
        mbarrier.wait(ring.full.index(stage), phase)
        acc = multiply(acc, False, ring, stage)
        stage, phase = after(stage, phase, facts)
        for _ in range(1, steps):
            mbarrier.wait(ring.full.index(stage), phase)
            acc = multiply(acc, True, ring, stage)
            release(ring, before(stage, facts))
            stage, phase = after(stage, phase, facts)
        mbarrier.arrive(ring.turn.index(1 - W), count=1)
        acc = warpgroup_mma_wait(0, deps=[acc])
        release(ring, before(stage, facts))
        stage, phase = skip(stage, phase, steps, facts)
        if facts.AT_END:
            a_scale, b_scale = ring.a_scale.index(W), ring.b_scale.index(W)
            acc = scaled(acc, a_scale, b_scale, a_scale_ptr, b_scale_ptr, facts)
            if facts.SCALE_BYTES != 0:
                mbarrier.arrive(ring.scales_empty.index(W), count=1)
        left, right = halves(acc.to(out_desc.dtype))
        fetch(ring, W, out_desc, staging, row, column, facts)
        fetched = store(left, ring, W, fetched, out_desc, staging, row, column, 0, facts)
        fetch(ring, W, out_desc, staging, row, column + HALF, facts)
        fetched = store(right, ring, W, fetched, out_desc, staging, row, column + HALF, 0, facts)
    tma.store_wait(0)
