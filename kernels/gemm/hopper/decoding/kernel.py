"""The fast GEMM that dequantizes one operand before and decodes the other, in Gluon: its warpgroups decode
codes in their own registers.

D[M, N] = A[M, K] · B[N, K]ᵀ. The codes are B's, and the kernel computes Dᵀ = B · Aᵀ; or where A is the larger
one, A's (OF_A). The other operand comes as bf16 values, the codes with one power-of-two scale for each
1 × TILE_K. One warp loads blocks of codes, of scales and of values into a ring, as in
kernels.gemm.hopper.kernel; two warpgroups have 64 rows of codes each, and the same rows of values: all of
them where they are few, which is where the codes are most of what there is to read, else 256, as many as
their sums have registers for. With two runs of K there are two such pairs: each sums one, and the first adds
what the second has. Where D has few blocks, programs share them, each with one run or two
(kernels.gemm.hopper.shared_sums).

The warpgroups take turns at the tensor core, so that one decodes while another multiplies. The left factor
of a wgmma may come from registers; the right one is the block of values in shared memory.

A thread gets 4 neighboring codes at a time, 4j to 4j + 3 of 16 along K, and decodes them two and two, every
other one. The tensor core's left factor wants 2j, 2j + 1, 2j + 8 and 2j + 9 there. A product does not depend
on where along K its factors lie, if both lie there: decoded numbers stay where they fall, and the pass that
dequantizes the other operand writes it in that order (dequantize_kernel, PAIRED). The tensor core
adds 16 products at once, so that no bit of the sum changes.
"""

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
from kernels.gemm.hopper.decoding import blocks as decoding_blocks
from kernels.gemm.hopper.decoding.ring import DecodingRing, ahead, block_sides, count_items, produce
from kernels.gemm.hopper.gluon_api import async_load, async_store, reinterpret
from kernels.gemm.hopper.ring import CONSUMERS, halves, share_of
from kernels.gemm.hopper.shared_sums import arrive, collected, put
from kernels.operand_passes.dequantize_kernel import DECODE_E4M3, DECODE_E5M2, FUSED

SLAB = gl.constexpr(sizes.SLAB)
CODES = gl.constexpr(decoding_blocks.CODES)
CONSUMER_REGISTERS = gl.constexpr(232)
MOST_AT_ONCE = gl.constexpr(64)
"""Columns of a part of a warpgroup's sum that is passed on: registers hold two besides the sum of all."""
SPLIT_REGISTERS = gl.constexpr(112)
PRODUCER_REGISTERS = gl.constexpr(24)


@gluon.jit
def decode(stage, ring, W: gl.constexpr):
    """bf16[SLAB, BLOCK_K]: the values of a warpgroup's block of codes, as a left factor."""
    DECODE: gl.constexpr = DECODE_E4M3 if ring.E4M3 else DECODE_E5M2
    TILE_K: gl.constexpr = ring.BLOCK_K // ring.TILES
    BYTES: gl.constexpr = gl.DotOperandLayout(0, ring.LAYOUT, 4)
    VALUES: gl.constexpr = gl.DotOperandLayout(0, ring.LAYOUT, 2)
    PLAIN: gl.constexpr = gl.SwizzledSharedLayout(1, 1, 1, [1, 0])
    GROUPS: gl.constexpr = ring.BLOCK_K // FUSED
    parts = reinterpret(
        ring.codes, gl.uint8, [ring.STAGES * CONSUMERS, SLAB, ring.BLOCK_K], ring.codes.layout
    )
    scales = reinterpret(ring.scales, gl.float32, [ring.STAGES, ring.TILES, CODES], PLAIN)
    codes = parts.index(stage * CONSUMERS + W).load(BYTES).reshape([SLAB, ring.TILES, TILE_K])
    scale = scales.index(stage).slice(W * SLAB, SLAB, dim=1).permute([1, 0])
    scale = scale.load(gl.SliceLayout(2, codes.type.layout)).to(gl.bfloat16)
    scale, codes = gl.broadcast(gl.expand_dims(scale, 2), codes)
    value = gl.inline_asm_elementwise(
        DECODE, "=r,=r,r,r,r", [codes, scale], dtype=gl.bfloat16, is_pure=True, pack=4
    )
    value = value.reshape([SLAB, GROUPS, 4, 2, 2]).permute([0, 1, 3, 2, 4]).reshape([SLAB, ring.BLOCK_K])
    return gl.convert_layout(value, VALUES, assert_trivial=True)


