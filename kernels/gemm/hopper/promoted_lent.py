"""The specialized kernel's warpgroup that promotes, where D is bf16: it leaves through memory of A. See
kernels.gemm.hopper.kernel.
"""

from triton.experimental import gluon
from triton.experimental.gluon import language as gl
from triton.experimental.gluon.language.nvidia.hopper import mbarrier, tma, warpgroup_mma, warpgroup_mma_wait

from kernels.gemm.hopper.gluon_api import reinterpret
from kernels.gemm.hopper.promoted import SLAB, SLABS, column_scales, promote
from kernels.gemm.hopper.ring import CONSUMERS, after, before, block_of, count_blocks, release, scaled, store

EACH = gl.constexpr(CONSUMERS.value * SLABS.value)
"""Slabs of a block."""
FIRST_STEP, LATER_STEP, LAST_STEP = gl.constexpr(0), gl.constexpr(1), gl.constexpr(2)


@gluon.jit
def scales_of(ring, stage, slab, facts):
    """float32[SLAB] of a slab's rows, where they change along K."""
    scale = 0.0
    if facts.IN_LOOP:
        scales = reinterpret(ring.a_scale, gl.float32, [facts.STAGES * EACH, SLAB], ring.a_scale.layout)
        scale = scales.index(stage * EACH + slab).load(gl.SliceLayout(1, facts.LAYOUT))
    return scale


@gluon.jit
def begin(partial, row_scale, column_scale, facts):
    """The sum after the first block of K: what `promote` makes of a sum of zero, which need not be there."""
    if not facts.IN_LOOP:
        acc = gl.inline_asm_elementwise(
            "add.rn.f32 $0, $1, 0f00000000;", "=f,f", [partial], dtype=gl.float32, is_pure=True, pack=1
        )
    else:
        acc = gl.inline_asm_elementwise(
            "fma.rn.f32 $0, $1, $2, 0f00000000;",
            "=f,f,f",
            [partial, gl.expand_dims(row_scale, 1) * gl.expand_dims(column_scale, 0)],
            dtype=gl.float32,
            is_pure=True,
            pack=1,
        )
    return acc


@gluon.jit
def add(AT: gl.constexpr, acc, partial, row_scale, column_scale, facts):
    """A slab's sum after one more step."""
    if AT == FIRST_STEP:
        acc = begin(partial, row_scale, column_scale, facts)
    else:
        acc = promote(acc, partial, row_scale, column_scale, facts)
    return acc


@gluon.jit
def ended(acc, slab, ring, a_scale_ptr, b_scale_ptr, facts):
    """A slab's sum in the unit of D, where scales come at the end."""
    if facts.AT_END:
        rows = reinterpret(ring.a_scale, gl.float32, [EACH, SLAB], ring.a_scale.layout)
        acc = scaled(acc, rows.index(slab), ring.b_scale.index(0), a_scale_ptr, b_scale_ptr, facts)
    return acc


