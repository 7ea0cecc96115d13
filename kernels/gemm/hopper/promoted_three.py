"""The promoted body in which three warpgroups multiply, a slab each.

kernels.gemm.hopper.kernel has the table of roles. A block is 192 × 128. Scales come at the end of K, or those
of rows and columns along K. 1 × 128 · 1 × 128 asks for a product of scales for every number of a partial sum:
adding takes two instructions a number, not one. The tensor core keeps its sums in registers, too. While a
warp adds without a pause, the other warps' wgmma is slower, so both together take nearly as long as one after
the other. With three warpgroups fewer cycles are left in which nobody does either. Turns at the tensor core
gain nothing: they only say who waits.

A thread has 160 registers: 64 numbers of its slab's sum and 64 of the partial sum. Scales of columns take the
rest, a few at a time. So they are read from shared memory when the partial sum is there, not before. Where
programs share D's blocks, shared_sums.py adds their sums up.
"""

from triton.experimental import gluon
from triton.experimental.gluon import language as gl
from triton.experimental.gluon.language.nvidia.hopper import mbarrier, tma, warpgroup_mma, warpgroup_mma_wait

from kernels.gemm.hopper import sizes
from kernels.gemm.hopper.gluon_api import reinterpret
from kernels.gemm.hopper.items import block_of, count_items, count_steps, share_of
from kernels.gemm.hopper.promoted import SLAB, promote
from kernels.gemm.hopper.ring import (
    advance,
    apply_scales,
    fetch,
    halves,
    previous,
    release,
    release_last,
    release_read,
    store,
)
from kernels.gemm.hopper.shared_sums import arrive, collected, put

THREE = gl.constexpr(sizes.THREE)
"""Warpgroups that multiply, and slabs of a block."""


@gluon.jit
def scaled(acc, ring, WG: gl.constexpr, scale_ptrs):
    """A finished slab, multiplied by scales that come at the end of K."""
    if ring.AT_END:
        SETS: gl.constexpr = ring.a_scale.shape[0] * ring.a_scale.shape[1] // SLAB
        rows = reinterpret(ring.a_scale, gl.float32, [SETS, SLAB], ring.a_scale.layout)
        acc = apply_scales(acc, rows.index(WG), ring.b_scale.index(0), *scale_ptrs, ring)
    return acc


@gluon.jit
def leave(acc, ring, WG: gl.constexpr, fetched, out_desc, row, column):
    """Send a slab of D, whole or in halves of its columns. Returns the phase of the next fetch."""
    staging = ring.out.index(WG)  # [SLAB, columns of a part]
    COLUMNS: gl.constexpr = staging.shape[1]
    fetch(ring, WG, out_desc, staging, row, column)
    if ring.BLOCK_N == COLUMNS:
        fetched = store(acc, ring, WG, fetched, out_desc, staging, row, column, 0)
    else:
        left, right = halves(acc)
        fetched = store(left, ring, WG, fetched, out_desc, staging, row, column, 0)
        fetch(ring, WG, out_desc, staging, row, column + COLUMNS)
        fetched = store(right, ring, WG, fetched, out_desc, staging, row, column + COLUMNS, 0)
    return fetched


@gluon.jit
def leave_alone(acc, ring, WG: gl.constexpr, fetched, out_desc, scale_ptrs, place):
    """Scale a slab that nobody shares, and send it to D. Returns the phase of the next fetch."""
    row, column = place
    acc = scaled(acc, ring, WG, scale_ptrs)
    if ring.AT_END and ring.SCALE_BYTES != 0:
        release_read(ring.scales_empty.index(0))
    return leave(acc, ring, WG, fetched, out_desc, row, column)


@gluon.jit
def add_up(acc, split_ptrs, within, ring, WG: gl.constexpr, fetched, out_desc, scale_ptrs, place):
    """Pass on a sum over a run of K. Whoever comes last adds all runs' and sends the slab to D."""
    parts_ptr, arrivals_ptr = split_ptrs
    run, block, rows, m, n = within
    row, column = place
    put(WG, acc, parts_ptr, run, block, rows, m, n, ring)
    if arrive(WG, arrivals_ptr, block, ring):
        total = collected(WG, acc, parts_ptr, block, rows, m, n, ring)
        total = scaled(total, ring, WG, scale_ptrs)
        fetched = leave(total, ring, WG, fetched, out_desc, row, column)
    return fetched


