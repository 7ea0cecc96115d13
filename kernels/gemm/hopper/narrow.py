"""The fast GEMM for few rows and columns on Hopper, in Gluon: one warp loads, one warpgroup multiplies.

D[M, N] = A[M, K] · B[N, K]ᵀ in blocks of 64 × 32: so narrow that nearly every SM has one, over all of K. No
program passes a sum on to another.

| role | does | waits for | arrives at |
|---|---|---|---|
| `produce`, 1 warp | loads A and B by TMA | `empty` of the stage | `full`, once a stage |
| `consume`, 1 warpgroup | multiplies, adds, stores D | `full` of the stage | `empty`, once a stage |

Both barriers take one arrival a use; `full` also waits for the bytes that the loading warp told it to expect.

Such a program is short, and its loads take longer than its products: what begins and ends it counts too. So a
stage is two steps along K, which halves the barriers. There is no second warpgroup. Scales are read while the
first stages load, and numbers go from registers straight to D.

Where sums are promoted, the four partial sums of two stages are in the tensor core at a time. They join the
fp32 sum one after the other, in the order of the simple kernel.
"""

from triton.experimental import gluon
from triton.experimental.gluon import language as gl
from triton.experimental.gluon.language.nvidia.hopper import (
    fence_async_shared,
    mbarrier,
    warpgroup_mma,
    warpgroup_mma_wait,
)

from kernels.gemm.hopper import sizes
from kernels.gemm.hopper.gluon_api import aggregate, async_load, wait_for_kernels_before
from kernels.gemm.hopper.ring import advance, release

STEPS = gl.constexpr(sizes.NARROW_STEPS)
WARPS = gl.constexpr(sizes.NARROW_WARPS)
PRODUCER_REGISTERS = gl.constexpr(24)


@aggregate
class NarrowRing:
    """Shared memory, its barriers, and what is known when the kernel is compiled.

    a, b: STAGES · STEPS blocks of each operand, STEP long along K. A_SCALES, B_SCALES: each row of A, or of
    B, has a scale; else the operand has one. LAYOUT: where the tensor core keeps its sum in registers.
    """

    a: gl.shared_memory_descriptor
    b: gl.shared_memory_descriptor
    full: gl.shared_memory_descriptor
    empty: gl.shared_memory_descriptor
    STAGES: gl.constexpr
    STEP: gl.constexpr
    BLOCK_M: gl.constexpr
    BLOCK_N: gl.constexpr
    A_SCALES: gl.constexpr
    B_SCALES: gl.constexpr
    PROMOTED: gl.constexpr
    LAYOUT: gl.constexpr


@gluon.jit
def corner(m, n, ring):
    """(first row, first column) of the program's block. Neighbors share columns: L2 reads their B once.

    The last blocks end with D, where D has room for a block: TMA is slow to make zeros. They compute some
    numbers anew, with the same bits.
    """
    high = (m + ring.BLOCK_M - 1) // ring.BLOCK_M
    row, column = gl.program_id(0) % high * ring.BLOCK_M, gl.program_id(0) // high * ring.BLOCK_N
    return min(row, max(m - ring.BLOCK_M, 0)), min(column, max(n - ring.BLOCK_N, 0))


@gluon.jit
def produce(a_desc, b_desc, ring, m, n, k):
    """The loading warp. Beyond K, TMA loads zeros, which add nothing."""
    BYTES: gl.constexpr = STEPS * (a_desc.block_type.nbytes + b_desc.block_type.nbytes)
    row, column = corner(m, n, ring)
    stage = 0
    phase = 1  # a new barrier counts as one whose phase 1 is over: the ring is empty
    for start in range(0, k, STEPS * ring.STEP):
        full = ring.full.index(stage)
        mbarrier.wait(ring.empty.index(stage), phase)  # TMA would overwrite what is still multiplied
        mbarrier.expect(full, BYTES)  # of both steps: one barrier serves two
        for step in gl.static_range(STEPS):
            at = stage * STEPS + step
            async_load(b_desc, [column, start + step * ring.STEP], full, ring.b.index(at))  # [BLOCK_N, STEP]
            # Of an A of few rows only those are loaded: TMA is slow to write zeros. What lies below becomes
            # rows of D that nobody stores.
            a = ring.a.index(at).slice(0, a_desc.block_type.shape[0])
            async_load(a_desc, [row, start + step * ring.STEP], full, a)
        stage, phase = advance(stage, phase, ring)


