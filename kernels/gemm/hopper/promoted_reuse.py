"""The promoted variant for D in bf16: its epilogue reuses memory of A, so that one more stage fits.

kernels.gemm.hopper.kernel has the table of roles, promoted.py the sums. A slab of D in bf16 is as large as a
warpgroup's part of A in a stage, 2 · 64 rows of 128 bytes. Nobody else multiplies that part. So D takes the
block's last two stages until it has left:

| step of the block | while slab 0 is multiplied | while slab 1 is multiplied |
|---|---|---|
| first | slab 1 of the block before leaves, through its last stage | that stage is released |
| later | the stage before is released | |
| last | | slab 0 leaves, through the last stage but one |

promoted.py stays for scales of columns along K (1 × 128 · 1 × 128): their 32 registers more spill here with
Triton 3.6 to 3.9, most where D is added into.
"""

from triton.experimental import gluon
from triton.experimental.gluon import language as gl
from triton.experimental.gluon.language.nvidia.hopper import mbarrier, tma, warpgroup_mma, warpgroup_mma_wait

from kernels.gemm.hopper.gluon_api import reinterpret
from kernels.gemm.hopper.items import count_blocks, count_steps, start_of
from kernels.gemm.hopper.promoted import SLAB, SLABS, promote, single_scale
from kernels.gemm.hopper.ring import CONSUMERS, advance, apply_scales, free_scales, previous, release, store

EACH = gl.constexpr(CONSUMERS.value * SLABS.value)
FIRST_STEP, LATER_STEP, LAST_STEP = gl.constexpr(0), gl.constexpr(1), gl.constexpr(2)


@gluon.jit
def scales_of(ring, stage, slab):
    """float32[SLAB]: the scales of a slab's rows, if they change along K."""
    scale = 0.0
    if ring.IN_LOOP:
        scales = reinterpret(ring.a_scale, gl.float32, [ring.STAGES * EACH, SLAB], ring.a_scale.layout)
        scale = scales.index(stage * EACH + slab).load(gl.SliceLayout(1, ring.LAYOUT))
    return scale


@gluon.jit
def begin(partial, row_scale, column_scale, ring):
    """`promote` onto a sum of zero. No register holds the zeros: the block before takes them."""
    if not ring.IN_LOOP:
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
def add(AT: gl.constexpr, acc, partial, row_scale, column_scale, ring):
    if AT == FIRST_STEP:
        acc = begin(partial, row_scale, column_scale, ring)
    else:
        acc = promote(acc, partial, row_scale, column_scale, ring)
    return acc


@gluon.jit
def scaled(acc, slab, ring, scale_ptrs):
    if ring.AT_END:
        rows = reinterpret(ring.a_scale, gl.float32, [EACH, SLAB], ring.a_scale.layout)
        a_scale_ptr, b_scale_ptr = scale_ptrs
        acc = apply_scales(acc, rows.index(slab), ring.b_scale.index(0), a_scale_ptr, b_scale_ptr, ring)
    return acc


@gluon.jit
def stage_memory(stage, WG: gl.constexpr, ring):
    """[SLAB, BLOCK_N] of D, over this warpgroup's two slabs of A in a stage."""
    return ring.out.index(stage * CONSUMERS + WG)


