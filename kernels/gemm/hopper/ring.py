"""The ring of stages in shared memory, the loading warp, and the stores of D, for all variants of the kernel.

kernels.gemm.hopper.kernel has the table of roles and barriers.
"""

from triton.experimental import gluon
from triton.experimental.gluon import language as gl
from triton.experimental.gluon.language.nvidia.hopper import fence_async_shared, mbarrier, tma

from kernels.gemm.hopper import sizes
from kernels.gemm.hopper.gluon_api import aggregate, async_load, async_store
from kernels.gemm.hopper.items import count_items, count_steps, share_of, start_of

CONSUMERS = gl.constexpr(sizes.CONSUMERS)
SLAB = gl.constexpr(sizes.SLAB)
SQUARE = gl.constexpr(sizes.PROMOTION)
ALIGNED_SCALES = gl.constexpr(4)
"""Fp32 scales in 16 bytes: TMA starts a load at multiples of 16 bytes."""


@aggregate
class Ring:
    """Shared memory, its barriers, and the constants of the kernel.

    - a, b: STAGES blocks of each operand. a_scale, b_scale: STAGES sets of scales, or one, used once a block.
      out: pieces of D on their way out, in memory of their own, or in that of `a`.
    - CHAINS: the tensor core keeps the sum. IN_LOOP, AT_END: scales multiply the sum of each step, or the
      finished sum. ACCUMULATE: D is added into. SPLITS: programs that share a block.
    - A_SCALES, B_SCALES: scales of one load, 0 for an operand with one in all. A_ROWS: rows of A in one load.
      A_MN_MAJOR, B_MN_MAJOR: memory is contiguous along M, or N, not along K. CODE_BYTES, SCALE_BYTES: bytes
      that arrive for a stage.
    - COLUMNS, LAYOUT: columns and register layout of one wgmma's sum. ROOMY: a multiplying warpgroup has most
      of an SM's registers. WITHIN_M, WITHIN_N: blocks that would end beyond D begin earlier (items.start_of).
    """

    a: gl.shared_memory_descriptor
    b: gl.shared_memory_descriptor
    a_scale: gl.shared_memory_descriptor
    b_scale: gl.shared_memory_descriptor
    out: gl.shared_memory_descriptor
    full: gl.shared_memory_descriptor
    empty: gl.shared_memory_descriptor
    scales_empty: gl.shared_memory_descriptor
    fetched: gl.shared_memory_descriptor
    VARIANT: gl.constexpr
    CHAINS: gl.constexpr
    BLOCK_M: gl.constexpr
    BLOCK_N: gl.constexpr
    BLOCK_K: gl.constexpr
    GROUP: gl.tensor
    STAGES: gl.constexpr
    SPLITS: gl.constexpr
    IN_LOOP: gl.constexpr
    AT_END: gl.constexpr
    ACCUMULATE: gl.constexpr
    OUT_BYTES: gl.constexpr
    A_MN_MAJOR: gl.constexpr
    B_MN_MAJOR: gl.constexpr
    A_SCALES: gl.constexpr
    B_SCALES: gl.constexpr
    A_ROWS: gl.constexpr
    CODE_BYTES: gl.constexpr
    SCALE_BYTES: gl.constexpr
    COLUMNS: gl.constexpr
    LAYOUT: gl.constexpr
    ROOMY: gl.constexpr
    WITHIN_M: gl.constexpr
    WITHIN_N: gl.constexpr


@gluon.jit
def advance(stage, phase, ring):
    """(stage, phase) one step on. Back at the first stage the phase flips: its barriers are used again."""
    wrap = stage == ring.STAGES - 1
    return gl.where(wrap, 0, stage + 1), gl.where(wrap, phase ^ 1, phase)


@gluon.jit
def previous(stage, ring):
    return gl.where(stage == 0, ring.STAGES - 1, stage - 1)


