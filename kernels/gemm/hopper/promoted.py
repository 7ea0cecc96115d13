"""The variant whose partial sums are promoted: each step's wgmma is added to a sum in fp32 registers.

kernels.gemm.hopper.kernel has the table of roles. A warpgroup has two slabs of 64 rows of a block of 256 ×
128: 2 · 64 numbers of sums and 64 of one partial sum in a thread, 192 of its 240 registers. While one
warpgroup adds, the other one's wgmma keeps the tensor core busy.
"""

from triton.experimental import gluon
from triton.experimental.gluon import language as gl
from triton.experimental.gluon.language.nvidia.hopper import mbarrier, tma, warpgroup_mma, warpgroup_mma_wait

from kernels.gemm.hopper import sizes
from kernels.gemm.hopper.gluon_api import reinterpret
from kernels.gemm.hopper.items import count_blocks, count_steps, start_of
from kernels.gemm.hopper.ring import (
    ALIGNED_SCALES,
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

SLAB = gl.constexpr(sizes.SLAB)
SLABS = gl.constexpr(2)


@gluon.jit
def promote(acc, partial, row_scale, column_scale, ring):
    """acc + partial; if scales change along K, acc + partial · fl32(row_scale · column_scale).

    acc, partial: float32[rows, columns]. In PTX, because the compiler would move these additions apart from
    each other, and then run out of registers.
    """
    if not ring.IN_LOOP:
        acc = gl.inline_asm_elementwise(
            "add.rn.f32 $0, $1, $2;", "=f,f,f", [acc, partial], dtype=gl.float32, is_pure=True, pack=1
        )
    elif ring.B_SCALES != ring.BLOCK_N:  # one scale of B: the product of scales is one number a row
        acc = gl.inline_asm_elementwise(
            "fma.rn.f32 $0, $1, $2, $3;",
            "=f,f,f,f",
            [partial, gl.expand_dims(row_scale, 1) * gl.expand_dims(column_scale, 0), acc],
            dtype=gl.float32,
            is_pure=True,
            pack=1,
        )
    else:  # a product for every number, computed at its use, so that it takes no register for long
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
def single_scale(ring, stage, number):
    """float32[1]: scale number `number` of B, which came with its neighbors of the same 16 bytes."""
    ONE: gl.constexpr = gl.SwizzledSharedLayout(1, 1, 1, [0])
    singles = reinterpret(ring.b_scale, gl.float32, [ring.STAGES * ring.B_SCALES, 1], ONE)
    single = singles.index(stage * ring.B_SCALES + number % ALIGNED_SCALES)
    return single.load(gl.SliceLayout(0, ring.LAYOUT))


@gluon.jit
def column_scales(ring, stage, number):
    """float32[BLOCK_N], one a column of the block; or float32[1], the one of them all."""
    if ring.B_SCALES != ring.BLOCK_N:
        scale = single_scale(ring, stage, number)
    else:
        scale = ring.b_scale.index(stage).load(gl.SliceLayout(0, ring.LAYOUT))
    return scale


@gluon.jit
def finish(acc0, acc1, ring, WG: gl.constexpr, fetched, out_desc, scale_ptrs, position):
    """Scale both slabs' sums and send them to D. The old D of the first is on its way. Returns the next
    fetch's phase.
    """
    row, column = position
    FIRST: gl.constexpr = WG * SLABS
    BUFFERS: gl.constexpr = ring.out.shape[0] // CONSUMERS
    PENDING: gl.constexpr = BUFFERS - 1
    if ring.AT_END:
        SETS: gl.constexpr = ring.a_scale.shape[0] * ring.a_scale.shape[1] // SLAB
        rows = reinterpret(ring.a_scale, gl.float32, [SETS, SLAB], ring.a_scale.layout)
        b_scale = ring.b_scale.index(0)
        acc0 = apply_scales(acc0, rows.index(FIRST), b_scale, *scale_ptrs, ring)
        acc1 = apply_scales(acc1, rows.index(FIRST + 1), b_scale, *scale_ptrs, ring)
        free_scales(ring)
    staging = ring.out.index(WG * BUFFERS)
    fetched = store(acc0, ring, WG, fetched, out_desc, staging, row, column, PENDING)
    staging = ring.out.index(WG * BUFFERS + PENDING)
    fetch(ring, WG, out_desc, staging, row + SLAB, column, 0)
    return store(acc1, ring, WG, fetched, out_desc, staging, row + SLAB, column, PENDING)


@gluon.jit
def consume_slabs(WG: gl.constexpr, ring, out_desc, scale_ptrs, mnk, b_mn_tiles):
    """A multiplying warpgroup, with two slabs and memory of its own for D.

    While its slab is multiplied, it waits for barriers and loads scales. While the other warpgroup's is, it
    adds.
    """
    m, n, k = mnk
    BUFFERS: gl.constexpr = ring.out.shape[0] // CONSUMERS
    FIRST: gl.constexpr = WG * SLABS
    SECOND: gl.constexpr = FIRST + 1
    EACH: gl.constexpr = CONSUMERS * SLABS
    MANY: gl.constexpr = ring.IN_LOOP and ring.B_SCALES == ring.BLOCK_N
    ROW: gl.constexpr = gl.SliceLayout(1, ring.LAYOUT)
    steps = count_steps(k, ring)
    gl.assume(steps > 0)  # the launcher takes no empty K; without this Triton 3.9's ptxas spills
    slabs = reinterpret(ring.a, ring.a.dtype, [ring.STAGES * EACH, SLAB, ring.BLOCK_K], ring.a.layout)
    SETS: gl.constexpr = ring.a_scale.shape[0]
    row_scales = reinterpret(ring.a_scale, gl.float32, [SETS * EACH, SLAB], ring.a_scale.layout)
    out0 = ring.out.index(WG * BUFFERS)
    zero = gl.zeros([SLAB, ring.BLOCK_N], gl.float32, ring.LAYOUT)
    partial = zero  # carried from one wgmma to the next, so that all of them use the same registers
    stage = 0
    phase = 0
    fetched = 0
    next_row, next_column = start_of(gl.program_id(0), m, n, ring)
    for block in range(gl.program_id(0), count_blocks(m, n, ring), gl.num_programs(0)):
        if MANY:  # scales of columns take the registers of next_row and next_column
            next_row, next_column = start_of(block, m, n, ring)
        row, column = next_row + FIRST * SLAB, next_column
        acc0 = zero
        acc1 = zero
        mbarrier.wait(ring.full.index(stage), phase)
        for step in range(steps):
            b = ring.b.index(stage).permute([1, 0])  # [BLOCK_K, BLOCK_N]
            a0 = slabs.index(stage * EACH + FIRST)  # [SLAB, BLOCK_K]
            partial = warpgroup_mma(a0, b, partial, use_acc=False, is_async=True)
            if step > 0:
                release(ring, previous(stage, ring))  # late, behind a wgmma: arriving costs a barrier
            elif not MANY:
                next_row, next_column = start_of(block + gl.num_programs(0), m, n, ring)
            row_scale = 0.0
            column_scale = 0.0
            if ring.IN_LOOP:
                row_scale = row_scales.index(stage * EACH + FIRST).load(ROW)  # [SLAB]
                number = 0 if MANY else step * b_mn_tiles + column // SQUARE
                column_scale = column_scales(ring, stage, number)  # [BLOCK_N] or [1]
            a1 = slabs.index(stage * EACH + SECOND)
            partial = warpgroup_mma_wait(0, deps=[partial])
            acc0 = promote(acc0, partial, row_scale, column_scale, ring)
            partial = warpgroup_mma(a1, b, partial, use_acc=False, is_async=True)
            if ring.IN_LOOP:
                row_scale = row_scales.index(stage * EACH + SECOND).load(ROW)
            stage, phase = advance(stage, phase, ring)
            more = step + 1 < steps
            mbarrier.wait(ring.full.index(stage), phase, pred=more)  # the next step, while this one runs
            if not more:
                fetch(ring, WG, out_desc, out0, row, column, 0)
            partial = warpgroup_mma_wait(0, deps=[partial])
            acc1 = promote(acc1, partial, row_scale, column_scale, ring)
        release_last(ring, previous(stage, ring))
        fetched = finish(acc0, acc1, ring, WG, fetched, out_desc, scale_ptrs, (row, column))
    tma.store_wait(0)  # a program must not end while TMA still reads its shared memory
