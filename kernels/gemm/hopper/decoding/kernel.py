"""The fast GEMM that decodes the codes of one operand in its warpgroups' registers, in Gluon.

D[M, N] = A[M, K] · B[N, K]ᵀ. The codes are B's, and the kernel computes Dᵀ = B · Aᵀ; or they are the larger
A's (OF_A). The other operand comes as bf16 values from a pass; with few rows as codes, which a third
warpgroup decodes (WIDEN). Codes are bytes, or two of 4 bits in one, with a scale of one byte for each 1 ×
TILE_K. A pass repeats the scale of a tile with several rows: TMA starts at multiples of 16 bytes, and 128
rows have 8 scales of 16 × 16.

| role | does | waits for | arrives at |
|---|---|---|---|
| `produce`, 1 warp | loads codes, scales and values by TMA | `empty` of the stage | `full`, once a step |
| `consume`, 2 or 4 warpgroups | decodes and multiplies 64 rows each | `full`, `turn` | `empty`, `turn` |
| `widen`, 1 warpgroup if values come as codes | decodes them | `full` | `ready`, once a step |

| barrier | there are | one use takes | then |
|---|---|---|---|
| `full` | one a stage | 1 arrival and all expected bytes | the stage may be decoded and multiplied |
| `ready` | one a stage | 1 arrival | the values of the stage were decoded and may be multiplied |
| `empty` | one a stage | 2 arrivals, of the warpgroups that use it | the stage may be overwritten |
| `turn` | two | 1 arrival | the warpgroup whose turn it is may queue a wgmma |
| `summed` | two, with two splits of K | 1 arrival | the second split's sum lies in `parts` |
| `fetched` | two | 1 arrival and all expected bytes | the old D is here, to be added to |

Decoding needs the arithmetic units, multiplying the tensor core, so the warpgroups take turns: one decodes
its next codes while the other's wgmma runs. The left factor of a wgmma may come from registers: decoded codes
never go through shared memory.

A block has 128 rows of codes, a slab of 64 a warpgroup. It has all rows of few values, else 256: registers
hold no more sums.

With two splits of K in one program (OWN_SPLITS) there are two pairs of warpgroups: each pair sums one, and
the first adds the second's sum. Each pair has every second stage of an even ring for itself. With few blocks
of D, programs split K further (kernels.gemm.hopper.shared_sums).

A thread gets bytes 4j to 4j + 3 of 16 along K and decodes every other one together. The tensor core wants 2j,
2j + 1, 2j + 8 and 2j + 9 of the left factor in that thread. But a product does not depend on the place of its
two factors along K, if it is the same place. So decoded numbers stay where they fall, and the pass writes the
other operand in that order (dequantize_kernel, in_order). The tensor core adds 16 products at once: for codes
of a byte no bit of the sum changes. Of 32 codes of 4 bits it adds the 16 low halves of bytes first, the even
ones.
"""

from triton.experimental import gluon
from triton.experimental.gluon import language as gl
from triton.experimental.gluon.language.nvidia.hopper import fence_async_shared, mbarrier

from kernels.gemm.hopper import sizes
from kernels.gemm.hopper.decoding.consume import FEW_VALUES, consume
from kernels.gemm.hopper.decoding.ring import DecodingRing, produce
from kernels.gemm.hopper.decoding.widen import widen
from kernels.gemm.hopper.gluon_api import let_the_next_start
from kernels.gemm.hopper.ring import CONSUMERS

SLAB = gl.constexpr(sizes.SLAB)
CODES = gl.constexpr(sizes.CODES)
MOST_AT_ONCE = gl.constexpr(64)
"""Columns of a sum that is passed on in one part: registers hold two parts beside the whole sum."""
CONSUMER_REGISTERS = gl.constexpr(232)
SPLIT_REGISTERS = gl.constexpr(112)
WIDENED_REGISTERS = gl.constexpr(168)
WIDEN_REGISTERS = gl.constexpr(144)
WIDENED_SPLIT = gl.constexpr(96)
WIDEN_SPLIT = gl.constexpr(64)
PRODUCER_REGISTERS = gl.constexpr(24)


