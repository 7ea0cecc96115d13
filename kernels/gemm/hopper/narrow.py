"""The fast GEMM for few rows and columns on Hopper, in Gluon: one warp loads, one warpgroup multiplies.

D[M, N] = A[M, K] · B[N, K]ᵀ in blocks so narrow that nearly every SM has one, over all of K: nobody passes
sums on. A program's loads take longer than its products, and it is short: what sets it up and what ends it
count too. So there are few barriers, a stage being two steps along K, and no second warpgroup; the scales are
read while the first stages load; and numbers go from registers to D.

Where sums are promoted, the partial sums of two stages are in the tensor core at a time, and join the fp32
sum one after the other: the order of the simple kernel.
"""

from triton.experimental import gluon
from triton.experimental.gluon import language as gl
from triton.experimental.gluon.language.nvidia.hopper import (
    fence_async_shared,
    mbarrier,
    warpgroup_mma,
    warpgroup_mma_wait,
)

from kernels.gemm.hopper import narrow_blocks
from kernels.gemm.hopper.gluon_api import aggregate, async_load
from kernels.gemm.hopper.ring import after, release

STEPS = gl.constexpr(narrow_blocks.STEPS)
PRODUCER_REGISTERS = gl.constexpr(24)


@aggregate
class NarrowRing:
    """Shared memory: STAGES of STEPS blocks of A and of B, and barriers. And compile-time facts."""

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

    @gluon.constexpr_function
    def __init__(self, a, b, full, empty, A_SCALES, B_SCALES, PROMOTED, OPERAND_BITS):
        self.a = a
        self.b = b
        self.full = full
        self.empty = empty
        self.STAGES = gl.constexpr(full.shape[0])
        self.STEP = gl.constexpr(a.shape[2])
        self.BLOCK_M = gl.constexpr(a.shape[1])
        self.BLOCK_N = gl.constexpr(b.shape[1])
        self.A_SCALES = gl.constexpr(A_SCALES)
        self.B_SCALES = gl.constexpr(B_SCALES)
        self.PROMOTED = gl.constexpr(PROMOTED)
        shape = [16, b.shape[1], 256 // OPERAND_BITS]
        self.LAYOUT = gl.constexpr(gl.NVMMADistributedLayout([3, 0], [narrow_blocks.WARPS, 1], shape))


@gluon.jit
def corner(m, ring):
    """(first row, first column) of the program's block; neighbors have the same columns."""
    high = (m + ring.BLOCK_M - 1) // ring.BLOCK_M
    return gl.program_id(0) % high * ring.BLOCK_M, gl.program_id(0) // high * ring.BLOCK_N


@gluon.jit
def produce(a_desc, b_desc, ring, m, k):
    """The loading warp. Beyond K are zeros, which add nothing. Of an A of fewer rows than a block only those
    are loaded: TMA is slow to write zeros, and what lies below becomes rows of D that are not stored.
    """
    BYTES: gl.constexpr = STEPS * (a_desc.block_type.nbytes + b_desc.block_type.nbytes)
    row, column = corner(m, ring)
    stage = 0
    phase = 1
    for start in range(0, k, STEPS * ring.STEP):
        full = ring.full.index(stage)
        mbarrier.wait(ring.empty.index(stage), phase)
        mbarrier.expect(full, BYTES)
        for step in gl.static_range(STEPS):
            at = stage * STEPS + step
            async_load(b_desc, [column, start + step * ring.STEP], full, ring.b.index(at))
            a = ring.a.index(at).slice(0, a_desc.block_type.shape[0])
            async_load(a_desc, [row, start + step * ring.STEP], full, a)
        stage, phase = after(stage, phase, ring)


@gluon.jit
def multiply(acc, keep, stage, STEP: gl.constexpr, ring):
    """Queue a step along K on the tensor core."""
    a = ring.a.index(stage * STEPS + STEP)
    b = ring.b.index(stage * STEPS + STEP).permute([1, 0])
    return warpgroup_mma(a, b, acc, use_acc=keep, is_async=True)


@gluon.jit
def multiply_apart(first, second, stage, phase, ring):
    """Queue the steps of a stage once they are there, each with a sum of its own."""
    mbarrier.wait(ring.full.index(stage), phase)
    return multiply(first, False, stage, 0, ring), multiply(second, False, stage, 1, ring)


@gluon.jit
def promoted(zero, k, ring):
    """float32 like `zero`: the sum of codes over all of K, each step's by itself in the tensor core."""
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
        before = stage
        stage, phase = after(stage, phase, ring)
        third, fourth = multiply_apart(third, fourth, stage, phase, ring)
        first = warpgroup_mma_wait(3, deps=[first])
        acc += first
        second = warpgroup_mma_wait(2, deps=[second])
        release(ring, before)
        acc += second
        third = warpgroup_mma_wait(1, deps=[third])
        acc += third
        fourth = warpgroup_mma_wait(0, deps=[fourth])
        release(ring, stage)
        acc += fourth
        stage, phase = after(stage, phase, ring)
    if stages % 2:
        first, second = multiply_apart(first, second, stage, phase, ring)
        first = warpgroup_mma_wait(1, deps=[first])
        acc += first
        second = warpgroup_mma_wait(0, deps=[second])
        acc += second
    return acc


@gluon.jit
def summed(zero, k, ring):
    """float32 like `zero`: the same sum, all of it in the tensor core."""
    acc = zero
    stage = 0
    phase = 0
    for start in range(0, k, STEPS * ring.STEP):
        mbarrier.wait(ring.full.index(stage), phase)
        acc = multiply(acc, start > 0, stage, 0, ring)
        acc = multiply(acc, True, stage, 1, ring)
        acc = warpgroup_mma_wait(0, deps=[acc])
        release(ring, stage)
        stage, phase = after(stage, phase, ring)
    return acc


@gluon.jit
def scales_of(scale_ptr, start, size, PER_LINE: gl.constexpr, COUNT: gl.constexpr, LAYOUT: gl.constexpr):
    """float32[COUNT] of a block's rows or columns, or the one of all."""
    if PER_LINE:
        lines = start + gl.arange(0, COUNT, LAYOUT)
        scales = gl.load(scale_ptr + lines, mask=lines < size, other=0.0)
    else:
        scales = gl.full([COUNT], gl.load(scale_ptr), gl.float32, LAYOUT)
    return scales


@gluon.jit
def consume(ring, scale_ptrs, out_ptr, strides, m, n, k):
    """The multiplying warpgroup."""
    ROW: gl.constexpr = gl.SliceLayout(1, ring.LAYOUT)
    COLUMN: gl.constexpr = gl.SliceLayout(0, ring.LAYOUT)
    row, column = corner(m, ring)
    a_scale = scales_of(scale_ptrs[0], row, m, ring.A_SCALES, ring.BLOCK_M, ROW)
    b_scale = scales_of(scale_ptrs[1], column, n, ring.B_SCALES, ring.BLOCK_N, COLUMN)
    zero = gl.zeros([ring.BLOCK_M, ring.BLOCK_N], gl.float32, ring.LAYOUT)
    if ring.PROMOTED:
        value = promoted(zero, k, ring)
    else:
        value = summed(zero, k, ring)
    value = value * gl.expand_dims(a_scale, 1) * gl.expand_dims(b_scale, 0)
    rows = row + gl.arange(0, ring.BLOCK_M, ROW)
    columns = column + gl.arange(0, ring.BLOCK_N, COLUMN)
    inside = gl.expand_dims(rows < m, 1) & gl.expand_dims(columns < n, 0)
    down, across = rows.to(gl.int64) * strides[0], columns.to(gl.int64) * strides[1]
    places = out_ptr + gl.expand_dims(down, 1) + gl.expand_dims(across, 0)
    gl.store(places, value.to(out_ptr.dtype.element_ty), mask=inside)


@gluon.jit
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
    """D in blocks, one a program. The descriptors' blocks are one step along K. A_SCALES, B_SCALES: whether
    each row of A, or of B, has a scale; else one is for all.
    """
    BARRIER: gl.constexpr = mbarrier.MBarrierLayout()
    STEP: gl.constexpr = b_desc.block_type.shape[1]
    ring = NarrowRing(
        gl.allocate_shared_memory(a_desc.dtype, [STAGES * STEPS, BLOCK_M, STEP], a_desc.layout),
        gl.allocate_shared_memory(b_desc.dtype, [STAGES * STEPS, BLOCK_N, STEP], b_desc.layout),
        gl.allocate_shared_memory(gl.int64, [STAGES, 1], BARRIER),
        gl.allocate_shared_memory(gl.int64, [STAGES, 1], BARRIER),
        A_SCALES,
        B_SCALES,
        PROMOTED,
        a_desc.dtype.primitive_bitwidth,
    )
    for stage in gl.static_range(STAGES):
        mbarrier.init(ring.full.index(stage), count=1)
        mbarrier.init(ring.empty.index(stage), count=1)
    fence_async_shared()
    scale_ptrs = (a_scale_ptr, b_scale_ptr)
    multiplies = (ring, scale_ptrs, out_ptr, (out_stride_m, out_stride_n), m, n, k)
    gl.warp_specialize(
        [(consume, multiplies), (produce, (a_desc, b_desc, ring, m, k))], [1], [PRODUCER_REGISTERS]
    )
