"""The warpgroups that multiply an A which they quantize themselves.

kernels.gemm.fused.quantizing_kernel has the table of roles, rows.py the quantizing.
"""

from triton.experimental import gluon
from triton.experimental.gluon import language as gl
from triton.experimental.gluon.language.nvidia.hopper import mbarrier, tma, warpgroup_mma, warpgroup_mma_wait

from kernels.gemm.fused.rows import LINE, SLAB
from kernels.gemm.hopper import sizes
from kernels.gemm.hopper.gluon_api import reinterpret
from kernels.gemm.hopper.items import block_of, count_blocks, count_steps, share_of
from kernels.gemm.hopper.promoted import promote, single_scale
from kernels.gemm.hopper.ring import ALIGNED_SCALES, CONSUMERS, advance, halves, previous, release, store
from kernels.gemm.hopper.shared_sums import arrive, collected, put

TILE = gl.constexpr(sizes.PROMOTION)
"""Columns that share a scale of B."""


@gluon.jit
def consume_promoted(WG: gl.constexpr, ring, ready, out_desc, split_ptrs, mnk, b_mn_tiles):
    """Sums of codes, promoted each step: for one wgmma's columns, or for two where a block is that wide."""
    m, n, k = mnk
    parts_ptr, arrivals_ptr = split_ptrs
    SHARED: gl.constexpr = ring.BLOCK_M == SLAB
    MINE_M: gl.constexpr = 0 if SHARED else WG
    MINE_N: gl.constexpr = WG if SHARED else 0
    WIDE: gl.constexpr = not SHARED and ring.BLOCK_N > ring.COLUMNS
    SLABS: gl.constexpr = ring.BLOCK_M // SLAB
    HALVES: gl.constexpr = ring.BLOCK_N // ring.COLUMNS
    CODES: gl.constexpr = gl.NVMMASharedLayout(2 * LINE, 8, rank=2)
    ROW: gl.constexpr = gl.SliceLayout(1, ring.LAYOUT)
    # A stage's codes lie in the first half of its memory.
    codes = reinterpret(ring.a, ring.b.dtype, [2 * ring.STAGES * SLABS, SLAB, 2 * LINE], CODES)
    b_parts = reinterpret(
        ring.b, ring.b.dtype, [ring.STAGES * HALVES, ring.COLUMNS, ring.BLOCK_K], ring.b.layout
    )
    row_scales = reinterpret(ring.a_scale, gl.float32, [ring.STAGES * SLABS, SLAB], ring.a_scale.layout)
    staging = ring.out.index(WG)
    steps = count_steps(k, ring)
    gl.assume(steps > 0)
    items = count_blocks(m, n, ring) * ring.RUNS
    zero = gl.zeros([SLAB, ring.COLUMNS], gl.float32, ring.LAYOUT)
    partial = zero
    stage = 0
    phase = 0
    for item in range(gl.program_id(0), items, gl.num_programs(0)):
        block, run, first, stop = share_of(item, m, n, steps, 1, ring)
        if ring.RUNS > 1:
            gl.assume(first < stop)
            partial = zero
        row, column = block_of(block, m, n, ring)
        row += MINE_M * SLAB
        acc = zero
        acc_right = zero
        for step in range(first, stop):
            mbarrier.wait(ready.index(stage), phase)
            mbarrier.wait(ring.full.index(stage), phase)  # over already; it shows what TMA wrote of B
            a = codes.index(2 * stage * SLABS + MINE_M)  # [SLAB, BLOCK_K]
            b = b_parts.index(stage * HALVES + MINE_N).permute([1, 0])  # [BLOCK_K, COLUMNS]
            partial = warpgroup_mma(a, b, partial, use_acc=False, is_async=True)
            if step > first:
                release(ring, previous(stage, ring))  # behind a wgmma, which hides what it costs
            row_scale = row_scales.index(stage * SLABS + MINE_M).load(ROW)  # [SLAB]
            place = step * b_mn_tiles + column // TILE
            column_scale = single_scale(ring, stage, place)
            partial = warpgroup_mma_wait(0, deps=[partial])
            acc = promote(acc, partial, row_scale, column_scale, ring)
            if WIDE:
                b = b_parts.index(stage * HALVES + 1).permute([1, 0])
                partial = warpgroup_mma(a, b, partial, use_acc=False, is_async=True)
                row_scale = row_scales.index(stage * SLABS + MINE_M).load(ROW)
                # B's scales of a step came from the last aligned place before the first of the two.
                column_scale = second_scale(ring, stage, place)
                partial = warpgroup_mma_wait(0, deps=[partial])
                acc_right = promote(acc_right, partial, row_scale, column_scale, ring)
            stage, phase = advance(stage, phase, ring)
        release(ring, previous(stage, ring))
        column += MINE_N * ring.COLUMNS
        if ring.RUNS == 1:
            store(acc, ring, WG, 0, out_desc, staging, row, column, 0)
            if WIDE:
                store(acc_right, ring, WG, 0, out_desc, staging, row, column + ring.COLUMNS, 0)
        else:
            put(WG, acc, parts_ptr, run, block, m - row, m, n, ring)
            if arrive(WG, arrivals_ptr, block, ring):
                acc = collected(WG, acc, parts_ptr, block, m - row, m, n, ring)
                store(acc, ring, WG, 0, out_desc, staging, row, column, 0)
    tma.store_wait(0)  # a program must not end while TMA still reads its shared memory