@gluon.jit
def store(value, ring, W: gl.constexpr, stored, out_desc, of_codes, of_values):
    """A warpgroup's numbers of D or Dᵀ through shared memory into D, part by part: while one leaves, the next
    is written. Returns how many parts have been stored.
    """
    BUFFERS: gl.constexpr = ring.out.shape[0] // CONSUMERS
    PART: gl.constexpr = out_desc.block_type.shape[1 if ring.OF_A else 0]
    if value.shape[1] > PART:
        first, second = halves(value)
        stored = store(first, ring, W, stored, out_desc, of_codes, of_values)
        stored = store(second, ring, W, stored, out_desc, of_codes, of_values + first.shape[1])
    else:
        staging = ring.out.index(W * BUFFERS + stored % BUFFERS)
        turned = staging
        row, column = of_codes, of_values
        if not ring.OF_A:
            turned = staging.permute([1, 0])
            row, column = of_values, of_codes
        tma.store_wait(BUFFERS - 1)
        if ring.ACCUMULATE:
            mbarrier.expect(ring.fetched.index(W), out_desc.block_type.nbytes)
            async_load(out_desc, [row, column], ring.fetched.index(W), staging)
            mbarrier.wait(ring.fetched.index(W), stored & 1)
            value = value + turned.load(value.type.layout)
        turned.store(value.to(out_desc.dtype))
        fence_async_shared()
        async_store(out_desc, [row, column], staging)
        stored += 1
    return stored


@gluon.jit
def put_parts(PART: gl.constexpr, value, ring, split_ptrs, run, block, rows, m, n):
    """A warpgroup's sum over a run of K, for whoever comes last, in parts of which registers hold three."""
    if value.shape[1] > MOST_AT_ONCE:
        first, second = halves(value)
        put_parts(2 * PART, first, ring, split_ptrs, run, block, rows, m, n)
        put_parts(2 * PART + 1, second, ring, split_ptrs, run, block, rows, m, n)
    else:
        put(PART, value, split_ptrs[0], run, block, rows, m, n, ring)


@gluon.jit
def store_parts(
    PART: gl.constexpr, own, ring, W: gl.constexpr, stored, out_desc, split_ptrs, block, place, rows, m, n
):
    """All runs' sums of those parts into D. Returns how many parts have been stored."""
    of_codes, of_values = place
    if own.shape[1] > MOST_AT_ONCE:
        first, second = halves(own)
        stored = store_parts(2 * PART, first, ring, W, stored, out_desc, split_ptrs, block, place, rows, m, n)
        place = (of_codes, of_values + first.shape[1])
        stored = store_parts(
            2 * PART + 1, second, ring, W, stored, out_desc, split_ptrs, block, place, rows, m, n
        )
    else:
        total = collected(PART, own, split_ptrs[0], block, rows, m, n, ring)
        stored = store(total, ring, W, stored, out_desc, of_codes, of_values)
    return stored


@gluon.jit
def consume(W: gl.constexpr, RUN: gl.constexpr, ring, out_desc, split_ptrs, m, n, k):
    """A multiplying warpgroup: 64 of the block's rows of codes, over a run of K."""
    TURN: gl.constexpr = RUN if ring.EACH > 1 else W
    steps = (k + ring.BLOCK_K - 1) // ring.BLOCK_K
    length = (steps + ring.RUNS - 1) // ring.RUNS
    mine = length if RUN == 0 else steps - length
    gl.assume(mine > 0)  # the launcher takes no empty K, and no more runs than steps
    stored = 0
    stage = RUN
    phase = 0
    turn_phase = 1 - TURN
    for item in range(gl.program_id(0), count_items(m, n, ring), gl.num_programs(0)):
        block, run, first, stop = share_of(item, m, n, steps, ring.EACH, ring)
        if ring.RUNS > ring.EACH:
            mine = min(length, stop - first) if RUN == 0 else stop - first - length
            gl.assume(mine > 0)
        of_codes, of_values = block_sides(block, m, n, ring)
        acc = gl.zeros([SLAB, ring.VALUES], gl.float32, ring.LAYOUT)
        mbarrier.wait(ring.full.index(stage), phase)
        left = decode(stage, ring, W)
        for step in range(mine):
            mbarrier.wait(ring.turn.index(TURN), turn_phase)
            turn_phase = turn_phase ^ 1
            right = ring.values.index(stage).permute([1, 0])
            acc = warpgroup_mma(left, right, acc, use_acc=step > 0, is_async=True)
            mbarrier.arrive(ring.turn.index(1 - TURN), count=1)
            used = stage
            stage, phase = ahead(stage, phase, ring.EACH, ring)
            if step + 1 < mine:
                mbarrier.wait(ring.full.index(stage), phase)
                left = decode(stage, ring, W)
            acc = warpgroup_mma_wait(0, deps=[acc])
            mbarrier.arrive(ring.empty.index(used), count=1)
        if ring.RUNS > ring.EACH:
            rows = (m if ring.OF_A else n) - of_codes - W * SLAB
            put_parts(W, acc, ring, split_ptrs, run + RUN, block, rows, m, n)
            if arrive(W, split_ptrs[1], block, ring):
                place = (of_codes + W * SLAB, of_values)
                stored = store_parts(W, acc, ring, W, stored, out_desc, split_ptrs, block, place, rows, m, n)
        elif RUN == 1:
            ring.parts.index(W).store(acc)
            mbarrier.arrive(ring.summed.index(W), count=1)
        else:
            if ring.EACH > 1:
                mbarrier.wait(ring.summed.index(W), 0)
                acc = acc + ring.parts.index(W).load(ring.LAYOUT)
            stored = store(acc, ring, W, stored, out_desc, of_codes + W * SLAB, of_values)
    tma.store_wait(0)