@gluon.jit
def multiply(
    AT: gl.constexpr, W: gl.constexpr, ring, out_desc, scale_ptrs, sums, at, place, leaving, neighbor, facts
):
    """One step along K for both slabs: (the partial sum and theirs), (the next stage and its phase). leaving:
    row and column of the block that leaves, at the first step the one before. neighbor: whether there is one
    before, or at the last step one after. place: of the single scale among B's.
    """
    FIRST: gl.constexpr = W * SLABS
    SECOND: gl.constexpr = FIRST + 1
    a_scale_ptr, b_scale_ptr = scale_ptrs
    partial, acc0, acc1 = sums
    stage, phase = at
    row, column = leaving
    slabs = reinterpret(ring.a, ring.a.dtype, [facts.STAGES * EACH, SLAB, facts.BLOCK_K], ring.a.layout)
    b = ring.b.index(stage).permute([1, 0])
    behind = before(stage, facts)
    lent = ring.out.index(behind * CONSUMERS + W)
    partial = warpgroup_mma(slabs.index(stage * EACH + FIRST), b, partial, use_acc=False, is_async=True)
    if AT == LATER_STEP:
        release(ring, behind)
    if AT == FIRST_STEP:
        if neighbor:
            tma.store_wait(0)
            release(ring, before(behind, facts))
    row_scale = scales_of(ring, stage, FIRST, facts)
    column_scale = 0.0
    if facts.IN_LOOP:
        column_scale = column_scales(ring, stage, place, facts)
    if AT == FIRST_STEP:
        if neighbor:
            store(acc1, ring, W, 0, out_desc, lent, row + SLAB, column, 0, facts)
    partial = warpgroup_mma_wait(0, deps=[partial])
    acc0 = add(AT, acc0, partial, row_scale, column_scale, facts)
    partial = warpgroup_mma(slabs.index(stage * EACH + SECOND), b, partial, use_acc=False, is_async=True)
    row_scale = scales_of(ring, stage, SECOND, facts)
    stage, phase = after(stage, phase, facts)
    if AT == FIRST_STEP:
        if neighbor:
            tma.store_wait(0)
            release(ring, behind)
    mbarrier.wait(ring.full.index(stage), phase, pred=neighbor if AT == LAST_STEP else True)
    if AT == LAST_STEP:
        acc0 = ended(acc0, FIRST, ring, a_scale_ptr, b_scale_ptr, facts)
        store(acc0, ring, W, 0, out_desc, lent, row, column, 0, facts)
    partial = warpgroup_mma_wait(0, deps=[partial])
    acc1 = add(AT, acc1, partial, row_scale, column_scale, facts)
    return (partial, acc0, acc1), (stage, phase)


@gluon.jit
def consume_lent(W: gl.constexpr, ring, out_desc, a_scale_ptr, b_scale_ptr, m, n, k, b_mn_tiles, facts):
    """A multiplying warpgroup with two slabs, as in promoted.py, and no memory of its own for D.

    A slab of D in bf16 takes as much memory as this warpgroup's part of A in a stage, which nobody else
    multiplies. So a block's last two stages are lent to D, and the loading warp gets them when it has left:
    the first slab leaves during the block's last multiplication, the second during the next block's first,
    before its sum needs the registers. First and last steps are apart, which keeps the loop between them
    short: else fetching instructions would delay the next multiplication.
    """
    steps = (k + facts.BLOCK_K - 1) // facts.BLOCK_K
    gl.assume(steps > 1)  # the launcher sees to it
    zero = gl.zeros([SLAB, facts.BLOCK_N], gl.float32, facts.LAYOUT)
    scale_ptrs = (a_scale_ptr, b_scale_ptr)
    sums = (zero, zero, zero)
    at = (0, 0)
    leaving = (0, 0)
    row, column = block_of(gl.program_id(0), m, n, facts)
    blocks = count_blocks(m, n, facts)
    mbarrier.wait(ring.full.index(0), 0)
    for block in range(gl.program_id(0), blocks, gl.num_programs(0)):
        place = column // facts.BLOCK_N
        first = block == gl.program_id(0)
        sums, at = multiply(
            FIRST_STEP, W, ring, out_desc, scale_ptrs, sums, at, place, leaving, not first, facts
        )
        leaving = (row + W * SLABS * SLAB, column)
        for _ in range(1, steps - 1):
            place += b_mn_tiles
            sums, at = multiply(
                LATER_STEP, W, ring, out_desc, scale_ptrs, sums, at, place, leaving, True, facts
            )
        following = block + gl.num_programs(0)
        row, column = block_of(following, m, n, facts)
        sums, at = multiply(
            LAST_STEP,
            W,
            ring,
            out_desc,
            scale_ptrs,
            sums,
            at,
            place + b_mn_tiles,
            leaving,
            following < blocks,
            facts,
        )
        partial, acc0, acc1 = sums
        acc1 = ended(acc1, W * SLABS + 1, ring, a_scale_ptr, b_scale_ptr, facts)
        sums = (partial, acc0, acc1)
        if facts.AT_END and facts.SCALE_BYTES != 0:
            mbarrier.arrive(ring.scales_empty.index(0), count=1)
    partial, acc0, acc1 = sums
    row, column = leaving
    lent = ring.out.index(before(at[0], facts) * CONSUMERS + W)
    store(acc1, ring, W, 0, out_desc, lent, row + SLAB, column, 0, facts)
    tma.store_wait(0)
