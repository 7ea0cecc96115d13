"""The chained body for a D of few blocks: RUNS programs share a block, and each chains its own run of K.

kernels.gemm.hopper.kernel has the table of roles. A warpgroup has 64 rows of a block of 128, half the columns
of one of 64, or two slabs of 64 rows. The second warpgroup of a block of 192 has one slab. A run is one chain
of wgmma, as in chained.py. Where a block has several runs, the program that finishes last adds all sums
(shared_sums.py). A finished sum leaves in two halves of its columns: so few numbers at a time need registers
beside it.
"""

from triton.experimental import gluon
from triton.experimental.gluon import language as gl
from triton.experimental.gluon.language.nvidia.hopper import mbarrier, tma, warpgroup_mma, warpgroup_mma_wait

from kernels.gemm.hopper import sizes
from kernels.gemm.hopper.gluon_api import reinterpret
from kernels.gemm.hopper.items import block_of, count_blocks, count_steps, share_of
from kernels.gemm.hopper.ring import CONSUMERS, advance, fetch, halves, previous, release, release_read, store
from kernels.gemm.hopper.shared_sums import arrive, collected, put

SLAB = gl.constexpr(sizes.SLAB)


@gluon.jit
def half_of(value):
    """(left half, right half) of the columns, each laid out as wgmma leaves a sum of so many columns."""
    COLUMNS: gl.constexpr = value.shape[1] // 2
    LAYOUT: gl.constexpr = gl.NVMMADistributedLayout([3, 0], [4, 1], [16, COLUMNS, 16])
    left, right = halves(value)
    # assert_trivial: a thread keeps its numbers
    left = gl.convert_layout(left, LAYOUT, assert_trivial=True)
    return left, gl.convert_layout(right, LAYOUT, assert_trivial=True)


