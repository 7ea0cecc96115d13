"""The specialized kernel's warpgroup that promotes. See kernels.gemm.hopper.kernel."""

from triton.experimental import gluon
from triton.experimental.gluon import language as gl
from triton.experimental.gluon.language.nvidia.hopper import mbarrier, tma, warpgroup_mma, warpgroup_mma_wait

from kernels.gemm.hopper import sizes
from kernels.gemm.hopper.gluon_api import reinterpret
from kernels.gemm.hopper.ring import (
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

SLAB = gl.constexpr(sizes.SLAB)
SLABS = gl.constexpr(2)


@gluon.jit
def promote(acc, partial, row_scale, column_scale, facts):
    """The partial sum of a block of K joins the fp32 sum, where scales change along K as acc + partial ·
    fl32(row_scale · column_scale). Written in PTX: the compiler would reorder it, and run out of registers.
    """
    if not facts.IN_LOOP:
        acc = gl.inline_asm_elementwise(
            "add.rn.f32 $0, $1, $2;", "=f,f,f", [acc, partial], dtype=gl.float32, is_pure=True, pack=1
        )
    elif facts.B_SCALES != facts.BLOCK_N:
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
def single_scale(ring, stage, place, facts):
    """float32[1]: the one that lies at `place` of B's scales, and came with its neighbors."""
    ONE: gl.constexpr = gl.SwizzledSharedLayout(1, 1, 1, [0])
    singles = reinterpret(ring.b_scale, gl.float32, [facts.STAGES * facts.B_SCALES, 1], ONE)
    return singles.index(stage * facts.B_SCALES + place % 4).load(gl.SliceLayout(0, facts.LAYOUT))


@gluon.jit
def column_scales(ring, stage, place, facts):
    """float32[BLOCK_N] of the block's columns, or the single one of them all."""
    if facts.B_SCALES != facts.BLOCK_N:
        scale = single_scale(ring, stage, place, facts)
    else:
        scale = ring.b_scale.index(stage).load(gl.SliceLayout(0, facts.LAYOUT))
    return scale


@gluon.jit
def consume_slabs(W: gl.constexpr, ring, out_desc, a_scale_ptr, b_scale_ptr, m, n, k, b_mn_tiles, facts):
    """A multiplying warpgroup that promotes: while a slab of its own is multiplied it looks to the barriers
    and the scales, and while the other warpgroup's is, it adds. `partial` is carried from one multiplication
    to the next so that all have the same registers. The next block's place is found during a block's first
    step, but where each column has its scales, which take the registers.
    """
    BUFFERS: gl.constexpr = ring.out.shape[0] // CONSUMERS
    PENDING: gl.constexpr = BUFFERS - 1
    FIRST: gl.constexpr = W * SLABS
    SECOND: gl.constexpr = FIRST + 1
    EACH: gl.constexpr = CONSUMERS * SLABS
    MANY: gl.constexpr = facts.IN_LOOP and facts.B_SCALES == facts.BLOCK_N
    COLUMN_TILE: gl.constexpr = facts.BLOCK_N
    ROW: gl.constexpr = gl.SliceLayout(1, facts.LAYOUT)
    steps = (k + facts.BLOCK_K - 1) // facts.BLOCK_K
    gl.assume(steps > 0)  # the launcher takes no empty K; without this Triton 3.9's ptxas spills
    slabs = reinterpret(ring.a, ring.a.dtype, [facts.STAGES * EACH, SLAB, facts.BLOCK_K], ring.a.layout)
    SETS: gl.constexpr = ring.a_scale.shape[0]
    row_scales = reinterpret(ring.a_scale, gl.float32, [SETS * EACH, SLAB], ring.a_scale.layout)
    out0 = ring.out.index(W * BUFFERS)
    out1 = ring.out.index(W * BUFFERS + PENDING)
    zero = gl.zeros([SLAB, facts.BLOCK_N], gl.float32, facts.LAYOUT)
    partial = zero
    stage = 0
    phase = 0
    fetched = 0
    next_row, next_column = block_of(gl.program_id(0), m, n, facts)
    for block in range(gl.program_id(0), count_blocks(m, n, facts), gl.num_programs(0)):
        if MANY:
            next_row, next_column = block_of(block, m, n, facts)
        row, column = next_row + FIRST * SLAB, next_column
        acc0 = zero
        acc1 = zero
        mbarrier.wait(ring.full.index(stage), phase)
        for step in range(steps):
            b = ring.b.index(stage).permute([1, 0])
            a0 = slabs.index(stage * EACH + FIRST)
            a1 = slabs.index(stage * EACH + SECOND)
            partial = warpgroup_mma(a0, b, partial, use_acc=False, is_async=True)
            if step > 0:
                release(ring, before(stage, facts))
            elif not MANY:
                next_row, next_column = block_of(block + gl.num_programs(0), m, n, facts)
            row_scale = 0.0
            column_scale = 0.0
            if facts.IN_LOOP:
                row_scale = row_scales.index(stage * EACH + FIRST).load(ROW)
                place = 0 if MANY else step * b_mn_tiles + column // COLUMN_TILE
                column_scale = column_scales(ring, stage, place, facts)
            partial = warpgroup_mma_wait(0, deps=[partial])
            acc0 = promote(acc0, partial, row_scale, column_scale, facts)
            partial = warpgroup_mma(a1, b, partial, use_acc=False, is_async=True)
            if facts.IN_LOOP:
                row_scale = row_scales.index(stage * EACH + SECOND).load(ROW)
            stage, phase = after(stage, phase, facts)
            more = step + 1 < steps
            mbarrier.wait(ring.full.index(stage), phase, pred=more)
            if not more:
                fetch(ring, W, out_desc, out0, row, column, facts)
            partial = warpgroup_mma_wait(0, deps=[partial])
            acc1 = promote(acc1, partial, row_scale, column_scale, facts)
        release(ring, before(stage, facts))
        if facts.AT_END:
            b_scale = ring.b_scale.index(0)
            acc0 = scaled(acc0, row_scales.index(FIRST), b_scale, a_scale_ptr, b_scale_ptr, facts)
            acc1 = scaled(acc1, row_scales.index(SECOND), b_scale, a_scale_ptr, b_scale_ptr, facts)
            if facts.SCALE_BYTES != 0:
                mbarrier.arrive(ring.scales_empty.index(0), count=1)
        fetched = store(acc0, ring, W, fetched, out_desc, out0, row, column, PENDING, facts)
        fetch(ring, W, out_desc, out1, row + SLAB, column, facts)
        fetched = store(acc1, ring, W, fetched, out_desc, out1, row + SLAB, column, PENDING, facts)
    tma.store_wait(0)
