"""The specialized kernel's warpgroups that share a block. See kernels.gemm.hopper.kernel."""

from triton.experimental import gluon
from triton.experimental.gluon import language as gl
from triton.experimental.gluon.language.nvidia.hopper import (
    fence_async_shared,
    mbarrier,
    tma,
    warpgroup_mma,
    warpgroup_mma_wait,
)

from kernels.gemm.hopper import sizes
from kernels.gemm.hopper.gluon_api import async_store, reinterpret
from kernels.gemm.hopper.ring import CONSUMERS, after, before, block_of, count_blocks, halves, release

SLAB = gl.constexpr(sizes.SLAB)
PARTS = gl.constexpr(sizes.PARTS)
BUFFERS = gl.constexpr(sizes.PARTS_UNDER_WAY)


@gluon.jit
def packed(value):
    """float32[rows, columns] rounded to bf16, as int32[rows, columns / 2]: a register holds two."""
    even, odd = value.reshape([value.shape[0], value.shape[1] // 2, 2]).split()
    return gl.inline_asm_elementwise(
        "cvt.rn.bf16x2.f32 $0, $2, $1;", "=r,f,f", [even, odd], dtype=gl.int32, is_pure=True, pack=1
    )


@gluon.jit
def unpacked(pairs):
    """bfloat16[rows, columns] of what `packed` made."""
    COLUMNS: gl.constexpr = 2 * pairs.shape[1]
    LAYOUT: gl.constexpr = gl.NVMMADistributedLayout([3, 0], [4, 1], [16, COLUMNS, 16])
    even, odd = gl.inline_asm_elementwise(
        "mov.b32 {$0, $1}, $2;",
        "=h,=h,r",
        [pairs],
        dtype=(gl.bfloat16, gl.bfloat16),
        is_pure=True,
        pack=1,
    )
    return gl.convert_layout(
        gl.join(even, odd).reshape([pairs.shape[0], COLUMNS]), LAYOUT, assert_trivial=True
    )


@gluon.jit
def leave(left, right, PART: gl.constexpr, ring, W: gl.constexpr, out_desc, row, column):
    """A part of the block before goes through shared memory."""
    in_half = halves(left if PART < PARTS // 2 else right)
    staging = ring.out.index(BUFFERS * W + PART % BUFFERS)
    part = unpacked(in_half[PART % BUFFERS])
    tma.store_wait(BUFFERS - 1)
    staging.store(part)
    fence_async_shared()
    async_store(out_desc, [row, column + PART * part.shape[1]], staging)


@gluon.jit
def multiply(acc, keep, ring, W: gl.constexpr, stage, facts):
    """Queue one step along K of this warpgroup's rows on the tensor core."""
    slabs = reinterpret(ring.a, ring.a.dtype, [facts.STAGES * CONSUMERS, SLAB, facts.BLOCK_K], ring.a.layout)
    b = ring.b.index(stage).permute([1, 0])
    return warpgroup_mma(slabs.index(stage * CONSUMERS + W), b, acc, use_acc=keep, is_async=True)


@gluon.jit
def consume_cooperative(W: gl.constexpr, ring, out_desc, a_scale_ptr, b_scale_ptr, m, n, k, facts):
    """A multiplying warpgroup with half of a block's rows. It keeps a finished block as bf16 and goes on to
    the next one at once: a part leaves behind each of the next one's first multiplications. The first block
    has none before it; what leaves then lies below D, and TMA drops it. The steps in which nothing leaves
    have a loop to themselves.
    """
    steps = (k + facts.BLOCK_K - 1) // facts.BLOCK_K
    if facts.A_SCALES != 0:
        row_scales = reinterpret(ring.a_scale, gl.float32, [CONSUMERS, SLAB], ring.a_scale.layout)
    if facts.B_SCALES != 0:
        column_scales = reinterpret(ring.b_scale, gl.float32, [2, facts.BLOCK_N // 2], ring.b_scale.layout)
    acc = gl.zeros([SLAB, facts.BLOCK_N], gl.float32, facts.LAYOUT)
    nothing = halves(acc)[0]
    ROW_OF_HALF: gl.constexpr = gl.SliceLayout(1, nothing.type.layout)
    COLUMN_OF_HALF: gl.constexpr = gl.SliceLayout(0, nothing.type.layout)
    left = packed(nothing)
    right = left
    if facts.AT_END:
        a_whole = gl.load(a_scale_ptr)
        b_whole = gl.load(b_scale_ptr)
    stage = 0
    phase = 0
    row_before = m
    column_before = 0
    row, column = block_of(gl.program_id(0), m, n, facts)
    next_row, next_column = row, column
    for block in range(gl.program_id(0), count_blocks(m, n, facts), gl.num_programs(0)):
        for step in range(min(steps, PARTS)):
            mbarrier.wait(ring.full.index(stage), phase)
            acc = multiply(acc, step > 0, ring, W, stage, facts)
            for part in gl.static_range(PARTS):
                if step == part:
                    leave(left, right, part, ring, W, out_desc, row_before, column_before)
                    if part == 0:
                        next_row, next_column = block_of(block + gl.num_programs(0), m, n, facts)
            acc = warpgroup_mma_wait(1, deps=[acc])
            mbarrier.arrive(ring.empty.index(before(stage, facts)), count=1, pred=step > 0)
            stage, phase = after(stage, phase, facts)
        for _ in range(PARTS, steps):
            mbarrier.wait(ring.full.index(stage), phase)
            acc = multiply(acc, True, ring, W, stage, facts)
            acc = warpgroup_mma_wait(1, deps=[acc])
            release(ring, before(stage, facts))
            stage, phase = after(stage, phase, facts)
        for part in gl.static_range(1, PARTS):
            if steps <= part:
                leave(left, right, part, ring, W, out_desc, row_before, column_before)
        row_before, column_before = row + W * SLAB, column
        row, column = next_row, next_column
        if facts.AT_END:
            a_scale, b_left, b_right = a_whole, b_whole, b_whole
            if facts.A_SCALES != 0:
                a_scale = gl.expand_dims(row_scales.index(W).load(ROW_OF_HALF), 1)
            if facts.B_SCALES != 0:
                b_left = gl.expand_dims(column_scales.index(0).load(COLUMN_OF_HALF), 0)
        acc = warpgroup_mma_wait(0, deps=[acc])
        release(ring, before(stage, facts))
        first, second = halves(acc)
        if facts.AT_END:
            if facts.B_SCALES != 0:
                b_right = gl.expand_dims(column_scales.index(1).load(COLUMN_OF_HALF), 0)
            first = first * a_scale * b_left
            second = second * a_scale * b_right
        left, right = packed(first), packed(second)
        if facts.SCALE_BYTES != 0:
            mbarrier.arrive(ring.scales_empty.index(0), count=1)
    for part in gl.static_range(PARTS):
        leave(left, right, part, ring, W, out_desc, row_before, column_before)
    tma.store_wait(0)