@gluon.jit
def leave(half, HALF: gl.constexpr, ring, WG: gl.constexpr, fetched, out_desc, scales, place):
    """Scale half of a finished sum and send it to D. Returns the phase of the warpgroup's next fetch."""
    row_scale, column_scales, MINE_N = scales
    row, column = place
    staging = ring.out.index(WG)
    if ring.AT_END:
        LAYOUT: gl.constexpr = half.type.layout
        column_scale = column_scales
        if ring.B_SCALES != 0:
            quarters = reinterpret(
                ring.b_scale, gl.float32, [ring.BLOCK_N // half.shape[1], half.shape[1]], ring.b_scale.layout
            )
            column_scale = gl.expand_dims(
                quarters.index(2 * MINE_N + HALF).load(gl.SliceLayout(0, LAYOUT)), 0
            )  # [1, columns]
        if ring.A_SCALES != 0:
            row_scale = gl.expand_dims(row_scale.load(gl.SliceLayout(1, LAYOUT)), 1)  # [SLAB, 1]
        half = half * row_scale * column_scale
    column += HALF * half.shape[1]
    fetch(ring, WG, out_desc, staging, row, column)
    return store(half, ring, WG, fetched, out_desc, staging, row, column, 0)


@gluon.jit
def leave_whole(acc, ring, WG: gl.constexpr, fetched, out_desc, scales, place):
    """Send both halves of a finished sum to D. Returns the phase of the warpgroup's next fetch."""
    left, right = half_of(acc)
    fetched = leave(left, 0, ring, WG, fetched, out_desc, scales, place)
    return leave(right, 1, ring, WG, fetched, out_desc, scales, place)


@gluon.jit
def put_whole(UNIT: gl.constexpr, acc, parts_ptr, run, block, rows, m, n, ring):
    """Write both halves of a sum over a run of K, for whoever comes last."""
    left, right = half_of(acc)
    put(2 * UNIT, left, parts_ptr, run, block, rows, m, n, ring)
    put(2 * UNIT + 1, right, parts_ptr, run, block, rows, m, n, ring)


@gluon.jit
def leave_collected(
    UNIT: gl.constexpr, acc, parts_ptr, block, m, n, ring, WG: gl.constexpr, fetched, out_desc, scales, place
):
    """Add all runs' sums of a unit and send it to D, half by half. Returns the phase of the next fetch."""
    left, right = half_of(acc)
    rows = m - place[0]
    left = collected(2 * UNIT, left, parts_ptr, block, rows, m, n, ring)
    fetched = leave(left, 0, ring, WG, fetched, out_desc, scales, place)
    right = collected(2 * UNIT + 1, right, parts_ptr, block, rows, m, n, ring)
    return leave(right, 1, ring, WG, fetched, out_desc, scales, place)


@gluon.jit
def row_scale_of(UNIT: gl.constexpr, ring, a_scale_ptr):
    """Where the scales of a slab's rows lie, or the one of all of A."""
    row_scale = 1.0
    if ring.AT_END:
        if ring.A_SCALES != 0:
            scales = reinterpret(
                ring.a_scale, gl.float32, [ring.a_scale.shape[1] // SLAB, SLAB], ring.a_scale.layout
            )
            row_scale = scales.index(UNIT)
        else:
            row_scale = gl.load(a_scale_ptr)
    return row_scale


@gluon.jit
def consume_shared(WG: gl.constexpr, ring, out_desc, scale_ptrs, split_ptrs, mnk):
    """A multiplying warpgroup, with one or two slabs of 64 rows or half of the columns, in one run of K.

    A unit is what one wgmma sums: a slab, or half of the columns. With two slabs, the second one's wgmma goes
    on running from one step to the next. The first one's ends within the step: two sums that both went on
    would make ptxas run one wgmma after the other (C7514).
    """
    m, n, k = mnk
    parts_ptr, arrivals_ptr = split_ptrs
    a_scale_ptr, b_scale_ptr = scale_ptrs
    SLABS: gl.constexpr = ring.BLOCK_M // SLAB
    HALVES: gl.constexpr = CONSUMERS if SLABS == 1 else 1
    UNIT: gl.constexpr = 2 * WG if SLABS > CONSUMERS else WG
    TWO: gl.constexpr = SLABS > CONSUMERS and UNIT + 1 < SLABS
    MINE_M: gl.constexpr = 0 if SLABS == 1 else UNIT
    MINE_N: gl.constexpr = WG if SLABS == 1 else 0
    a_parts = reinterpret(ring.a, ring.a.dtype, [ring.STAGES * SLABS, SLAB, ring.BLOCK_K], ring.a.layout)
    b_shape: gl.constexpr = [ring.STAGES * HALVES, ring.COLUMNS, ring.BLOCK_K]
    b_parts = reinterpret(ring.b, ring.b.dtype, b_shape, ring.b.layout)
    column_scale = 1.0
    if ring.AT_END:
        if ring.B_SCALES == 0:
            column_scale = gl.load(b_scale_ptr)
    scales = (row_scale_of(MINE_M, ring, a_scale_ptr), column_scale, MINE_N)
    if TWO:
        more_scales = (row_scale_of(MINE_M + 1, ring, a_scale_ptr), column_scale, MINE_N)
    steps = count_steps(k, ring)
    gl.assume(steps > 0)  # the launcher takes no empty K
    zero = gl.zeros([SLAB, ring.COLUMNS], gl.float32, ring.LAYOUT)
    acc = zero
    acc1 = zero
    stage = 0
    phase = 0
    fetched = 0
    for item in range(gl.program_id(0), count_blocks(m, n, ring) * ring.RUNS, gl.num_programs(0)):
        block, run, first, stop = share_of(item, m, n, steps, 1, ring)
        row, column = block_of(block, m, n, ring)
        row += MINE_M * SLAB
        place = (row, column + MINE_N * ring.COLUMNS)
        below = (row + SLAB, column)
        if ring.RUNS > 1:
            gl.assume(first < stop)  # the launcher makes no more runs than there are steps
            acc = zero  # else its registers are not free where other programs' sums are added
            acc1 = zero
        for step in range(first, stop):
            mbarrier.wait(ring.full.index(stage), phase)
            a = a_parts.index(stage * SLABS + MINE_M)  # [SLAB, BLOCK_K]
            b = b_parts.index(stage * HALVES + MINE_N).permute([1, 0])  # [BLOCK_K, COLUMNS]
            acc = warpgroup_mma(a, b, acc, use_acc=step > first, is_async=True)
            if TWO:
                a = a_parts.index(stage * SLABS + MINE_M + 1)
                acc1 = warpgroup_mma(a, b, acc1, use_acc=step > first, is_async=True)
            # One wgmma goes on running; the one before it is done, and with it the stage before.
            if TWO:
                acc, acc1 = warpgroup_mma_wait(1, deps=[acc, acc1])
            else:
                acc = warpgroup_mma_wait(1, deps=[acc])
            mbarrier.arrive(ring.empty.index(previous(stage, ring)), count=1, pred=step > first)
            stage, phase = advance(stage, phase, ring)
        if TWO:
            acc, acc1 = warpgroup_mma_wait(0, deps=[acc, acc1])
        else:
            acc = warpgroup_mma_wait(0, deps=[acc])
        release(ring, previous(stage, ring))
        if ring.RUNS == 1:
            fetched = leave_whole(acc, ring, WG, fetched, out_desc, scales, place)
            if TWO:
                fetched = leave_whole(acc1, ring, WG, fetched, out_desc, more_scales, below)
            if ring.SCALE_BYTES != 0:
                release_read(ring.scales_empty.index(0))
        else:  # with RUNS a program has one block: nobody waits for its scales' memory
            put_whole(UNIT, acc, parts_ptr, run, block, m - row, m, n, ring)
            if TWO:
                put_whole(UNIT + 1, acc1, parts_ptr, run, block, m - row - SLAB, m, n, ring)
            if arrive(WG, arrivals_ptr, block, ring):
                fetched = leave_collected(
                    UNIT, acc, parts_ptr, block, m, n, ring, WG, fetched, out_desc, scales, place
                )
                if TWO:
                    fetched = leave_collected(
                        UNIT + 1,
                        acc1,
                        parts_ptr,
                        block,
                        m,
                        n,
                        ring,
                        WG,
                        fetched,
                        out_desc,
                        more_scales,
                        below,
                    )
    tma.store_wait(0)  # a program must not end while TMA still reads its shared memory
