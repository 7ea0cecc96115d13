"""The body whose sum stays in the tensor core: one chain of wgmma over all of K.

kernels.gemm.hopper.kernel has the table of roles. The two warpgroups share a block of 128 × 256, 64 rows
each: it loads fewer bytes for each product than two blocks of 128 × 128. A finished block is rounded to bf16,
two numbers in a register, and leaves in PARTS parts while the next block is multiplied.

Where D is fp32, registers keep only the left half of a finished block beside the next one's sum. So the right
half leaves at once, in as many parts, while the loading warp fills the ring.
"""

from triton.experimental import gluon
from triton.experimental.gluon import language as gl
from triton.experimental.gluon.language.nvidia.hopper import mbarrier, tma, warpgroup_mma_wait

from kernels.gemm.fused.encode import packed_codes
from kernels.gemm.hopper.chained_last import share_last
from kernels.gemm.hopper.chained_parts import (
    PARTS,
    SLAB,
    copied,
    encoded_half,
    fetch,
    leave,
    multiply,
    packed,
    part_of,
    send,
)
from kernels.gemm.hopper.gluon_api import reinterpret
from kernels.gemm.hopper.items import block_of, count_blocks, count_steps
from kernels.gemm.hopper.ring import CONSUMERS, advance, halves, previous, release, release_read


@gluon.jit
def consume_chained(WG: gl.constexpr, ring, out_desc, scale_ptrs, split_ptrs, mnk):
    """A multiplying warpgroup, with half of a block's rows.

    While a block is multiplied, the one before leaves: a part behind each of the first PARTS wgmma. The first
    block has none before it. Its "block before" lies below D, where TMA writes nothing.

    In fp32 the parts of the right half have numbers PARTS to 2 · PARTS - 1, and leave first.
    """
    m, n, k = mnk
    a_scale_ptr, b_scale_ptr = scale_ptrs
    steps = count_steps(k, ring)
    if ring.A_SCALES != 0:
        row_scales = reinterpret(ring.a_scale, gl.float32, [CONSUMERS, SLAB], ring.a_scale.layout)
    if ring.B_SCALES != 0:
        column_scales = reinterpret(ring.b_scale, gl.float32, [2, ring.BLOCK_N // 2], ring.b_scale.layout)
    acc = gl.zeros([SLAB, ring.BLOCK_N], gl.float32, ring.LAYOUT)
    nothing = halves(acc)[0]
    ROW_OF_HALF: gl.constexpr = gl.SliceLayout(1, nothing.type.layout)
    COLUMN_OF_HALF: gl.constexpr = gl.SliceLayout(0, nothing.type.layout)
    left = nothing  # [SLAB, BLOCK_N / 2] fp32, or [SLAB, BLOCK_N / 4] with two bf16 in a register
    if ring.INTO is not None:  # [SLAB, BLOCK_N / 32, 4]: four codes in a register
        left = packed_codes(nothing, ring)
    elif ring.OUT_BYTES == 2:
        left = packed(nothing)
    right = left
    if ring.AT_END:
        a_whole = gl.load(a_scale_ptr)
        b_whole = gl.load(b_scale_ptr)
    stage = 0
    phase = 0
    row_before = m  # below D
    column_before = 0
    row, column = block_of(gl.program_id(0), m, n, ring)
    next_row, next_column = row, column
    fetch(0, ring, WG, out_desc, row_before, column_before)
    whole = ring.WHOLE if ring.SHARES_LAST else count_blocks(m, n, ring)
    for block in range(gl.program_id(0), whole, gl.num_programs(0)):
        for step in range(min(steps, PARTS)):
            mbarrier.wait(ring.full.index(stage), phase)
            acc = multiply(acc, step > 0, ring, WG, stage)
            for part in gl.static_range(PARTS):
                if step == part:
                    leave(left, right, part, ring, WG, out_desc, row_before, column_before)
                    if part == 0:  # some integer divisions, hidden behind a wgmma
                        next_row, next_column = block_of(block + gl.num_programs(0), m, n, ring)
            # One wgmma goes on running; the one before it is done, and with it the stage before.
            acc = warpgroup_mma_wait(1, deps=[acc])
            mbarrier.arrive(ring.empty.index(previous(stage, ring)), count=1, pred=step > 0)
            stage, phase = advance(stage, phase, ring)
        # Steps in which nothing leaves have a loop of their own: it is short, so instructions arrive in time.
        for _ in range(PARTS, steps):
            mbarrier.wait(ring.full.index(stage), phase)
            acc = multiply(acc, True, ring, WG, stage)
            acc = warpgroup_mma_wait(1, deps=[acc])
            release(ring, previous(stage, ring))
            stage, phase = advance(stage, phase, ring)
        for part in gl.static_range(1, PARTS):
            if steps <= part:  # K has fewer steps than D has parts: the rest leaves now
                leave(left, right, part, ring, WG, out_desc, row_before, column_before)
        row_before, column_before = row + WG * SLAB, column
        row, column = next_row, next_column
        if ring.AT_END:
            # Read the scales before waiting for the last wgmma. They came with the block's last step.
            a_scale, b_left, b_right = a_whole, b_whole, b_whole
            if ring.A_SCALES != 0:
                a_scale = gl.expand_dims(row_scales.index(WG).load(ROW_OF_HALF), 1)  # [SLAB, 1]
            if ring.B_SCALES != 0:
                b_left = gl.expand_dims(column_scales.index(0).load(COLUMN_OF_HALF), 0)  # [1, BLOCK_N / 2]
        if ring.OUT_BYTES == 4:
            fetch(PARTS, ring, WG, out_desc, row_before, column_before)
        acc = warpgroup_mma_wait(0, deps=[acc])
        release(ring, previous(stage, ring))
        first, second = halves(acc)  # [SLAB, BLOCK_N / 2]
        if ring.AT_END:
            first = first * a_scale * b_left
        if ring.INTO is not None:
            left = encoded_half(first, ring, out_desc, row_before, column_before)
        if ring.AT_END:
            if ring.B_SCALES != 0:  # only now: registers do not hold both halves' scales beside the sum
                b_right = gl.expand_dims(column_scales.index(1).load(COLUMN_OF_HALF), 0)
            second = second * a_scale * b_right
        if ring.SCALE_BYTES != 0:
            release_read(ring.scales_empty.index(0))
        if ring.INTO is not None:
            half = column_before + ring.BLOCK_N // 2
            right = encoded_half(second, ring, out_desc, row_before, half)
        elif ring.OUT_BYTES == 2:
            left, right = packed(first), packed(second)
        else:
            left = copied(first, m)
            for part in gl.static_range(PARTS):
                now = part_of(second, second, part, ring)
                send(now, PARTS + part, ring, WG, out_desc, row_before, column_before)
                if part + 1 < PARTS:
                    fetch(PARTS + part + 1, ring, WG, out_desc, row_before, column_before)
        fetch(0, ring, WG, out_desc, row_before, column_before)
    for part in gl.static_range(PARTS):
        leave(left, right, part, ring, WG, out_desc, row_before, column_before)
    if ring.SHARES_LAST:
        share_last(stage, phase, WG, ring, out_desc, scale_ptrs, split_ptrs, mnk)
    tma.store_wait(0)  # a program must not end while TMA still reads its shared memory