@gluon.jit
def multiply(AT: gl.constexpr, WG: gl.constexpr, ring, out_desc, scale_ptrs, sums, at, number, leaving, more):
    """One step along K for both slabs. Returns (partial sum, sums of both slabs), (next stage, its phase).

    number: the single scale's, among B's. leaving: (row, column) of the block that leaves, in the first step
    the block before. more: in the first step, a block came before; in the last step, one comes after.
    """
    FIRST: gl.constexpr = WG * SLABS
    SECOND: gl.constexpr = FIRST + 1
    partial, acc0, acc1 = sums
    stage, phase = at
    row, column = leaving
    slabs = reinterpret(ring.a, ring.a.dtype, [ring.STAGES * EACH, SLAB, ring.BLOCK_K], ring.a.layout)
    b = ring.b.index(stage).permute([1, 0])  # [BLOCK_K, BLOCK_N]
    behind = previous(stage, ring)
    staging = stage_memory(behind, WG, ring)  # [SLAB, BLOCK_N], over this warpgroup's two slabs of A
    partial = warpgroup_mma(slabs.index(stage * EACH + FIRST), b, partial, use_acc=False, is_async=True)
    if AT == LATER_STEP:
        release(ring, behind)
    if AT == FIRST_STEP:
        if more:
            tma.store_wait(0)  # slab 0 of the block before has left, and its stage is free
            release(ring, previous(behind, ring))
    row_scale = scales_of(ring, stage, FIRST)
    column_scale = 0.0
    if ring.IN_LOOP:
        column_scale = single_scale(ring, stage, number)
    if AT == FIRST_STEP:
        if more:  # before this block's sum of slab 1 needs the registers
            store(acc1, ring, WG, 0, out_desc, staging, row + SLAB, column, 0)
    partial = warpgroup_mma_wait(0, deps=[partial])
    acc0 = add(AT, acc0, partial, row_scale, column_scale, ring)
    partial = warpgroup_mma(slabs.index(stage * EACH + SECOND), b, partial, use_acc=False, is_async=True)
    row_scale = scales_of(ring, stage, SECOND)
    stage, phase = advance(stage, phase, ring)
    if AT == FIRST_STEP:
        if more:
            tma.store_wait(0)  # slab 1 of the block before has left too
            release(ring, behind)
    # The next step's stage, while this one's slab is multiplied. After the very last step none comes.
    mbarrier.wait(ring.full.index(stage), phase, pred=more if AT == LAST_STEP else True)
    if AT == LAST_STEP:
        acc0 = scaled(acc0, FIRST, ring, scale_ptrs)
        store(acc0, ring, WG, 0, out_desc, staging, row, column, 0)
    partial = warpgroup_mma_wait(0, deps=[partial])
    acc1 = add(AT, acc1, partial, row_scale, column_scale, ring)
    return (partial, acc0, acc1), (stage, phase)


@gluon.jit
def consume_reuse(WG: gl.constexpr, ring, out_desc, scale_ptrs, mnk, b_mn_tiles):
    """A multiplying warpgroup, with two slabs and no memory of its own for D.

    First and last step have code of their own, so that the loop between them is short: in a longer one the
    next wgmma would wait for its instructions.
    """
    m, n, k = mnk
    steps = count_steps(k, ring)
    gl.assume(steps > 1)  # the launcher sees to it: D reuses two stages of a block
    zero = gl.zeros([SLAB, ring.BLOCK_N], gl.float32, ring.LAYOUT)
    sums = (zero, zero, zero)
    at = (0, 0)
    leaving = (0, 0)
    row, column = start_of(gl.program_id(0), m, n, ring)
    blocks = count_blocks(m, n, ring)
    mbarrier.wait(ring.full.index(0), 0)
    for block in range(gl.program_id(0), blocks, gl.num_programs(0)):
        number = column // ring.BLOCK_N
        first = block == gl.program_id(0)
        sums, at = multiply(FIRST_STEP, WG, ring, out_desc, scale_ptrs, sums, at, number, leaving, not first)
        leaving = (row + WG * SLABS * SLAB, column)
        for _ in range(1, steps - 1):
            number += b_mn_tiles
            sums, at = multiply(LATER_STEP, WG, ring, out_desc, scale_ptrs, sums, at, number, leaving, True)
        following = block + gl.num_programs(0)
        row, column = start_of(following, m, n, ring)
        number += b_mn_tiles
        more = following < blocks
        sums, at = multiply(LAST_STEP, WG, ring, out_desc, scale_ptrs, sums, at, number, leaving, more)
        partial, acc0, acc1 = sums
        acc1 = scaled(acc1, WG * SLABS + 1, ring, scale_ptrs)
        sums = (partial, acc0, acc1)
        free_scales(ring)
    partial, acc0, acc1 = sums
    row, column = leaving
    staging = stage_memory(previous(at[0], ring), WG, ring)
    store(acc1, ring, WG, 0, out_desc, staging, row + SLAB, column, 0)
    tma.store_wait(0)  # a program must not end while TMA still reads its shared memory