@gluon.jit
def second_scale(ring, stage, place):
    """float32[1]: the scale of B after the one at `place`, which came with it."""
    ONE: gl.constexpr = gl.SwizzledSharedLayout(1, 1, 1, [0])
    singles = reinterpret(ring.b_scale, gl.float32, [ring.STAGES * ring.B_SCALES, 1], ONE)
    single = singles.index(stage * ring.B_SCALES + place % ALIGNED_SCALES + 1)
    return single.load(gl.SliceLayout(0, ring.LAYOUT))


@gluon.jit
def consume_chained(WG: gl.constexpr, ring, ready, out_desc, mnk):
    """One chain of wgmma over all of K for each half of a block's columns. The block leaves in quarters.

    The right half's wgmma goes on running from one step to the next. The left one's ends within the step: two
    sums that both went on would make ptxas run one wgmma after the other (C7514).
    """
    m, n, k = mnk
    slabs = reinterpret(ring.a, ring.a.dtype, [ring.STAGES * CONSUMERS, SLAB, LINE], ring.a.layout)
    b_parts = reinterpret(ring.b, ring.b.dtype, [ring.STAGES * 2, ring.COLUMNS, ring.BLOCK_K], ring.b.layout)
    staging = ring.out.index(WG)
    steps = count_steps(k, ring)
    gl.assume(steps > 0)
    left = gl.zeros([SLAB, ring.COLUMNS], gl.float32, ring.LAYOUT)
    right = left
    stage = 0
    phase = 0
    for item in range(gl.program_id(0), count_blocks(m, n, ring), gl.num_programs(0)):
        row, column = block_of(item, m, n, ring)
        row += WG * SLAB
        for step in range(steps):
            mbarrier.wait(ready.index(stage), phase)
            mbarrier.wait(ring.full.index(stage), phase)  # over already; it shows what TMA wrote of B
            a = slabs.index(stage * CONSUMERS + WG)  # [SLAB, BLOCK_K]
            b = b_parts.index(stage * 2).permute([1, 0])  # [BLOCK_K, COLUMNS]
            left = warpgroup_mma(a, b, left, use_acc=step > 0, is_async=True)
            b = b_parts.index(stage * 2 + 1).permute([1, 0])
            right = warpgroup_mma(a, b, right, use_acc=step > 0, is_async=True)
            left, right = warpgroup_mma_wait(1, deps=[left, right])
            mbarrier.arrive(ring.empty.index(previous(stage, ring)), count=1, pred=step > 0)
            stage, phase = advance(stage, phase, ring)
        left, right = warpgroup_mma_wait(0, deps=[left, right])
        release(ring, previous(stage, ring))
        PART: gl.constexpr = ring.COLUMNS // 2
        first, second = halves(left)
        store(first, ring, WG, 0, out_desc, staging, row, column, 0)
        store(second, ring, WG, 0, out_desc, staging, row, column + PART, 0)
        first, second = halves(right)
        store(first, ring, WG, 0, out_desc, staging, row, column + 2 * PART, 0)
        store(second, ring, WG, 0, out_desc, staging, row, column + 3 * PART, 0)
    tma.store_wait(0)  # a program must not end while TMA still reads its shared memory
