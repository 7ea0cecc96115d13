"""The fast GEMM whose B is not dequantized before, in Gluon: its warpgroups decode B's codes in their own
registers.

D[M, N] = A[M, K] · B[N, K]ᵀ, computed as Dᵀ = B · Aᵀ: A in bf16, B as fp8 codes with one power-of-two scale
for each 1 × TILE_K. One warp loads blocks of codes, of scales and of A into a ring, as in
kernels.specialized_kernel; two warpgroups have 64 rows of B each, and the same rows of A: all of them where
they are few, which is where B is most of what there is to read, else 256, as many as B's sums have registers
for. With RUNS = 2 there are two such pairs: each sums half of K, and the first adds what the second has.

The warpgroups take turns at the tensor core, so that one decodes while another multiplies. The left factor
of a wgmma may come from registers; the right one is the block of A in shared memory.

A thread gets 4 neighboring codes at a time, 4j to 4j + 3 of 16 along K, and decodes them two and two, every
other one. The tensor core's left factor wants 2j, 2j + 1, 2j + 8 and 2j + 9 there. A product does not depend
on where along K its factors lie, if both lie there: B's values stay where they fall, and the pass that
dequantizes A writes it in that order (kernels.dequantize_kernel, PAIRED). The tensor core adds 16 products at
once, so that no bit of the sum changes.
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

from kernels import decoding_blocks, specialized_blocks
from kernels.dequantize_kernel import DECODE_E4M3, DECODE_E5M2, FUSED
from kernels.gluon_api import aggregate, async_load, async_store, reinterpret
from kernels.ring_kernel import CONSUMERS, after, block_of, count_blocks

SLAB = gl.constexpr(specialized_blocks.SLAB)
PART = gl.constexpr(decoding_blocks.PART)
CONSUMER_REGISTERS = gl.constexpr(232)
SPLIT_REGISTERS = gl.constexpr(112)
PRODUCER_REGISTERS = gl.constexpr(24)


@aggregate
class DecodingRing:
    """Shared memory: STAGES of A, of codes of B, and of TILES of their scales; D on its way out; what a
    second run of K adds to it; the barriers, of which `turn` says who multiplies. And compile-time facts, of
    which memory's shapes tell most.
    """

    a: gl.shared_memory_descriptor
    codes: gl.shared_memory_descriptor
    scales: gl.shared_memory_descriptor
    out: gl.shared_memory_descriptor
    parts: gl.shared_memory_descriptor
    full: gl.shared_memory_descriptor
    empty: gl.shared_memory_descriptor
    turn: gl.shared_memory_descriptor
    summed: gl.shared_memory_descriptor
    fetched: gl.shared_memory_descriptor
    STAGES: gl.constexpr
    TILES: gl.constexpr
    BLOCK_M: gl.constexpr
    BLOCK_N: gl.constexpr
    BLOCK_K: gl.constexpr
    RUNS: gl.constexpr
    GROUP_M: gl.constexpr
    E4M3: gl.constexpr
    ACCUMULATE: gl.constexpr
    LAYOUT: gl.constexpr

    @gluon.constexpr_function
    def __init__(
        self,
        a,
        codes,
        scales,
        out,
        parts,
        full,
        empty,
        turn,
        summed,
        fetched,
        RUNS,
        GROUP_M,
        E4M3,
        ACCUMULATE,
    ):
        self.a = a
        self.codes = codes
        self.scales = scales
        self.out = out
        self.parts = parts
        self.full = full
        self.empty = empty
        self.turn = turn
        self.summed = summed
        self.fetched = fetched
        self.STAGES = gl.constexpr(a.shape[0])
        self.TILES = gl.constexpr(scales.shape[0] // a.shape[0])
        self.BLOCK_M = gl.constexpr(a.shape[1])
        self.BLOCK_N = gl.constexpr(codes.shape[1])
        self.BLOCK_K = gl.constexpr(a.shape[2])
        self.RUNS = gl.constexpr(RUNS)
        self.GROUP_M = gl.constexpr(GROUP_M)
        self.E4M3 = gl.constexpr(E4M3)
        self.ACCUMULATE = gl.constexpr(ACCUMULATE)
        self.LAYOUT = gl.constexpr(gl.NVMMADistributedLayout([3, 0], [4, 1], [16, a.shape[1], 16]))


@gluon.jit
def produce(a_desc, b_desc, b_scale_desc, ring, m, n, k, b_mn_tiles):
    """The loading warp."""
    OPERANDS: gl.constexpr = a_desc.block_type.nbytes + b_desc.block_type.nbytes
    BYTES: gl.constexpr = OPERANDS + ring.TILES * b_scale_desc.block_type.nbytes
    steps = (k + ring.BLOCK_K - 1) // ring.BLOCK_K
    length = (steps + ring.RUNS - 1) // ring.RUNS
    stage = 0
    phase = 1
    for block in range(gl.program_id(0), count_blocks(m, n, ring), gl.num_programs(0)):
        row, column = block_of(block, m, n, ring)
        for place in range(steps):
            step = place // ring.RUNS + place % ring.RUNS * length
            full = ring.full.index(stage)
            mbarrier.wait(ring.empty.index(stage), phase)
            mbarrier.expect(full, BYTES)
            async_load(b_desc, [column, step * ring.BLOCK_K], full, ring.codes.index(stage))
            for tile in gl.static_range(ring.TILES):
                scale = (step * ring.TILES + tile) * b_mn_tiles + column
                async_load(b_scale_desc, [scale], full, ring.scales.index(stage * ring.TILES + tile))
            async_load(a_desc, [row, step * ring.BLOCK_K], full, ring.a.index(stage))
            stage, phase = after(stage, phase, ring)


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
    scales = reinterpret(ring.scales, gl.float32, [ring.STAGES, ring.TILES, ring.BLOCK_N], PLAIN)
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
def store(value, ring, W: gl.constexpr, fetches, out_desc, row, column):
    """A part of Dᵀ through shared memory into D, once the part before has left that; how many parts of D were
    fetched to be added to.
    """
    staging = ring.out.index(W)
    tma.store_wait(0)
    if ring.ACCUMULATE:
        mbarrier.expect(ring.fetched.index(W), out_desc.block_type.nbytes)
        async_load(out_desc, [row, column], ring.fetched.index(W), staging)
        mbarrier.wait(ring.fetched.index(W), fetches & 1)
        value = value + staging.permute([1, 0]).load(value.type.layout)
    staging.permute([1, 0]).store(value.to(out_desc.dtype))
    fence_async_shared()
    async_store(out_desc, [row, column], staging)
    return fetches + 1


@gluon.jit
def ahead(stage, phase, steps: gl.constexpr, ring):
    """The stage that many steps on, fewer than the ring has, and the barriers' phase there."""
    wraps = stage + steps >= ring.STAGES
    return gl.where(wraps, stage + steps - ring.STAGES, stage + steps), gl.where(wraps, phase ^ 1, phase)


