"""The fast GEMM on Hopper, in Gluon: one warp loads, two warpgroups multiply, each at its own pace.

D[M, N] = A[M, K] · B[N, K]ᵀ. Shared memory is a ring of STAGES blocks of A and B: the loading warp fills a
stage by TMA and the multiplying warpgroups empty it, told by `full` and `empty` barriers. A program works on
block after block of D, so that the next block's loads start before the last one is stored.

One sum in the tensor core (PROMOTED false): a warpgroup has 64 rows of a 128 × 256 block, one wgmma is always
queued behind the running one, and a finished block leaves during the next one's first steps.

Promoted sums: a warpgroup has two slabs of 64 rows of a 256 × 128 block, and one partial sum in flight: while
its slab is multiplied it looks to the barriers, then adds the partial, while the other warpgroup multiplies.
The loop runs over slabs, not unrolled, so that the partial has one set of registers: that keeps 128 + 64
numbers a thread from spilling.
"""

from triton.experimental import gluon
from triton.experimental.gluon import language as gl
from triton.experimental.gluon.language.nvidia.hopper import fence_async_shared, mbarrier

from kernels.chain_kernel import consume_chain
from kernels.pingpong_kernel import consume_pingpong
from kernels.queue_kernel import consume_queue
from kernels.ring_kernel import CONSUMERS, SLAB, STORED_N, Facts, Ring, produce
from kernels.slabs_kernel import consume_slabs

CONSUMER_REGISTERS = gl.constexpr(240)
PRODUCER_REGISTERS = gl.constexpr(24)


@gluon.jit
def consume(
    W: gl.constexpr,
    ring,
    out_desc,
    out_ptr,
    a_scale_ptr,
    b_scale_ptr,
    m,
    n,
    k,
    b_mn_tiles,
    out_stride_m,
    facts,
):
    if facts.PROMOTED:
        consume_slabs(
            W, ring, out_desc, out_ptr, a_scale_ptr, b_scale_ptr, m, n, k, b_mn_tiles, out_stride_m, facts
        )
    elif facts.BLOCK_M > facts.BLOCK_N:
        consume_queue(W, ring, out_desc, out_ptr, a_scale_ptr, b_scale_ptr, m, n, k, out_stride_m, facts)
    elif facts.PINGPONG:
        consume_pingpong(W, ring, out_desc, out_ptr, a_scale_ptr, b_scale_ptr, m, n, k, out_stride_m, facts)
    else:
        consume_chain(W, ring, out_desc, out_ptr, a_scale_ptr, b_scale_ptr, m, n, k, out_stride_m, facts)


@gluon.jit
def specialized_gemm_kernel(
    a_desc,
    b_desc,
    a_scale_desc,
    b_scale_desc,
    out_desc,
    out_ptr,
    a_scale_ptr,
    b_scale_ptr,
    m,
    n,
    k,
    a_mn_tiles,
    b_mn_tiles,
    out_stride_m,
    A_SCALES: gl.constexpr,
    B_SCALES: gl.constexpr,
    IN_LOOP: gl.constexpr,
    AT_END: gl.constexpr,
    PROMOTED: gl.constexpr,
    ACCUMULATE: gl.constexpr,
    BLOCK_M: gl.constexpr,
    BLOCK_N: gl.constexpr,
    BLOCK_K: gl.constexpr,
    GROUP_M: gl.constexpr,
    STAGES: gl.constexpr,
    BUFFERS: gl.constexpr,
    CTAS: gl.constexpr,
    V: gl.constexpr,
):
    """D in blocks, persistent. A_SCALES, B_SCALES: 0 for one scale, else how many a block has (in the loop)
    or that rows and columns have their own (at the end). BUFFERS: slabs of D a warpgroup may have under way.
    """
    facts = Facts(
        BLOCK_M,
        BLOCK_N,
        BLOCK_K,
        GROUP_M,
        STAGES,
        IN_LOOP,
        AT_END,
        A_SCALES,
        B_SCALES,
        PROMOTED,
        ACCUMULATE,
        CTAS,
        V,
        a_desc.dtype.primitive_bitwidth,
    )
    OWN: gl.constexpr = [] if CTAS == 1 else [[1]]
    BOTH: gl.constexpr = [] if CTAS == 1 else [[0]]
    A_SCALES_HELD: gl.constexpr = BLOCK_M * facts.PAIR_M
    TURNS: gl.constexpr = CONSUMERS if facts.PINGPONG else 1
    SCALE_STAGES: gl.constexpr = STAGES if IN_LOOP else TURNS
    EMPTIED: gl.constexpr = CONSUMERS // TURNS
    ring = Ring(
        gl.allocate_shared_memory(a_desc.dtype, [STAGES, BLOCK_M * facts.PAIR_M, BLOCK_K], a_desc.layout),
        gl.allocate_shared_memory(b_desc.dtype, [STAGES, BLOCK_N * facts.PAIR_N, BLOCK_K], b_desc.layout),
        gl.allocate_shared_memory(
            gl.float32, [SCALE_STAGES, A_SCALES_HELD], a_scale_desc.layout
        ),
        gl.allocate_shared_memory(
            gl.float32, [SCALE_STAGES] + b_scale_desc.block_type.shape, b_scale_desc.layout
        ),
        gl.allocate_shared_memory(out_desc.dtype, [CONSUMERS * BUFFERS] + out_desc.block_type.shape, out_desc.layout),
        gl.allocate_shared_memory(gl.int64, [STAGES, CTAS], mbarrier.MBarrierLayout(OWN)),
        gl.allocate_shared_memory(gl.int64, [STAGES, CTAS], mbarrier.MBarrierLayout(OWN)),
        gl.allocate_shared_memory(gl.int64, [STAGES, 1], mbarrier.MBarrierLayout(BOTH)),
        gl.allocate_shared_memory(gl.int64, [TURNS, CTAS], mbarrier.MBarrierLayout(OWN)),
        gl.allocate_shared_memory(gl.int64, [TURNS, CTAS], mbarrier.MBarrierLayout(OWN)),
    )
    for stage in gl.static_range(STAGES):
        mbarrier.init(ring.full.index(stage), count=1)
        mbarrier.init(ring.empty.index(stage), count=EMPTIED)
        if CTAS != 1:
            mbarrier.init(ring.both_empty.index(stage), count=EMPTIED)
    if AT_END and facts.SCALE_BYTES != 0:
        for turn in gl.static_range(TURNS):
            mbarrier.init(ring.scales_empty.index(turn), count=EMPTIED)
    if facts.PINGPONG or V & 10:
        for turn in gl.static_range(TURNS):
            mbarrier.init(ring.turn.index(turn), count=1)
    fence_async_shared()
    shared = (out_desc, out_ptr, a_scale_ptr, b_scale_ptr, m, n, k, b_mn_tiles, out_stride_m, facts)
    loads = (a_desc, b_desc, a_scale_desc, b_scale_desc, ring, m, n, k, a_mn_tiles, b_mn_tiles, facts)
    gl.warp_specialize(
        [(consume, (0, ring) + shared), (consume, (1, ring) + shared), (produce, loads)],
        [4, 1],
        [CONSUMER_REGISTERS, PRODUCER_REGISTERS],
    )
