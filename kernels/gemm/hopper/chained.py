"""The variant whose sum stays in the tensor core: one chain of wgmma over all of K.

kernels.gemm.hopper.kernel has the table of roles. Two warpgroups share a block of 128 × 256, 64 rows each:
fewer bytes for each product than two blocks of 128 × 128. A finished block is rounded to bf16, two numbers in
a register, and leaves in PIECES pieces while the next block is multiplied. Of a D in fp32, registers keep
only the left half beside the next block's sum: the right half leaves at once, while the loading warp fills
the ring.
"""

from triton.experimental import gluon
from triton.experimental.gluon import language as gl
from triton.experimental.gluon.language.nvidia.hopper import (
    mbarrier,
    tma,
    warpgroup_mma,
    warpgroup_mma_wait,
)

from kernels.gemm.hopper import sizes
from kernels.gemm.hopper.gluon_api import reinterpret
from kernels.gemm.hopper.items import count_blocks, count_steps, start_of
from kernels.gemm.hopper.ring import (
    CONSUMERS,
    advance,
    fetch,
    free_scales,
    halves,
    previous,
    release,
    smaller_first,
    store,
)

SLAB = gl.constexpr(sizes.SLAB)
PIECES = gl.constexpr(sizes.PIECES)
BUFFERS = gl.constexpr(sizes.PIECES_UNDER_WAY)