@gluon.jit
def consume(W: gl.constexpr, RUN: gl.constexpr, ring, out_desc, m, n, k):
    """A multiplying warpgroup: 64 of the block's columns of D, which are rows of B, over a run of K."""
    TURN: gl.constexpr = RUN if ring.RUNS > 1 else W
    steps = (k + ring.BLOCK_K - 1) // ring.BLOCK_K
    length = (steps + ring.RUNS - 1) // ring.RUNS
    mine = length if RUN == 0 else steps - length
    gl.assume(mine > 0)  # the launcher takes no empty K, and no more runs than steps
    fetches = 0
    stage = RUN
    phase = 0
    turn_phase = 1 - TURN
    for block in range(gl.program_id(0), count_blocks(m, n, ring), gl.num_programs(0)):
        row, column = block_of(block, m, n, ring)
        acc = gl.zeros([SLAB, ring.BLOCK_M], gl.float32, ring.LAYOUT)
        mbarrier.wait(ring.full.index(stage), phase)
        values = decode(stage, ring, W)
        for step in range(mine):
            mbarrier.wait(ring.turn.index(TURN), turn_phase)
            turn_phase = turn_phase ^ 1
            a = ring.a.index(stage).permute([1, 0])
            acc = warpgroup_mma(values, a, acc, use_acc=step > 0, is_async=True)
            mbarrier.arrive(ring.turn.index(1 - TURN), count=1)
            used = stage
            stage, phase = ahead(stage, phase, ring.RUNS, ring)
            if step + 1 < mine:
                mbarrier.wait(ring.full.index(stage), phase)
                values = decode(stage, ring, W)
            acc = warpgroup_mma_wait(0, deps=[acc])
            mbarrier.arrive(ring.empty.index(used), count=1)
        if RUN == 1:
            ring.parts.index(W).store(acc)
            mbarrier.arrive(ring.summed.index(W), count=1)
        else:
            if ring.RUNS > 1:
                mbarrier.wait(ring.summed.index(W), 0)
                acc = acc + ring.parts.index(W).load(ring.LAYOUT)
            if ring.BLOCK_M > PART:
                upper, lower = acc.reshape([SLAB, 2, PART]).permute([0, 2, 1]).split()
                fetches = store(upper, ring, W, fetches, out_desc, row, column + W * SLAB)
                fetches = store(lower, ring, W, fetches, out_desc, row + PART, column + W * SLAB)
            else:
                fetches = store(acc, ring, W, fetches, out_desc, row, column + W * SLAB)
    tma.store_wait(0)


