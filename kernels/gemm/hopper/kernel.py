"""The fast GEMM on Hopper, in Gluon: one warp loads, warpgroups multiply, each at its own pace.

D[M, N] = A[M, K] · B[N, K]ᵀ. Shared memory holds a ring of STAGES blocks of A and of B. The loading warp
fills stage after stage by TMA; the warpgroups multiply a full stage and hand it back.

| role | does | waits for | arrives at |
|---|---|---|---|
| `produce`, 1 warp | loads A, B and scales by TMA | `empty`, `scales_empty` | `full`, once a step |
| `consume`, 2 warpgroups of 4 warps | multiplies, adds, stores D | `full` | `empty`, each once a step |
| | | | `scales_empty`, each once a block |
| | loads the old D, if D is added into | `fetched` | `fetched`, once a piece of D |

| barrier | there are | one use takes | then |
|---|---|---|---|
| `full` | one a stage | 1 arrival and all expected bytes | the stage may be multiplied |
| `empty` | one a stage | an arrival of each warpgroup | the stage may be overwritten |
| `scales_empty` | one, if scales are used once a block | 2 arrivals | those scales may be overwritten |
| `fetched` | one a warpgroup, if D is added into | 1 arrival and all expected bytes | the old D is here |

`mbarrier.expect` is the arrival at `full` and `fetched`: it arrives and names the bytes to come.

A barrier counts its uses modulo 2, its phase. A wait names the phase that is to end; the waiting role flips
it each time the ring wraps around. The loading warp starts one phase ahead: a new ring is empty.

The kernel is persistent: the loads of a program's next block start before the last one is stored. Its
variants differ in how products are added up:

- `chained` (chained.py): one chain of wgmma in the tensor core, the next always queued behind the running
  one. Each warpgroup has 64 rows of a block of 128 × 256.
- `promoted` (promoted.py): each wgmma's partial sum is added to a sum in fp32 registers, while the other
  warpgroup multiplies. A warpgroup has two slabs of 64 rows of a block of 256 × 128.
- `promoted_reuse` (promoted_reuse.py): the same for D in bf16, which leaves through memory of A.
- `small_m` (small_m.py): chained or promoted, for small M. A block has 128 or 64 rows, and programs may split
  K (shared_sums.py).

The kernel in decoding/ has a ring of its own.
"""

from triton.experimental import gluon
from triton.experimental.gluon import language as gl
from triton.experimental.gluon.language.nvidia.hopper import fence_async_shared, mbarrier

from kernels.gemm.hopper import sizes
from kernels.gemm.hopper.chained import consume_chained
from kernels.gemm.hopper.gluon_api import reinterpret, wait_for_kernels_before
from kernels.gemm.hopper.promoted import consume_slabs
from kernels.gemm.hopper.promoted_reuse import consume_reuse
from kernels.gemm.hopper.ring import CONSUMERS, Ring, produce
from kernels.gemm.hopper.small_m import consume_small_m

SLAB = gl.constexpr(sizes.SLAB)
ONE_SCALE_BYTES = gl.constexpr(sizes.SCALE_BYTES)
# Registers a thread. The loading warp counts as a third warpgroup: each has 168, and it gives some to the
# others.
CONSUMER_REGISTERS = gl.constexpr(240)
PRODUCER_REGISTERS = gl.constexpr(24)


@gluon.jit
def consume(WG: gl.constexpr, ring, out_desc, scale_ptrs, split_ptrs, mnk, b_mn_tiles):
    if ring.VARIANT == "chained":
        consume_chained(WG, ring, out_desc, scale_ptrs, mnk)
    elif ring.VARIANT == "promoted":
        consume_slabs(WG, ring, out_desc, scale_ptrs, mnk, b_mn_tiles)
    elif ring.VARIANT == "promoted_reuse":
        consume_reuse(WG, ring, out_desc, scale_ptrs, mnk, b_mn_tiles)
    else:
        consume_small_m(WG, ring, out_desc, scale_ptrs, split_ptrs, mnk, b_mn_tiles)