@gluon.jit
def consume_three(WG: gl.constexpr, ring, out_desc, scale_ptrs, split_ptrs, mnk):
    """A multiplying warpgroup, with 64 rows of a block of 192.

    While its slab is multiplied, it waits for the next stage. While the others' are, it adds.
    """
    m, n, k = mnk
    SCALED: gl.constexpr = ring.a_scale.shape[1] // SLAB  # four, not three: TMA's boxes are powers of two
    ROW: gl.constexpr = gl.SliceLayout(1, ring.LAYOUT)
    COLUMN: gl.constexpr = gl.SliceLayout(0, ring.LAYOUT)
    slabs = reinterpret(ring.a, ring.a.dtype, [ring.STAGES * THREE, SLAB, ring.BLOCK_K], ring.a.layout)
    SETS: gl.constexpr = ring.a_scale.shape[0]
    row_scales = reinterpret(ring.a_scale, gl.float32, [SETS * SCALED, SLAB], ring.a_scale.layout)
    steps = count_steps(k, ring)
    gl.assume(steps > 0)  # the launcher takes no empty K
    zero = gl.zeros([SLAB, ring.BLOCK_N], gl.float32, ring.LAYOUT)
    partial = zero  # carried from one wgmma to the next, so that all of them use the same registers
    stage = 0
    phase = 0
    fetched = 0
    for item in range(gl.program_id(0), count_items(m, n, 1, ring), gl.num_programs(0)):
        block, run, first, stop = share_of(item, m, n, steps, 1, ring)
        if ring.RUNS > 1:
            gl.assume(first < stop)  # the launcher makes no more runs than there are steps
            partial = zero  # else its registers are not free where other programs' sums are added
        row, column = block_of(block, m, n, ring)
        row += WG * SLAB
        acc = zero
        mbarrier.wait(ring.full.index(stage), phase)
        for step in range(first, stop):
            a = slabs.index(stage * THREE + WG)  # [SLAB, BLOCK_K]
            b = ring.b.index(stage).permute([1, 0])  # [BLOCK_K, BLOCK_N]
            partial = warpgroup_mma(a, b, partial, use_acc=False, is_async=True)
            if step > first:
                release(ring, previous(stage, ring))  # late, behind a wgmma: arriving costs a barrier
            row_scale = 0.0
            if ring.IN_LOOP:
                row_scale = row_scales.index(stage * SCALED + WG).load(ROW)  # [SLAB]
                scales = ring.b_scale.index(stage)  # [BLOCK_N]
            stage, phase = advance(stage, phase, ring)
            # The next step's stage, while this one's slab is multiplied.
            mbarrier.wait(ring.full.index(stage), phase, pred=step + 1 < stop)
            partial = warpgroup_mma_wait(0, deps=[partial])
            if ring.IN_LOOP:
                acc = promote(acc, partial, row_scale, scales.load(COLUMN), ring)
            else:
                acc = promote(acc, partial, 0.0, 0.0, ring)
        release_last(ring, previous(stage, ring))
        place = (row, column)
        if ring.RUNS == 1:
            fetched = leave_alone(acc, ring, WG, fetched, out_desc, scale_ptrs, place)
        else:
            within = (run, block, m - row, m, n)
            if ring.SHARES_LAST:
                if item < ring.WHOLE:
                    fetched = leave_alone(acc, ring, WG, fetched, out_desc, scale_ptrs, place)
                else:
                    fetched = add_up(acc, split_ptrs, within, ring, WG, fetched, out_desc, scale_ptrs, place)
                    if ring.AT_END and ring.SCALE_BYTES != 0:
                        release_read(ring.scales_empty.index(0))
            else:  # a program has one block: nobody waits for its scales' memory
                fetched = add_up(acc, split_ptrs, within, ring, WG, fetched, out_desc, scale_ptrs, place)
    tma.store_wait(0)  # a program must not end while TMA still reads its shared memory
