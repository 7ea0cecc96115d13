"""The fast GEMM on Hopper, in Gluon: one warp loads, two warpgroups multiply, each at its own pace.

D[M, N] = A[M, K] · B[N, K]ᵀ. Shared memory is a ring of STAGES blocks of A and B: the loading warp fills a
stage by TMA and the multiplying warpgroups empty it, told by `full` and `empty` barriers. A program works on
block after block of D, so that the next block's loads start before the last one is stored. Neighbors load
the same block of the operand of which they load more, in step: the L2 reads it once for several of them.

One sum in the tensor core, one wgmma always queued behind the running one: the warpgroups have 64 rows each
of a block of 128 × 256, which loads less for each product than two of 128 × 128. A finished block is kept as
bf16, and leaves while the next one is multiplied (chained.py).

Promoted sums: a warpgroup has two slabs of 64 rows of a 256 × 128 block, and one partial sum in flight; it
adds it to its fp32 sum while the other warpgroup multiplies. All partial sums of a warpgroup share registers:
a thread has 128 + 64 numbers. A bf16 D leaves through memory of the A that was multiplied, which leaves room
for a fourth stage (promoted_lent.py). Where M is small, a block is 128 or 64 rows high, a warpgroup has
one slab of it or half of its columns (promoted_few_rows.py), and programs may share a block, each with a run
of K (shared_sums.py). Where D has few columns besides, narrow.py has blocks of its own.
kernels.gemm.hopper.decoding.kernel decodes A or B.
"""

from triton.experimental import gluon
from triton.experimental.gluon import language as gl
from triton.experimental.gluon.language.nvidia.hopper import fence_async_shared, mbarrier

from kernels.gemm.hopper.chained import consume_cooperative
from kernels.gemm.hopper.gluon_api import reinterpret
from kernels.gemm.hopper.promoted import consume_slabs
from kernels.gemm.hopper.promoted_few_rows import consume_low
from kernels.gemm.hopper.promoted_lent import consume_lent
from kernels.gemm.hopper.ring import CONSUMERS, Facts, Ring, produce

CONSUMER_REGISTERS = gl.constexpr(240)
PRODUCER_REGISTERS = gl.constexpr(24)


@gluon.jit
def consume(
    W: gl.constexpr, BODY: gl.constexpr, ring, out_desc, scale_ptrs, split_ptrs, m, n, k, b_mn_tiles, facts
):
    if BODY == "chained":
        consume_cooperative(W, ring, out_desc, *scale_ptrs, m, n, k, facts)
    elif BODY == "promoted_few_rows":
        consume_low(W, ring, out_desc, scale_ptrs, split_ptrs, m, n, k, b_mn_tiles, facts)
    elif facts.LENT:
        consume_lent(W, ring, out_desc, *scale_ptrs, m, n, k, b_mn_tiles, facts)
    else:
        consume_slabs(W, ring, out_desc, *scale_ptrs, m, n, k, b_mn_tiles, facts)


@gluon.jit
def specialized_gemm_kernel(
    a_desc,
    b_desc,
    a_scale_desc,
    b_scale_desc,
    out_desc,
    a_scale_ptr,
    b_scale_ptr,
    parts_ptr,
    arrivals_ptr,
    m,
    n,
    k,
    a_mn_tiles,
    b_mn_tiles,
    A_SCALES: gl.constexpr,
    B_SCALES: gl.constexpr,
    IN_LOOP: gl.constexpr,
    AT_END: gl.constexpr,
    BODY: gl.constexpr,
    ACCUMULATE: gl.constexpr,
    BLOCK_M: gl.constexpr,
    BLOCK_N: gl.constexpr,
    BLOCK_K: gl.constexpr,
    GROUP: gl.constexpr,
    STAGES: gl.constexpr,
    BUFFERS: gl.constexpr,
    RUNS: gl.constexpr,
):
    """D in blocks, persistent. A_SCALES, B_SCALES: the scales that come through shared memory at a time; 0
    where an operand has one in all. BUFFERS: parts of D a warpgroup has memory for; 0 where A lends its own.
    RUNS: of K, each of another program; parts[RUNS, blocks, BLOCK_M, BLOCK_N] of D's sum are fp32, and
    arrivals[blocks, CONSUMERS] counts them.
    """
    facts = Facts(
        BLOCK_M,
        BLOCK_N,
        BLOCK_K,
        GROUP,
        STAGES,
        IN_LOOP,
        AT_END,
        A_SCALES,
        B_SCALES,
        ACCUMULATE,
        a_desc.dtype.primitive_bitwidth,
        a_desc.block_type.shape[0],
        BUFFERS == 0,
        RUNS,
    )
    SETS: gl.constexpr = STAGES if IN_LOOP else 1
    a = gl.allocate_shared_memory(a_desc.dtype, [STAGES, BLOCK_M, BLOCK_K], a_desc.layout)
    PARTS: gl.constexpr = [CONSUMERS * (STAGES if facts.LENT else BUFFERS)] + out_desc.block_type.shape
    if facts.LENT:
        out = reinterpret(a, out_desc.dtype, PARTS, out_desc.layout)
    else:
        out = gl.allocate_shared_memory(out_desc.dtype, PARTS, out_desc.layout)
    ring = Ring(
        a,
        gl.allocate_shared_memory(b_desc.dtype, [STAGES, BLOCK_N, BLOCK_K], b_desc.layout),
        gl.allocate_shared_memory(gl.float32, [SETS] + a_scale_desc.block_type.shape, a_scale_desc.layout),
        gl.allocate_shared_memory(gl.float32, [SETS] + b_scale_desc.block_type.shape, b_scale_desc.layout),
        out,
        gl.allocate_shared_memory(gl.int64, [STAGES, 1], mbarrier.MBarrierLayout()),
        gl.allocate_shared_memory(gl.int64, [STAGES, 1], mbarrier.MBarrierLayout()),
        gl.allocate_shared_memory(gl.int64, [1, 1], mbarrier.MBarrierLayout()),
        gl.allocate_shared_memory(gl.int64, [CONSUMERS, 1], mbarrier.MBarrierLayout()),
    )
    for stage in gl.static_range(STAGES):
        mbarrier.init(ring.full.index(stage), count=1)
        mbarrier.init(ring.empty.index(stage), count=CONSUMERS)
    for warpgroup in gl.static_range(CONSUMERS):
        mbarrier.init(ring.fetched.index(warpgroup), count=1)
    mbarrier.init(ring.scales_empty.index(0), count=CONSUMERS)
    fence_async_shared()
    scale_ptrs = (a_scale_ptr, b_scale_ptr)
    split_ptrs = scale_ptrs  # for want of others: there is no tuple of None
    if RUNS > 1:
        split_ptrs = (parts_ptr, arrivals_ptr)
    shared = (out_desc, scale_ptrs, split_ptrs, m, n, k, b_mn_tiles, facts)
    loads = (a_desc, b_desc, a_scale_desc, b_scale_desc, ring, m, n, k, a_mn_tiles, b_mn_tiles, facts)
    gl.warp_specialize(
        [(consume, (0, BODY, ring) + shared), (consume, (1, BODY, ring) + shared), (produce, loads)],
        [4, 1],
        [CONSUMER_REGISTERS, PRODUCER_REGISTERS],
    )