@gluon.jit
def produce(a_desc, b_desc, a_scale_desc, b_scale_desc, ring, mnk, a_mn_tiles, b_mn_tiles):
    """The loading warp: fill stage after stage by TMA, as soon as both warpgroups have emptied it.

    a_mn_tiles, b_mn_tiles: numbers from the scales of one step along K to those of the next, gaps included.
    """
    m, n, k = mnk
    steps = count_steps(k, ring)
    STAGE_BYTES: gl.constexpr = ring.CODE_BYTES + ring.SCALE_BYTES
    SINGLE: gl.constexpr = ring.B_SCALES != ring.BLOCK_N
    stage = 0
    # A new barrier counts as one whose phase 1 is over: the first wait for each empty stage returns at once.
    phase = 1
    scales_phase = 1
    for item in range(gl.program_id(0), count_items(m, n, 1, ring), gl.num_programs(0)):
        block, _split, first, stop = share_of(item, m, n, steps, 1, ring)
        row, column = start_of(block, m, n, ring)
        for step in range(first, stop):
            full = ring.full.index(stage)
            mbarrier.wait(ring.empty.index(stage), phase)  # TMA would overwrite blocks under multiplication
            # `full` completes when as many bytes have come as are expected here.
            if ring.IN_LOOP:
                mbarrier.expect(full, STAGE_BYTES)
                number = step * b_mn_tiles + (column // SQUARE if SINGLE else column)
                async_load(a_scale_desc, [step * a_mn_tiles + row], full, ring.a_scale.index(stage))
                # A single scale comes with its neighbors, from the last aligned address before it.
                aligned = number // ALIGNED_SCALES * ALIGNED_SCALES
                async_load(b_scale_desc, [aligned], full, ring.b_scale.index(stage))
            elif ring.SCALE_BYTES != 0:
                # Scales of rows and columns are used once a block. They come with its last step: until
                # `scales_empty` says so, the block before may still need its own.
                last = step == stop - 1
                mbarrier.wait(ring.scales_empty.index(0), scales_phase, pred=last)
                mbarrier.expect(full, STAGE_BYTES, pred=last)
                mbarrier.expect(full, ring.CODE_BYTES, pred=not last)
                if ring.A_SCALES != 0:
                    async_load(a_scale_desc, [row], full, ring.a_scale.index(0), pred=last)
                if ring.B_SCALES != 0:
                    async_load(b_scale_desc, [column], full, ring.b_scale.index(0), pred=last)
            else:
                mbarrier.expect(full, ring.CODE_BYTES)
            a = ring.a.index(stage)  # [BLOCK_M, BLOCK_K]
            if ring.A_ROWS < ring.BLOCK_M:
                # TMA is slow to write zeros, so only the rows of a short A are loaded. Old shared memory
                # below them becomes rows of D that are not stored.
                a = a.slice(0, ring.A_ROWS)
            if ring.A_MN_MAJOR:
                async_load(a_desc, [step * ring.BLOCK_K, row], full, a)
            else:
                async_load(a_desc, [row, step * ring.BLOCK_K], full, a)
            b = ring.b.index(stage)  # [BLOCK_N, BLOCK_K]
            if ring.B_MN_MAJOR:
                async_load(b_desc, [step * ring.BLOCK_K, column], full, b)
            else:
                async_load(b_desc, [column, step * ring.BLOCK_K], full, b)
            stage, phase = advance(stage, phase, ring)
        scales_phase = scales_phase ^ 1  # one set of scales, used once a block


@gluon.jit
def release(ring, stage):
    mbarrier.arrive(ring.empty.index(stage), count=1)


@gluon.jit
def release_last(ring, stage):
    """Release a block's last stage.

    An earlier stage is released behind the next wgmma, which begins after the stage's scales are read. Behind
    the last stage no wgmma begins: the fence of release_read takes its place.
    """
    if ring.IN_LOOP:
        release_read(ring.empty.index(stage))
    else:
        release(ring, stage)


@gluon.jit
def release_read(barrier):
    """Tell the loading warp that TMA may overwrite memory that this warpgroup has read into registers.

    A barrier of threads does not wait for reads under way, which can take longer than TMA's next load while
    other processes take the GPU. The fence does. Source: PTX ISA, fence.proxy.async orders reads by threads
    before writes by TMA.
    """
    fence_async_shared()
    mbarrier.arrive(barrier, count=1)


@gluon.jit
def free_scales(ring):
    """Let the loading warp overwrite scales that are used once a block: this warpgroup has read them."""
    if ring.AT_END and ring.SCALE_BYTES != 0:
        release_read(ring.scales_empty.index(0))


@gluon.jit
def smaller_first(a_scale, b_scale):
    """Two scales of whole tensors, the smaller one first: a sum times 1e36 could be infinite. NaN stays."""
    is_smaller = a_scale < b_scale
    return gl.where(is_smaller, a_scale, b_scale), gl.where(is_smaller, b_scale, a_scale)


@gluon.jit
def apply_scales(acc, a_scale, b_scale, a_scale_ptr, b_scale_ptr, ring):
    """fl32(fl32(acc · sA) · sB): scales of rows and columns from shared memory, or one of a whole operand."""
    if ring.A_SCALES == 0 and ring.B_SCALES == 0:
        smaller, larger = smaller_first(gl.load(a_scale_ptr), gl.load(b_scale_ptr))
        return acc * smaller * larger
    else:
        if ring.A_SCALES != 0:
            acc = acc * gl.expand_dims(a_scale.load(gl.SliceLayout(1, ring.LAYOUT)), 1)  # [rows, 1]
        else:
            acc = acc * gl.load(a_scale_ptr)
        if ring.B_SCALES != 0:
            acc = acc * gl.expand_dims(b_scale.load(gl.SliceLayout(0, ring.LAYOUT)), 0)  # [1, columns]
        else:
            acc = acc * gl.load(b_scale_ptr)
        return acc


@gluon.jit
def halves(value):
    """The left and the right half of the columns. A thread holds numbers of both, so nothing moves."""
    return value.reshape([value.shape[0], 2, value.shape[1] // 2]).permute([0, 2, 1]).split()


@gluon.jit
def fetch(ring, WG: gl.constexpr, out_desc, staging, row, column, PENDING: gl.constexpr):
    """Load a piece of the old D into its staging memory, if D is added into. PENDING: as in `store`."""
    if ring.ACCUMULATE:
        tma.store_wait(PENDING)  # the earlier piece has left this memory
        mbarrier.expect(ring.fetched.index(WG), out_desc.block_type.nbytes)
        async_load(out_desc, [row, column], ring.fetched.index(WG), staging)


@gluon.jit
def store(value, ring, WG: gl.constexpr, phase, out_desc, staging, row, column, PENDING: gl.constexpr):
    """Send a piece of D through shared memory; give the phase of this warpgroup's next fetch.

    PENDING earlier pieces may still be on their way: they leave through other memory than `staging`.
    """
    if ring.ACCUMULATE:
        mbarrier.wait(ring.fetched.index(WG), phase)
        value = value + staging.load(value.type.layout)
    else:
        tma.store_wait(PENDING)  # `staging` may be overwritten once TMA has read it
    staging.store(value.to(staging.dtype))
    fence_async_shared()  # TMA reads through another path: it must see the threads' writes
    async_store(out_desc, [row, column], staging)
    return phase ^ 1