@gluon.jit
def multiply(acc, keep, stage, STEP: gl.constexpr, ring):
    """Queue one step of a stage on the tensor core. The products join the sum if `keep`, else begin it."""
    a = ring.a.index(stage * STEPS + STEP)  # [BLOCK_M, ring.STEP]
    b = ring.b.index(stage * STEPS + STEP).permute([1, 0])  # [ring.STEP, BLOCK_N]
    return warpgroup_mma(a, b, acc, use_acc=keep, is_async=True)


@gluon.jit
def multiply_apart(first, second, stage, phase, ring):
    """Queue both steps of a stage once they are there, each with a partial sum of its own."""
    mbarrier.wait(ring.full.index(stage), phase)
    return multiply(first, False, stage, 0, ring), multiply(second, False, stage, 1, ring)


@gluon.jit
def promoted(zero, k, ring):
    """float32[BLOCK_M, BLOCK_N]: the sum of codes over K, promoted after each step.

    Four partial sums begin and end within one round of the loop. Carried over its end, they would make ptxas
    run one wgmma after the other.
    """
    acc = zero
    first = zero
    second = zero
    third = zero
    fourth = zero
    stage = 0
    phase = 0
    stages = (k + STEPS * ring.STEP - 1) // (STEPS * ring.STEP)
    for _ in range(stages // 2):
        first, second = multiply_apart(first, second, stage, phase, ring)
        earlier = stage
        stage, phase = advance(stage, phase, ring)
        third, fourth = multiply_apart(third, fourth, stage, phase, ring)
        # wgmma end in order: with three still running, the first is done. Each wait frees one more.
        first = warpgroup_mma_wait(3, deps=[first])
        acc += first
        second = warpgroup_mma_wait(2, deps=[second])
        release(ring, earlier)
        acc += second
        third = warpgroup_mma_wait(1, deps=[third])
        acc += third
        fourth = warpgroup_mma_wait(0, deps=[fourth])
        release(ring, stage)
        acc += fourth
        stage, phase = advance(stage, phase, ring)
    if stages % 2:
        first, second = multiply_apart(first, second, stage, phase, ring)
        first = warpgroup_mma_wait(1, deps=[first])
        acc += first
        second = warpgroup_mma_wait(0, deps=[second])
        acc += second
    return acc


@gluon.jit
def summed(zero, k, ring):
    """float32[BLOCK_M, BLOCK_N]: the sum of codes over K, in one chain in the tensor core."""
    acc = zero
    stage = 0
    phase = 0
    for start in range(0, k, STEPS * ring.STEP):
        mbarrier.wait(ring.full.index(stage), phase)
        acc = multiply(acc, start > 0, stage, 0, ring)
        acc = multiply(acc, True, stage, 1, ring)
        acc = warpgroup_mma_wait(0, deps=[acc])
        release(ring, stage)
        stage, phase = advance(stage, phase, ring)
    return acc


@gluon.jit
def scales_of(scale_ptr, start, size, PER_LINE: gl.constexpr, COUNT: gl.constexpr, LAYOUT: gl.constexpr):
    """float32[COUNT]: the scales of a block's rows or columns, or the one of the operand COUNT times."""
    if PER_LINE:
        lines = start + gl.arange(0, COUNT, LAYOUT)
        scales = gl.load(scale_ptr + lines, mask=lines < size, other=0.0)
    else:
        scales = gl.full([COUNT], gl.load(scale_ptr), gl.float32, LAYOUT)
    return scales


@gluon.jit
def consume(ring, scale_ptrs, out_ptr, strides, m, n, k):
    """The multiplying warpgroup. out_ptr, strides: D and the steps from row to row and column to column."""
    ROW: gl.constexpr = gl.SliceLayout(1, ring.LAYOUT)
    COLUMN: gl.constexpr = gl.SliceLayout(0, ring.LAYOUT)
    row, column = corner(m, n, ring)
    # Before the first wait: these loads take their time while the first stages come.
    a_scale = scales_of(scale_ptrs[0], row, m, ring.A_SCALES, ring.BLOCK_M, ROW)
    b_scale = scales_of(scale_ptrs[1], column, n, ring.B_SCALES, ring.BLOCK_N, COLUMN)
    zero = gl.zeros([ring.BLOCK_M, ring.BLOCK_N], gl.float32, ring.LAYOUT)
    if ring.PROMOTED:
        value = promoted(zero, k, ring)
    else:
        value = summed(zero, k, ring)
    value = value * gl.expand_dims(a_scale, 1) * gl.expand_dims(b_scale, 0)  # [BLOCK_M, BLOCK_N]
    rows = row + gl.arange(0, ring.BLOCK_M, ROW)
    columns = column + gl.arange(0, ring.BLOCK_N, COLUMN)
    inside = gl.expand_dims(rows < m, 1) & gl.expand_dims(columns < n, 0)
    # int64: a D of 2**31 numbers or more is allowed
    down, across = rows.to(gl.int64) * strides[0], columns.to(gl.int64) * strides[1]
    places = out_ptr + gl.expand_dims(down, 1) + gl.expand_dims(across, 0)
    gl.store(places, value.to(out_ptr.dtype.element_ty), mask=inside)


@gluon.jit(do_not_specialize=["m", "n", "k"])
def narrow_gemm_kernel(
    a_desc,
    b_desc,
    a_scale_ptr,
    b_scale_ptr,
    out_ptr,
    m,
    n,
    k,
    out_stride_m,
    out_stride_n,
    A_SCALES: gl.constexpr,
    B_SCALES: gl.constexpr,
    PROMOTED: gl.constexpr,
    BLOCK_M: gl.constexpr,
    BLOCK_N: gl.constexpr,
    STAGES: gl.constexpr,
):
    """D in blocks, one a program. The descriptors' blocks are one step along K, half a stage.

    A_SCALES, B_SCALES: each row of A, or of B, has a scale; else the operand has one. PROMOTED: sums leave
    the tensor core after each step.
    """
    BARRIER: gl.constexpr = mbarrier.MBarrierLayout()
    STEP: gl.constexpr = b_desc.block_type.shape[1]
    ring = NarrowRing(
        a=gl.allocate_shared_memory(a_desc.dtype, [STAGES * STEPS, BLOCK_M, STEP], a_desc.layout),
        b=gl.allocate_shared_memory(b_desc.dtype, [STAGES * STEPS, BLOCK_N, STEP], b_desc.layout),
        full=gl.allocate_shared_memory(gl.int64, [STAGES, 1], BARRIER),
        empty=gl.allocate_shared_memory(gl.int64, [STAGES, 1], BARRIER),
        STAGES=STAGES,
        STEP=STEP,
        BLOCK_M=BLOCK_M,
        BLOCK_N=BLOCK_N,
        A_SCALES=A_SCALES,
        B_SCALES=B_SCALES,
        PROMOTED=PROMOTED,
        # wgmma is 16 rows a warp high and takes 256 bits of K at once.
        LAYOUT=gl.NVMMADistributedLayout(
            [3, 0], [WARPS, 1], [16, BLOCK_N, 256 // a_desc.dtype.primitive_bitwidth]
        ),
    )
    for stage in gl.static_range(STAGES):
        mbarrier.init(ring.full.index(stage), count=1)
        mbarrier.init(ring.empty.index(stage), count=1)
    fence_async_shared()  # TMA goes to memory by another path: it must see the barriers initialized
    wait_for_kernels_before()
    scale_ptrs = (a_scale_ptr, b_scale_ptr)
    multiplies = (ring, scale_ptrs, out_ptr, (out_stride_m, out_stride_n), m, n, k)
    gl.warp_specialize(
        [(consume, multiplies), (produce, (a_desc, b_desc, ring, m, n, k))], [1], [PRODUCER_REGISTERS]
    )