@gluon.jit
def decoding_gemm_kernel(
    values_desc,
    codes_desc,
    scale_desc,
    out_desc,
    parts_ptr,
    arrivals_ptr,
    m,
    n,
    k,
    mn_tiles,
    E4M3: gl.constexpr,
    OF_A: gl.constexpr,
    TILE_K: gl.constexpr,
    BLOCK_M: gl.constexpr,
    BLOCK_N: gl.constexpr,
    BLOCK_K: gl.constexpr,
    GROUP: gl.constexpr,
    STAGES: gl.constexpr,
    RUNS: gl.constexpr,
    EACH: gl.constexpr,
    BUFFERS: gl.constexpr,
    ACCUMULATE: gl.constexpr,
):
    """D in blocks: with one of the RUNS of K persistent. EACH: runs that a program takes, one or two; where
    there are more, parts[RUNS, blocks, BLOCK_M, BLOCK_N] of D's sum are fp32, and arrivals[blocks, CONSUMERS]
    counts them. E4M3: the codes' format, else e5m2. OF_A: they are A's, else B's. mn_tiles: their scales for
    one step of TILE_K along K. BUFFERS: parts of D that a warpgroup may have under way.
    """
    TILES: gl.constexpr = BLOCK_K // TILE_K
    BARRIER: gl.constexpr = mbarrier.MBarrierLayout()
    SUMS: gl.constexpr = gl.SwizzledSharedLayout(4, 1, 8, [1, 0])
    VALUES: gl.constexpr = BLOCK_N if OF_A else BLOCK_M
    PART_SHAPE: gl.constexpr = [SLAB, VALUES] if RUNS == EACH and EACH > 1 else [1, 1]
    ring = DecodingRing(
        gl.allocate_shared_memory(gl.bfloat16, [STAGES, VALUES, BLOCK_K], values_desc.layout),
        gl.allocate_shared_memory(gl.uint8, [STAGES, CODES, BLOCK_K], codes_desc.layout),
        gl.allocate_shared_memory(gl.float32, [STAGES * TILES, CODES], scale_desc.layout),
        gl.allocate_shared_memory(
            out_desc.dtype, [CONSUMERS * BUFFERS] + out_desc.block_type.shape, out_desc.layout
        ),
        gl.allocate_shared_memory(gl.float32, [CONSUMERS] + PART_SHAPE, SUMS),
        gl.allocate_shared_memory(gl.int64, [STAGES, 1], BARRIER),
        gl.allocate_shared_memory(gl.int64, [STAGES, 1], BARRIER),
        gl.allocate_shared_memory(gl.int64, [CONSUMERS, 1], BARRIER),
        gl.allocate_shared_memory(gl.int64, [CONSUMERS, 1], BARRIER),
        gl.allocate_shared_memory(gl.int64, [CONSUMERS, 1], BARRIER),
        RUNS,
        EACH,
        GROUP,
        E4M3,
        OF_A,
        ACCUMULATE,
    )
    for stage in gl.static_range(STAGES):
        mbarrier.init(ring.full.index(stage), count=1)
        mbarrier.init(ring.empty.index(stage), count=CONSUMERS)
    for warpgroup in gl.static_range(CONSUMERS):
        mbarrier.init(ring.turn.index(warpgroup), count=EACH)
        mbarrier.init(ring.summed.index(warpgroup), count=1)
        mbarrier.init(ring.fetched.index(warpgroup), count=1)
    fence_async_shared()
    if RUNS > EACH:
        split_ptrs = (parts_ptr, arrivals_ptr)
    else:
        split_ptrs = (m, n)  # for want of others: there is no tuple of None
    multiplies = (ring, out_desc, split_ptrs, m, n, k)
    loads = (values_desc, codes_desc, scale_desc, ring, m, n, k, mn_tiles)
    if EACH == 1:
        gl.warp_specialize(
            [(consume, (0, 0) + multiplies), (consume, (1, 0) + multiplies), (produce, loads)],
            [4, 1],
            [CONSUMER_REGISTERS, PRODUCER_REGISTERS],
        )
    else:
        gl.warp_specialize(
            [
                (consume, (0, 0) + multiplies),
                (consume, (1, 0) + multiplies),
                (consume, (0, 1) + multiplies),
                (consume, (1, 1) + multiplies),
                (produce, loads),
            ],
            [4, 4, 4, 1],
            [SPLIT_REGISTERS, SPLIT_REGISTERS, SPLIT_REGISTERS, PRODUCER_REGISTERS],
        )