@gluon.jit
def packed(value):
    """int32[rows, columns / 2]: float32[rows, columns] rounded to bf16, two neighbors in a register.

    A thread's 128 sums then take 64 registers. As fp32 they would leave none for the next block's sum.
    """
    even, odd = value.reshape([value.shape[0], value.shape[1] // 2, 2]).split()
    return gl.inline_asm_elementwise(
        "cvt.rn.bf16x2.f32 $0, $2, $1;", "=r,f,f", [even, odd], dtype=gl.int32, is_pure=True, pack=1
    )


@gluon.jit
def unpacked(pairs):
    """bfloat16[rows, columns]: the inverse of `packed`."""
    COLUMNS: gl.constexpr = 2 * pairs.shape[1]
    LAYOUT: gl.constexpr = gl.NVMMADistributedLayout([3, 0], [4, 1], [16, COLUMNS, 16])
    even, odd = gl.inline_asm_elementwise(
        "mov.b32 {$0, $1}, $2;", "=h,=h,r", [pairs], dtype=(gl.bfloat16, gl.bfloat16), is_pure=True, pack=1
    )
    # assert_trivial: neighbors of a thread stay with it, and no number goes through shared memory
    return gl.convert_layout(
        gl.join(even, odd).reshape([pairs.shape[0], COLUMNS]), LAYOUT, assert_trivial=True
    )


@gluon.jit
def copied(value, m):
    """A sum in other registers, bit for bit. m: a number that is not negative.

    In the sum's registers, ptxas would wait for each wgmma of the next block (C7514). ptxas removes a move,
    but not an exclusive or with a zero that it cannot know to be zero.
    """
    return (value.to(gl.int32, bitcast=True) ^ (m >> 31)).to(gl.float32, bitcast=True)


@gluon.jit
def piece_of(left, right, PIECE: gl.constexpr, ring):
    """[SLAB, columns of a piece]: number PIECE of a block in bf16, or of its left half in fp32."""
    if ring.OUT_BYTES == 2:
        in_half = halves(left if PIECE < PIECES // 2 else right)
        piece = unpacked(in_half[PIECE % 2])
    else:
        in_half = halves(halves(left)[PIECE // (PIECES // 2)])
        piece = in_half[PIECE % 2]
    return piece


@gluon.jit
def fetch_piece(PIECE: gl.constexpr, ring, WG: gl.constexpr, out_desc, row, column):
    COLUMNS: gl.constexpr = out_desc.block_type.shape[1]
    staging = ring.out.index(BUFFERS * WG + PIECE % BUFFERS)
    fetch(ring, WG, out_desc, staging, row, column + PIECE * COLUMNS, BUFFERS - 1)


@gluon.jit
def send(piece, PIECE: gl.constexpr, ring, WG: gl.constexpr, out_desc, row, column):
    COLUMNS: gl.constexpr = out_desc.block_type.shape[1]
    staging = ring.out.index(BUFFERS * WG + PIECE % BUFFERS)
    # PIECE % 2 is the phase of `fetched`: it flips with every piece, and a block has an even number of them.
    store(piece, ring, WG, PIECE % 2, out_desc, staging, row, column + PIECE * COLUMNS, BUFFERS - 1)


@gluon.jit
def send_and_fetch(left, right, PIECE: gl.constexpr, ring, WG: gl.constexpr, out_desc, row, column):
    send(piece_of(left, right, PIECE, ring), PIECE, ring, WG, out_desc, row, column)
    if PIECE + 1 < PIECES:
        fetch_piece(PIECE + 1, ring, WG, out_desc, row, column)


@gluon.jit
def multiply(acc, keep, ring, WG: gl.constexpr, stage):
    """Queue one step along K of this warpgroup's rows. The products join the sum if `keep`, else begin it."""
    # TMA stores at most 128 bytes of a row side by side, so a slab is contiguous, MN-major or not.
    SHAPE: gl.constexpr = [ring.BLOCK_K, SLAB] if ring.A_MN_MAJOR else [SLAB, ring.BLOCK_K]
    slabs = reinterpret(ring.a, ring.a.dtype, [ring.STAGES * CONSUMERS] + SHAPE, ring.a.layout)
    a = slabs.index(stage * CONSUMERS + WG)
    b = ring.b.index(stage)
    if ring.A_MN_MAJOR:
        a = a.permute([1, 0])  # [SLAB, BLOCK_K]
    if not ring.B_MN_MAJOR:
        b = b.permute([1, 0])  # [BLOCK_K, BLOCK_N]
    return warpgroup_mma(a, b, acc, use_acc=keep, is_async=True)


@gluon.jit
def consume_chained(WG: gl.constexpr, ring, out_desc, scale_ptrs, mnk):
    """A multiplying warpgroup, with half of a block's rows.

    While a block is multiplied, the block before leaves: a piece behind each of the first PIECES wgmma. For
    the first block, the "block before" lies below D, where TMA writes nothing. In fp32 the pieces of the
    right half have numbers PIECES to 2 · PIECES - 1, and leave first.
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
    if ring.OUT_BYTES == 2:
        left = packed(nothing)
    right = left
    if ring.AT_END:
        a_whole = gl.load(a_scale_ptr)
        b_whole = gl.load(b_scale_ptr)
        if ring.A_SCALES == 0 and ring.B_SCALES == 0:
            a_whole, b_whole = smaller_first(a_whole, b_whole)
    stage = 0
    phase = 0
    row_before = m  # below D
    column_before = 0
    row, column = start_of(gl.program_id(0), m, n, ring)
    next_row, next_column = row, column
    fetch_piece(0, ring, WG, out_desc, row_before, column_before)
    for block in range(gl.program_id(0), count_blocks(m, n, ring), gl.num_programs(0)):
        for step in range(min(steps, PIECES)):
            mbarrier.wait(ring.full.index(stage), phase)
            acc = multiply(acc, step > 0, ring, WG, stage)
            for piece in gl.static_range(PIECES):
                if step == piece:
                    send_and_fetch(left, right, piece, ring, WG, out_desc, row_before, column_before)
                    if piece == 0:  # some integer divisions, hidden behind a wgmma
                        next_row, next_column = start_of(block + gl.num_programs(0), m, n, ring)
            # One wgmma goes on running; the one before it is done, and with it the stage before.
            acc = warpgroup_mma_wait(1, deps=[acc])
            mbarrier.arrive(ring.empty.index(previous(stage, ring)), count=1, pred=step > 0)
            stage, phase = advance(stage, phase, ring)
        # Steps without a store have a loop of their own: it is short, so instructions arrive in time.
        for _ in range(PIECES, steps):
            mbarrier.wait(ring.full.index(stage), phase)
            acc = multiply(acc, True, ring, WG, stage)
            acc = warpgroup_mma_wait(1, deps=[acc])
            release(ring, previous(stage, ring))
            stage, phase = advance(stage, phase, ring)
        for piece in gl.static_range(1, PIECES):
            if steps <= piece:  # K has fewer steps than D has pieces: the rest leaves now
                send_and_fetch(left, right, piece, ring, WG, out_desc, row_before, column_before)
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
            fetch_piece(PIECES, ring, WG, out_desc, row_before, column_before)
        acc = warpgroup_mma_wait(0, deps=[acc])
        release(ring, previous(stage, ring))
        first, second = halves(acc)  # [SLAB, BLOCK_N / 2]
        if ring.AT_END:
            first = first * a_scale * b_left
            if ring.B_SCALES != 0:  # only now: registers do not hold both halves' scales beside the sum
                b_right = gl.expand_dims(column_scales.index(1).load(COLUMN_OF_HALF), 0)
            second = second * a_scale * b_right
        free_scales(ring)
        if ring.OUT_BYTES == 2:
            left, right = packed(first), packed(second)
        else:
            left = copied(first, m)
            for piece in gl.static_range(PIECES):
                now = piece_of(second, second, piece, ring)  # in fp32 it reads its first argument alone
                send(now, PIECES + piece, ring, WG, out_desc, row_before, column_before)
                if piece + 1 < PIECES:
                    fetch_piece(PIECES + piece + 1, ring, WG, out_desc, row_before, column_before)
        fetch_piece(0, ring, WG, out_desc, row_before, column_before)
    for piece in gl.static_range(PIECES):
        send_and_fetch(left, right, piece, ring, WG, out_desc, row_before, column_before)
    tma.store_wait(0)  # a program must not end while TMA still reads its shared memory