@gluon.jit(do_not_specialize=["m", "n", "k"])
def decoding_gemm_kernel(
    values_desc,
    values_scale_ptr,
    values_scale_stride,
    codes_desc,
    scale_desc,
    out_desc,
    a_scale_ptr,
    b_scale_ptr,
    parts_ptr,
    arrivals_ptr,
    m,
    n,
    k,
    DECODE: gl.constexpr,
    WIDEN: gl.constexpr,
    SCALE: gl.constexpr,
    ON_SCALES: gl.constexpr,
    ON_SUMS: gl.constexpr,
    AT_END: gl.constexpr,
    OF_A: gl.constexpr,
    GROUP: gl.constexpr,
    STAGES: gl.constexpr,
    SCALE_STEPS: gl.constexpr,
    SPLITS: gl.constexpr,
    OWN_SPLITS: gl.constexpr,
    BUFFERS: gl.constexpr,
    ACCUMULATE: gl.constexpr,
):
    """Compute D block by block; persistent without split-K. The descriptors' boxes have the size of a block.

    Constants: see DecodingRing. Shared sums pass through parts float32[SPLITS, blocks, BLOCK_M, BLOCK_N];
    arrivals[blocks, CONSUMERS] counts them. SCALE_STEPS: steps whose scales `widen` fetches at a time.
    BUFFERS: pieces of D that a warpgroup may have under way.
    """
    VALUES: gl.constexpr = values_desc.block_type.shape[0]
    BLOCK_K: gl.constexpr = values_desc.block_type.shape[1]
    TILES: gl.constexpr = scale_desc.block_type.shape[0]
    BARRIER: gl.constexpr = mbarrier.MBarrierLayout()
    SUMS: gl.constexpr = gl.SwizzledSharedLayout(4, 1, 8, [1, 0])
    HAS_SUMS_BARRIER: gl.constexpr = SPLITS == OWN_SPLITS and OWN_SPLITS > 1
    PART_SHAPE: gl.constexpr = [SLAB, VALUES] if HAS_SUMS_BARRIER else [1, 1]
    full = gl.allocate_shared_memory(gl.int64, [STAGES, 1], BARRIER)
    # A barrier that nobody waits for is not made (kernels.gemm.hopper.kernel says why).
    TAKES_TURNS: gl.constexpr = VALUES > FEW_VALUES
    # With two splits of K, a pair of warpgroups uses every second step. On an odd ring it would see every
    # second phase of `full` only, and such a wait may end at once (kernels.gemm.hopper.storage).
    gl.static_assert(OWN_SPLITS == 1 or (STAGES % 2 == 0 and not TAKES_TURNS))
    turn = full
    if TAKES_TURNS:
        turn = gl.allocate_shared_memory(gl.int64, [CONSUMERS, 1], BARRIER)
    summed = full
    if HAS_SUMS_BARRIER:
        summed = gl.allocate_shared_memory(gl.int64, [CONSUMERS, 1], BARRIER)
    ready = full
    if WIDEN != "":
        ready = gl.allocate_shared_memory(gl.int64, [STAGES, 1], BARRIER)
    fetched = full
    if ACCUMULATE:
        fetched = gl.allocate_shared_memory(gl.int64, [CONSUMERS, 1], BARRIER)
    raw, raw_scales = full, full  # stand-ins where no values come as codes
    if WIDEN != "":
        raw = gl.allocate_shared_memory(gl.uint8, [STAGES, VALUES, BLOCK_K], values_desc.layout)
        raw_scales = gl.allocate_shared_memory(
            gl.int32, [SCALE_STEPS, TILES, VALUES], gl.SwizzledSharedLayout(1, 1, 1, [1, 0])
        )
    values = gl.allocate_shared_memory(
        gl.bfloat16,
        [STAGES, VALUES, BLOCK_K],
        gl.NVMMASharedLayout.get_default_for([VALUES, BLOCK_K], gl.bfloat16),
    )
    ring = DecodingRing(
        values=values,
        codes=gl.allocate_shared_memory(gl.uint8, [STAGES] + codes_desc.block_type.shape, codes_desc.layout),
        scales=gl.allocate_shared_memory(gl.uint8, [STAGES, TILES, CODES], scale_desc.layout),
        raw=raw,
        raw_scales=raw_scales,
        out=gl.allocate_shared_memory(
            out_desc.dtype, [CONSUMERS * BUFFERS] + out_desc.block_type.shape, out_desc.layout
        ),
        parts=gl.allocate_shared_memory(gl.float32, [CONSUMERS] + PART_SHAPE, SUMS),
        full=full,
        ready=ready,
        empty=gl.allocate_shared_memory(gl.int64, [STAGES, 1], BARRIER),
        turn=turn,
        summed=summed,
        fetched=fetched,
        STAGES=STAGES,
        TILES=TILES,
        VALUES=VALUES,
        AT_ONCE=min(MOST_AT_ONCE, VALUES),
        BLOCK_M=CODES if OF_A else VALUES,
        BLOCK_N=VALUES if OF_A else CODES,
        BLOCK_K=BLOCK_K,
        SPLITS=SPLITS,
        OWN_SPLITS=OWN_SPLITS,
        ROOMY=OWN_SPLITS == 1,
        GROUP=GROUP,
        BITS=8 * codes_desc.block_type.shape[1] // BLOCK_K,
        DECODE=DECODE,
        WIDEN=WIDEN,
        TILE_K=BLOCK_K // TILES,
        SCALE=SCALE,
        ON_SCALES=ON_SCALES,
        ON_SUMS=ON_SUMS,
        AT_END=AT_END,
        OF_A=OF_A,
        ACCUMULATE=ACCUMULATE,
        WITHIN_M=not ACCUMULATE,
        WITHIN_N=not ACCUMULATE,
        LAYOUT=gl.NVMMADistributedLayout([3, 0], [4, 1], [16, VALUES, 16]),  # 16 products of bf16 at once
    )
    for stage in gl.static_range(STAGES):
        mbarrier.init(ring.full.index(stage), count=1)
        if WIDEN != "":
            mbarrier.init(ring.ready.index(stage), count=1)
        mbarrier.init(ring.empty.index(stage), count=CONSUMERS)
    for warpgroup in gl.static_range(CONSUMERS):
        if TAKES_TURNS:
            mbarrier.init(ring.turn.index(warpgroup), count=1)
        if HAS_SUMS_BARRIER:
            mbarrier.init(ring.summed.index(warpgroup), count=1)
        if ACCUMULATE:
            mbarrier.init(ring.fetched.index(warpgroup), count=1)
    fence_async_shared()  # TMA goes to memory by another path: it must see the barriers initialized
    let_the_next_start()  # each role waits for the kernels before, after it has computed its work
    mnk = (m, n, k)
    if SPLITS > OWN_SPLITS:
        split_ptrs = (parts_ptr, arrivals_ptr)
    else:
        split_ptrs = (m, n)  # a stand-in: a tuple of None cannot be passed
    consume_arguments = (ring, out_desc, (a_scale_ptr, b_scale_ptr), split_ptrs, mnk)
    produce_arguments = (values_desc, codes_desc, scale_desc, ring, mnk)
    stored_scales = (values_scale_ptr, values_scale_stride)
    if WIDEN != "" and OWN_SPLITS > 1:
        gl.warp_specialize(
            [
                (consume, (0, 0) + consume_arguments),
                (consume, (1, 0) + consume_arguments),
                (consume, (0, 1) + consume_arguments),
                (consume, (1, 1) + consume_arguments),
                (widen, (stored_scales, ring, mnk)),
                (produce, produce_arguments),
            ],
            [4, 4, 4, 4, 1],
            [WIDENED_SPLIT, WIDENED_SPLIT, WIDENED_SPLIT, WIDEN_SPLIT, PRODUCER_REGISTERS],
        )
    elif WIDEN != "":
        gl.warp_specialize(
            [
                (consume, (0, 0) + consume_arguments),
                (consume, (1, 0) + consume_arguments),
                (widen, (stored_scales, ring, mnk)),
                (produce, produce_arguments),
            ],
            [4, 4, 1],
            [WIDENED_REGISTERS, WIDEN_REGISTERS, PRODUCER_REGISTERS],
        )
    elif OWN_SPLITS == 1:
        gl.warp_specialize(
            [
                (consume, (0, 0) + consume_arguments),
                (consume, (1, 0) + consume_arguments),
                (produce, produce_arguments),
            ],
            [4, 1],
            [CONSUMER_REGISTERS, PRODUCER_REGISTERS],
        )
    else:
        gl.warp_specialize(
            [
                (consume, (0, 0) + consume_arguments),
                (consume, (1, 0) + consume_arguments),
                (consume, (0, 1) + consume_arguments),
                (consume, (1, 1) + consume_arguments),
                (produce, produce_arguments),
            ],
            [4, 4, 4, 1],
            [SPLIT_REGISTERS, SPLIT_REGISTERS, SPLIT_REGISTERS, PRODUCER_REGISTERS],
        )
