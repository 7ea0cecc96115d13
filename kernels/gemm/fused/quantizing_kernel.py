"""The GEMM on Hopper that quantizes its own A, in Gluon: D[M, N] = A[M, K] · B[N, K]ᵀ, A in bf16.

It is kernels.gemm.hopper.kernel with one stop more: A's rows lie in a stage as they came, and one or two
warpgroups quantize them there, some stages ahead of those that multiply. A program that has a block of D
quantizes all rows of A that the block needs: each row is quantized as often as D is blocks wide.

| role | does | waits for | arrives at |
|---|---|---|---|
| `load`, 1 warp | loads A, B and B's scales by TMA | `empty` | `full`, once a step |
| `quantize`, 1 or 2 warpgroups | turns the rows of a stage into codes, in turns | `full` | `ready` |
| `consume`, 2 warpgroups | multiplies, adds, stores D | `ready` | `empty`, each once a step |

`ready` takes 1 arrival; the others are those of kernels.gemm.hopper.kernel. In a block of 64 rows each
multiplying warpgroup has all of them and half of the columns.

rows.py quantizes, consume.py multiplies.

- `promoted` (1×128 · 128×128): codes take the memory of A's left half, as 1 byte of 2. Sums are promoted.
- `chained` (1×32 · 1×32): codes times their scales are bf16 numbers, which lie where A's lay. One chain of
  wgmma sums them.
"""

from triton.experimental import gluon
from triton.experimental.gluon import language as gl
from triton.experimental.gluon.language.nvidia.hopper import fence_async_shared, mbarrier

from kernels.gemm.fused.consume import TILE, consume_chained, consume_promoted
from kernels.gemm.fused.rows import LINE, quantize
from kernels.gemm.hopper.gluon_api import async_load, wait_for_kernels_before
from kernels.gemm.hopper.items import block_of, count_blocks, count_steps, share_of
from kernels.gemm.hopper.ring import ALIGNED_SCALES, CONSUMERS, Ring, advance

PRODUCER_REGISTERS = gl.constexpr(24)


