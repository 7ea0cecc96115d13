"""The specialized kernel's warpgroup that promotes. See kernels.specialized_kernel."""

from triton.experimental import gluon
from triton.experimental.gluon import language as gl
from triton.experimental.gluon.language.nvidia.hopper import mbarrier, tma, warpgroup_mma, warpgroup_mma_wait

from kernels.gluon_api import reinterpret
from kernels.ring_kernel import (
    CONSUMERS,
    SLAB,
    a_scale_parts,
    after,
    before,
    block_of,
    count_blocks,
    release,
    scaled,
    parts_of,
    store,
)

SLABS = gl.constexpr(2)


@gluon.jit
def promote(acc, partial, row_scale, column_scale, facts):
    """The partial sum of a block of K joins the fp32 sum, scaled where scales change along K: acc + partial ·
    fl32(row_scale · column_scale). Written in PTX, or ptxas would keep more numbers than it has registers for.
    """
    if not facts.IN_LOOP:
        acc = gl.inline_asm_elementwise(
            "add.rn.f32 $0, $1, $2;", "=f,f,f", [partial, acc], dtype=gl.float32, is_pure=True, pack=1
        )
    elif facts.B_SCALES == 1:
        acc = gl.inline_asm_elementwise(
            "fma.rn.f32 $0, $1, $2, $3;",
            "=f,f,f,f",
            [partial, gl.expand_dims(row_scale, 1) * gl.expand_dims(column_scale, 0), acc],
            dtype=gl.float32,
            is_pure=True,
            pack=1,
        )
    else:
        acc = gl.inline_asm_elementwise(
            "{ .reg .f32 s; mul.rn.f32 s, $2, $3; fma.rn.f32 $0, $1, s, $4; }",
            "=f,f,f,f,f",
            [partial, gl.expand_dims(row_scale, 1), gl.expand_dims(column_scale, 0), acc],
            dtype=gl.float32,
            is_pure=True,
            pack=1,
        )
    return acc


@gluon.jit
def rank(facts):
    """Which program of its pair this is: 0 or 1."""
    if facts.PAIR_N == 1:
        return 0
    else:
        return gl.inline_asm_elementwise(
            "mov.u32 $0, %cluster_ctarank;", "=r", [], dtype=gl.int32, is_pure=True, pack=1
        )


@gluon.jit
def row_scales(ring, stage, slab, facts):
    """float32[SLAB] of a slab's rows."""
    return a_scale_parts(ring, facts).index(stage * CONSUMERS * SLABS + slab).load(gl.SliceLayout(1, facts.LAYOUT))


@gluon.jit
def column_scales(ring, stage, place, facts):
    """float32[BLOCK_N] of the block's columns, or float32[1]: the one that lies at `place` of B's scales."""
    COLUMN: gl.constexpr = gl.SliceLayout(0, facts.LAYOUT)
    if facts.B_SCALES == 1:
        WIDTH: gl.constexpr = ring.b_scale.shape[1]
        singles = reinterpret(ring.b_scale, gl.float32, [facts.STAGES * WIDTH, 1], facts.ONE)
        scale = singles.index(stage * WIDTH + place % 4 + rank(facts)).load(COLUMN)
    else:
        scale = ring.b_scale.index(stage).load(COLUMN)
    return scale


@gluon.jit
def consume_slabs(
    W: gl.constexpr,
    ring,
    out_desc,
    out_ptr,
    a_scale_ptr,
    b_scale_ptr,
    m,
    n,
    k,
    b_mn_tiles,
    out_stride_m,
    facts,
):
    """A multiplying warpgroup that promotes. Columns' scales are many, and reading them while the tensor core
    reads its operands is slow: they are read between two multiplications. Single ones are read meanwhile.
    """
    BUFFERS: gl.constexpr = ring.out.shape[0] // CONSUMERS
    LED: gl.constexpr = facts.V & 2
    ONCE: gl.constexpr = facts.V & 8
    FIRST: gl.constexpr = W * SLABS
    PENDING: gl.constexpr = BUFFERS - 1
    steps = (k + facts.BLOCK_K - 1) // facts.BLOCK_K
    gl.assume(steps > 0)  # the launcher takes no empty K; without this Triton 3.9's ptxas spills
    slabs = parts_of(ring, facts)
    out0 = ring.out.index(W * BUFFERS)
    out1 = ring.out.index(W * BUFFERS + PENDING)
    zero = gl.zeros([SLAB, facts.BLOCK_N * facts.PAIR_N], gl.float32, facts.LAYOUT)
    partial = zero
    stage = 0
    phase = 0
    turn = 0
    start = gl.program_id(0)
    for block in range(start, count_blocks(m, n, facts), gl.num_programs(0)):
        row, column = block_of(block, m, n, facts)
        row += FIRST * SLAB
        block_n = column // facts.BLOCK_N
        acc0 = zero
        acc1 = zero
        led = steps >= facts.STAGES
        if ONCE:
            led = block == start
        if (LED or ONCE) and W == 1:
            mbarrier.wait(ring.turn.index(0), turn, pred=led)
            turn = turn ^ 1
        mbarrier.wait(ring.full.index(stage), phase)
        for step in range(steps):
            b = ring.b.index(stage).permute([1, 0])
            a0 = slabs.index(stage * CONSUMERS * SLABS + FIRST)
            a1 = slabs.index(stage * CONSUMERS * SLABS + FIRST + 1)
            partial = warpgroup_mma(a0, b, partial, use_acc=False, is_async=True)
            row_scale0 = 0.0
            row_scale1 = 0.0
            column_scale = 0.0
            if facts.IN_LOOP:
                row_scale0 = row_scales(ring, stage, FIRST, facts)
                row_scale1 = row_scales(ring, stage, FIRST + 1, facts)
                column_scale = column_scales(ring, stage, step * b_mn_tiles + block_n, facts)
            if (step > 0) | (block != start):
                release(ring, before(stage, facts), True, facts)
            partial = warpgroup_mma_wait(0, deps=[partial])
            if (LED or ONCE) and W == 0:
                if (step == 0) & led:
                    mbarrier.arrive(ring.turn.index(0), count=1)
            acc0 = promote(acc0, partial, row_scale0, column_scale, facts)
            partial = warpgroup_mma(a1, b, partial, use_acc=False, is_async=True)
            stage, phase = after(stage, phase, facts)
            more = step + 1 < steps
            mbarrier.wait(ring.full.index(stage), phase, pred=more)
            if not more:
                if facts.AT_END:
                    acc0 = scaled(acc0, ring, FIRST, 0, a_scale_ptr, b_scale_ptr, facts)
                store(acc0, out_desc, out0, out_ptr, row, column, m, n, out_stride_m, PENDING, facts)
            partial = warpgroup_mma_wait(0, deps=[partial])
            acc1 = promote(acc1, partial, row_scale1, column_scale, facts)
        if facts.AT_END:
            acc1 = scaled(acc1, ring, FIRST + 1, 0, a_scale_ptr, b_scale_ptr, facts)
            if facts.SCALE_BYTES != 0:
                mbarrier.arrive(ring.scales_empty.index(0), count=1)
        store(acc1, out_desc, out1, out_ptr, row + SLAB, column, m, n, out_stride_m, PENDING, facts)
    tma.store_wait(0)