@gluon.jit
def decoding_gemm_kernel(
    a_desc,
    b_desc,
    b_scale_desc,
    out_desc,
    m,
    n,
    k,
    b_mn_tiles,
    E4M3: gl.constexpr,
    TILE_K: gl.constexpr,
    BLOCK_M: gl.constexpr,
    BLOCK_N: gl.constexpr,
    BLOCK_K: gl.constexpr,
    GROUP_M: gl.constexpr,
    STAGES: gl.constexpr,
    RUNS: gl.constexpr,
    ACCUMULATE: gl.constexpr,
):
    """D in blocks: with RUNS = 1 persistent, with 2 one a program. E4M3: the codes' format, else e5m2."""
    TILES: gl.constexpr = BLOCK_K // TILE_K
    TURNS: gl.constexpr = 2
    BARRIER: gl.constexpr = mbarrier.MBarrierLayout()
    SUMS: gl.constexpr = gl.SwizzledSharedLayout(4, 1, 8, [1, 0])
    PART_SHAPE: gl.constexpr = [SLAB, BLOCK_M] if RUNS > 1 else [1, 1]
    ring = DecodingRing(
        gl.allocate_shared_memory(gl.bfloat16, [STAGES, BLOCK_M, BLOCK_K], a_desc.layout),
        gl.allocate_shared_memory(gl.uint8, [STAGES, BLOCK_N, BLOCK_K], b_desc.layout),
        gl.allocate_shared_memory(gl.float32, [STAGES * TILES, BLOCK_N], b_scale_desc.layout),
        gl.allocate_shared_memory(out_desc.dtype, [CONSUMERS] + out_desc.block_type.shape, out_desc.layout),
        gl.allocate_shared_memory(gl.float32, [CONSUMERS] + PART_SHAPE, SUMS),
        gl.allocate_shared_memory(gl.int64, [STAGES, 1], BARRIER),
        gl.allocate_shared_memory(gl.int64, [STAGES, 1], BARRIER),
        gl.allocate_shared_memory(gl.int64, [TURNS, 1], BARRIER),
        gl.allocate_shared_memory(gl.int64, [CONSUMERS, 1], BARRIER),
        gl.allocate_shared_memory(gl.int64, [CONSUMERS, 1], BARRIER),
        RUNS,
        GROUP_M,
        E4M3,
        ACCUMULATE,
    )
    for stage in gl.static_range(STAGES):
        mbarrier.init(ring.full.index(stage), count=1)
        mbarrier.init(ring.empty.index(stage), count=CONSUMERS)
    for turn in gl.static_range(TURNS):
        mbarrier.init(ring.turn.index(turn), count=RUNS)
    for warpgroup in gl.static_range(CONSUMERS):
        mbarrier.init(ring.summed.index(warpgroup), count=1)
        mbarrier.init(ring.fetched.index(warpgroup), count=1)
    fence_async_shared()
    multiplies = (ring, out_desc, m, n, k)
    loads = (a_desc, b_desc, b_scale_desc, ring, m, n, k, b_mn_tiles)
    if RUNS == 1:
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