@gluon.jit
def load(a_desc, b_desc, b_scale_desc, ring, mnk, b_mn_tiles):
    """The loading warp: fill stage after stage by TMA, as soon as both warpgroups have emptied it."""
    m, n, k = mnk
    steps = count_steps(k, ring)
    LINES: gl.constexpr = ring.a.shape[0] // ring.STAGES
    stage = 0
    phase = 1  # a new barrier counts as one whose phase 1 is over
    for item in range(gl.program_id(0), count_blocks(m, n, ring) * ring.RUNS, gl.num_programs(0)):
        block, _run, first, stop = share_of(item, m, n, steps, 1, ring)
        row, column = block_of(block, m, n, ring)
        for step in range(first, stop):
            full = ring.full.index(stage)
            mbarrier.wait(ring.empty.index(stage), phase)
            mbarrier.expect(full, ring.CODE_BYTES + ring.SCALE_BYTES)
            for line in gl.static_range(LINES):
                a = ring.a.index(stage * LINES + line)  # [BLOCK_M, LINE]
                if ring.A_ROWS != ring.BLOCK_M:
                    a = a.slice(0, ring.A_ROWS)
                async_load(a_desc, [row, step * ring.BLOCK_K + line * LINE], full, a)
            async_load(b_desc, [column, step * ring.BLOCK_K], full, ring.b.index(stage))
            if ring.IN_LOOP:
                place = (step * b_mn_tiles + column // TILE) // ALIGNED_SCALES * ALIGNED_SCALES
                async_load(b_scale_desc, [place], full, ring.b_scale.index(stage))
            stage, phase = advance(stage, phase, ring)


@gluon.jit
def consume(WG: gl.constexpr, ring, ready, out_desc, split_ptrs, mnk, b_mn_tiles):
    """A multiplying warpgroup: 64 rows and all columns of a block; of 64 rows in all, half the columns."""
    if ring.IN_LOOP:
        consume_promoted(WG, ring, ready, out_desc, split_ptrs, mnk, b_mn_tiles)
    else:
        consume_chained(WG, ring, ready, out_desc, mnk)


@gluon.jit
def quantizing_gemm_kernel(
    a_desc,
    b_desc,
    b_scale_desc,
    out_desc,
    parts_ptr,
    arrivals_ptr,
    m,
    n,
    k,
    b_mn_tiles,
    group,
    FACTS: gl.constexpr,
    IN_LOOP: gl.constexpr,
    B_SCALES: gl.constexpr,
    BLOCK_M: gl.constexpr,
    BLOCK_N: gl.constexpr,
    BLOCK_K: gl.constexpr,
    COLUMNS: gl.constexpr,
    STAGES: gl.constexpr,
    RUNS: gl.constexpr,
):
    """D in blocks. FACTS: how A is quantized. IN_LOOP: scales of A and B multiply each step's sums; else they
    are on the numbers already. COLUMNS: those of one wgmma. The other names are those of
    kernels.gemm.hopper.kernel.
    """
    BARRIER: gl.constexpr = mbarrier.MBarrierLayout()
    LINES: gl.constexpr = BLOCK_K // LINE
    FLAT: gl.constexpr = gl.SwizzledSharedLayout(1, 1, 1, [0])
    # One of two quantizing warpgroups has every second step. On an odd ring it would see every second phase
    # of `full` only, and a wait for one of them would end at once.
    gl.static_assert(FACTS.warpgroups == 1 or STAGES % 2 == 0)
    full = gl.allocate_shared_memory(gl.int64, [STAGES, 1], BARRIER)
    ring = Ring(
        a=gl.allocate_shared_memory(a_desc.dtype, [STAGES * LINES, BLOCK_M, LINE], a_desc.layout),
        b=gl.allocate_shared_memory(b_desc.dtype, [STAGES, BLOCK_N, BLOCK_K], b_desc.layout),
        a_scale=gl.allocate_shared_memory(gl.float32, [STAGES, BLOCK_M], FLAT),
        b_scale=gl.allocate_shared_memory(
            gl.float32, [STAGES] + b_scale_desc.block_type.shape, b_scale_desc.layout
        ),
        out=gl.allocate_shared_memory(
            out_desc.dtype, [CONSUMERS] + out_desc.block_type.shape, out_desc.layout
        ),
        full=full,
        empty=gl.allocate_shared_memory(gl.int64, [STAGES, 1], BARRIER),
        scales_empty=full,  # nobody waits for these two
        fetched=full,
        BODY="quantizing",
        BLOCK_M=BLOCK_M,
        BLOCK_N=BLOCK_N,
        BLOCK_K=BLOCK_K,
        GROUP=group,
        WHOLE=group,  # a stand-in: its programs share all blocks or none
        STAGES=STAGES,
        RUNS=RUNS,
        SHARES_LAST=False,
        IN_LOOP=IN_LOOP,
        AT_END=False,
        ACCUMULATE=False,
        OUT_BYTES=out_desc.dtype.primitive_bitwidth // 8,
        A_SCALES=0,
        B_SCALES=B_SCALES,
        A_TURNED=False,
        B_TURNED=False,
        A_PIECES=1,
        A_ROWS=a_desc.block_type.shape[0],
        CODE_BYTES=LINES * a_desc.block_type.nbytes + b_desc.block_type.nbytes,
        SCALE_BYTES=b_scale_desc.block_type.nbytes if IN_LOOP else 0,
        COLUMNS=COLUMNS,
        LAYOUT=gl.NVMMADistributedLayout(
            [3, 0], [4, 1], [16, COLUMNS, 256 // b_desc.dtype.primitive_bitwidth]
        ),
        INTO=None,
        QUANTIZES=FACTS,
        ROOMY=False,
        WITHIN_M=False,
        WITHIN_N=False,
    )
    ready = gl.allocate_shared_memory(gl.int64, [STAGES, 1], BARRIER)
    for stage in gl.static_range(STAGES):
        mbarrier.init(ring.full.index(stage), count=1)
        mbarrier.init(ring.empty.index(stage), count=CONSUMERS)
        mbarrier.init(ready.index(stage), count=1)
    fence_async_shared()  # TMA goes to memory by another path: it must see the barriers initialized
    wait_for_kernels_before()
    mnk = (m, n, k)
    split_ptrs = (out_desc, out_desc)  # a stand-in: a tuple of None cannot be passed
    if RUNS > 1:
        split_ptrs = (parts_ptr, arrivals_ptr)
    multiplies = (ring, ready, out_desc, split_ptrs, mnk, b_mn_tiles)
    loads = (a_desc, b_desc, b_scale_desc, ring, mnk, b_mn_tiles)
    rows = (ring, ready, mnk)
    if FACTS.warpgroups == 2:
        gl.warp_specialize(
            [
                (consume, (0,) + multiplies),
                (consume, (1,) + multiplies),
                (quantize, (0,) + rows),
                (quantize, (1,) + rows),
                (load, loads),
            ],
            [4, 4, 4, 1],
            [FACTS.consumer_registers, FACTS.registers, FACTS.registers, PRODUCER_REGISTERS],
        )
    else:
        gl.warp_specialize(
            [
                (consume, (0,) + multiplies),
                (consume, (1,) + multiplies),
                (quantize, (0,) + rows),
                (load, loads),
            ],
            [4, 4, 1],
            [FACTS.consumer_registers, FACTS.registers, PRODUCER_REGISTERS],
        )