@gluon.jit(do_not_specialize=["m", "n", "k", "a_mn_tiles", "b_mn_tiles", "group"])
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
    group,
    A_SCALES: gl.constexpr,
    B_SCALES: gl.constexpr,
    IN_LOOP: gl.constexpr,
    AT_END: gl.constexpr,
    VARIANT: gl.constexpr,
    CHAINS: gl.constexpr,
    ACCUMULATE: gl.constexpr,
    A_MN_MAJOR: gl.constexpr,
    B_MN_MAJOR: gl.constexpr,
    BLOCK_M: gl.constexpr,
    BLOCK_N: gl.constexpr,
    BLOCK_K: gl.constexpr,
    STAGES: gl.constexpr,
    BUFFERS: gl.constexpr,
    SPLITS: gl.constexpr,
):
    """Compute D block by block, by one variant. One compiled kernel serves all shapes and orders of blocks.

    a_mn_tiles, b_mn_tiles: numbers from one row of scales to the next. group: see items.start_of.
    Constants: see Ring. Split-K: sums pass through parts float32[SPLITS, blocks, BLOCK_M, BLOCK_N], and
    arrivals int32[blocks, CONSUMERS] counts them. BUFFERS: pieces of D that a warpgroup has memory for; 0
    where D reuses A's.
    """
    BARRIER: gl.constexpr = mbarrier.MBarrierLayout()
    SETS: gl.constexpr = STAGES if IN_LOOP else 1
    # A warpgroup of a 64-row block has half of its columns, else some rows of all columns.
    COLUMNS: gl.constexpr = BLOCK_N // 2 if BLOCK_M == SLAB else BLOCK_N
    REUSE: gl.constexpr = VARIANT == "promoted_reuse"
    OUT_SHAPE: gl.constexpr = [CONSUMERS * (STAGES if REUSE else BUFFERS)] + out_desc.block_type.shape
    # A block that begins earlier (start_of) writes some numbers twice: not where D is added into. Nor along
    # N where one scale serves the whole block: the block would lie in two tiles of B.
    SQUARES: gl.constexpr = IN_LOOP and B_SCALES != BLOCK_N
    A_SHAPE: gl.constexpr = [BLOCK_K, BLOCK_M] if A_MN_MAJOR else [BLOCK_M, BLOCK_K]
    B_SHAPE: gl.constexpr = [BLOCK_K, BLOCK_N] if B_MN_MAJOR else [BLOCK_N, BLOCK_K]
    a = gl.allocate_shared_memory(a_desc.dtype, [STAGES] + A_SHAPE, a_desc.layout)
    if REUSE:
        out = reinterpret(a, out_desc.dtype, OUT_SHAPE, out_desc.layout)
    else:
        out = gl.allocate_shared_memory(out_desc.dtype, OUT_SHAPE, out_desc.layout)
    full = gl.allocate_shared_memory(gl.int64, [STAGES, 1], BARRIER)
    # Only barriers with a waiting role exist: the compiler would give the memory of others to something else,
    # and nothing may be written over a barrier that was not invalidated. Source: PTX ISA, mbarrier.inval.
    HAS_SCALES_BARRIER: gl.constexpr = AT_END and A_SCALES + B_SCALES != 0
    scales_empty = full
    if HAS_SCALES_BARRIER:
        scales_empty = gl.allocate_shared_memory(gl.int64, [1, 1], BARRIER)
    fetched = full
    if ACCUMULATE:
        fetched = gl.allocate_shared_memory(gl.int64, [CONSUMERS, 1], BARRIER)
    ring = Ring(
        a=a,
        b=gl.allocate_shared_memory(b_desc.dtype, [STAGES] + B_SHAPE, b_desc.layout),
        a_scale=gl.allocate_shared_memory(
            gl.float32, [SETS] + a_scale_desc.block_type.shape, a_scale_desc.layout
        ),
        b_scale=gl.allocate_shared_memory(
            gl.float32, [SETS] + b_scale_desc.block_type.shape, b_scale_desc.layout
        ),
        out=out,
        full=full,
        empty=gl.allocate_shared_memory(gl.int64, [STAGES, 1], BARRIER),
        scales_empty=scales_empty,
        fetched=fetched,
        VARIANT=VARIANT,
        CHAINS=CHAINS,
        BLOCK_M=BLOCK_M,
        BLOCK_N=BLOCK_N,
        BLOCK_K=BLOCK_K,
        GROUP=group,
        STAGES=STAGES,
        SPLITS=SPLITS,
        IN_LOOP=IN_LOOP,
        AT_END=AT_END,
        ACCUMULATE=ACCUMULATE,
        OUT_BYTES=out_desc.dtype.primitive_bitwidth // 8,
        A_SCALES=A_SCALES,
        B_SCALES=B_SCALES,
        A_MN_MAJOR=A_MN_MAJOR,
        B_MN_MAJOR=B_MN_MAJOR,
        A_ROWS=a_desc.block_type.shape[1 if A_MN_MAJOR else 0],
        CODE_BYTES=a_desc.block_type.nbytes + b_desc.block_type.nbytes,
        SCALE_BYTES=(A_SCALES + B_SCALES) * ONE_SCALE_BYTES,
        COLUMNS=COLUMNS,
        # wgmma is 16 rows a warp high and takes 256 bits of K at once.
        LAYOUT=gl.NVMMADistributedLayout(
            [3, 0], [4, 1], [16, COLUMNS, 256 // a_desc.dtype.primitive_bitwidth]
        ),
        ROOMY=True,
        WITHIN_M=not ACCUMULATE,
        WITHIN_N=not (ACCUMULATE or SQUARES),
    )
    for stage in gl.static_range(STAGES):
        mbarrier.init(ring.full.index(stage), count=1)
        mbarrier.init(ring.empty.index(stage), count=CONSUMERS)
    if ACCUMULATE:
        for warpgroup in gl.static_range(CONSUMERS):
            mbarrier.init(ring.fetched.index(warpgroup), count=1)
    if HAS_SCALES_BARRIER:
        mbarrier.init(ring.scales_empty.index(0), count=CONSUMERS)
    fence_async_shared()  # TMA goes to memory by another path: it must see the barriers initialized
    wait_for_kernels_before()  # memory is read and written only from here on (early_kernel.py)
    mnk = (m, n, k)
    scale_ptrs = (a_scale_ptr, b_scale_ptr)
    split_ptrs = scale_ptrs  # a stand-in: a tuple of None cannot be passed
    if SPLITS > 1:
        split_ptrs = (parts_ptr, arrivals_ptr)
    consume_arguments = (ring, out_desc, scale_ptrs, split_ptrs, mnk, b_mn_tiles)
    produce_arguments = (a_desc, b_desc, a_scale_desc, b_scale_desc, ring, mnk, a_mn_tiles, b_mn_tiles)
    # Each has a partition of its own: in one partition, every arrival would make all warpgroups wait for each
    # other. The first one has the launch's 4 warps; the others get 4 or 1 more.
    gl.warp_specialize(
        [
            (consume, (0,) + consume_arguments),
            (consume, (1,) + consume_arguments),
            (produce, produce_arguments),
        ],
        [4, 1],
        [CONSUMER_REGISTERS, PRODUCER_REGISTERS],
    )
