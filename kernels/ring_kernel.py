"""What the specialized kernel's warpgroups share: compile-time facts, the ring in shared memory, the loading
warp, and a slab of D on its way out. See kernels.specialized_kernel.
"""

from triton.experimental import gluon
from triton.experimental.gluon import language as gl
from triton.experimental.gluon.language.nvidia.hopper import fence_async_shared, mbarrier, tma

from kernels import specialized_blocks
from kernels.gluon_api import aggregate, async_load, async_store

SLAB = gl.constexpr(specialized_blocks.SLAB)
CONSUMERS = gl.constexpr(specialized_blocks.CONSUMERS)
STORED_N = gl.constexpr(specialized_blocks.STORED_N)


@aggregate
class Facts:
    """The compile-time arguments, and the layout of a warpgroup's part of D."""

    BLOCK_M: gl.constexpr
    BLOCK_N: gl.constexpr
    BLOCK_K: gl.constexpr
    GROUP_M: gl.constexpr
    STAGES: gl.constexpr
    IN_LOOP: gl.constexpr
    AT_END: gl.constexpr
    A_SCALES: gl.constexpr
    B_SCALES: gl.constexpr
    PROMOTED: gl.constexpr
    ACCUMULATE: gl.constexpr
    LAYOUT: gl.constexpr

    @gluon.constexpr_function
    def __init__(
        self,
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
        OPERAND_BITS,
    ):
        self.BLOCK_M = gl.constexpr(BLOCK_M)
        self.BLOCK_N = gl.constexpr(BLOCK_N)
        self.BLOCK_K = gl.constexpr(BLOCK_K)
        self.GROUP_M = gl.constexpr(GROUP_M)
        self.STAGES = gl.constexpr(STAGES)
        self.IN_LOOP = gl.constexpr(IN_LOOP)
        self.AT_END = gl.constexpr(AT_END)
        self.A_SCALES = gl.constexpr(A_SCALES)
        self.B_SCALES = gl.constexpr(B_SCALES)
        self.PROMOTED = gl.constexpr(PROMOTED)
        self.ACCUMULATE = gl.constexpr(ACCUMULATE)
        shape = [16, BLOCK_N, 256 // OPERAND_BITS]
        self.LAYOUT = gl.constexpr(gl.NVMMADistributedLayout([3, 0], [4, 1], shape))


@aggregate
class Ring:
    """Shared memory: STAGES of A, B and the scales that change along K, D on its way out, the barriers."""

    a: gl.shared_memory_descriptor
    b: gl.shared_memory_descriptor
    a_scale: gl.shared_memory_descriptor
    b_scale: gl.shared_memory_descriptor
    out: gl.shared_memory_descriptor
    full: gl.shared_memory_descriptor
    empty: gl.shared_memory_descriptor

    @gluon.constexpr_function
    def __init__(self, a, b, a_scale, b_scale, out, full, empty):
        self.a = a
        self.b = b
        self.a_scale = a_scale
        self.b_scale = b_scale
        self.out = out
        self.full = full
        self.empty = empty


@gluon.jit
def block_of(program, m, n, facts):
    """(first row, first column) of a program's block: GROUP_M block rows go together, L2 holds their B."""
    rows = (m + facts.BLOCK_M - 1) // facts.BLOCK_M
    columns = (n + facts.BLOCK_N - 1) // facts.BLOCK_N
    in_group = facts.GROUP_M * columns
    first = program // in_group * facts.GROUP_M
    height = min(rows - first, facts.GROUP_M)
    block_m = first + program % in_group % height
    return block_m * facts.BLOCK_M, program % in_group // height * facts.BLOCK_N


@gluon.jit
def count_blocks(m, n, facts):
    return ((m + facts.BLOCK_M - 1) // facts.BLOCK_M) * ((n + facts.BLOCK_N - 1) // facts.BLOCK_N)


@gluon.jit
def after(stage, phase, facts):
    """The next stage of the ring, and the barriers' phase there."""
    wrap = stage == facts.STAGES - 1
    return gl.where(wrap, 0, stage + 1), gl.where(wrap, phase ^ 1, phase)


@gluon.jit
def before(stage, facts):
    return gl.where(stage == 0, facts.STAGES - 1, stage - 1)


@gluon.jit
def produce(a_desc, b_desc, a_scale_desc, b_scale_desc, ring, m, n, k, a_mn_tiles, b_mn_tiles, facts):
    """The loading warp. TMA starts at multiples of 16 bytes: a single scale of B comes with its neighbors."""
    CODES: gl.constexpr = a_desc.block_type.nbytes + b_desc.block_type.nbytes
    SCALES: gl.constexpr = a_scale_desc.block_type.nbytes + b_scale_desc.block_type.nbytes
    steps = (k + facts.BLOCK_K - 1) // facts.BLOCK_K
    stage = 0
    phase = 1
    for block in range(gl.program_id(0), count_blocks(m, n, facts), gl.num_programs(0)):
        row, column = block_of(block, m, n, facts)
        for step in range(steps):
            full = ring.full.index(stage)
            mbarrier.wait(ring.empty.index(stage), phase)
            mbarrier.expect(full, CODES + SCALES if facts.IN_LOOP else CODES)
            if facts.IN_LOOP:
                b_place = step * b_mn_tiles + column // facts.BLOCK_N * facts.B_SCALES
                async_load(a_scale_desc, [step * a_mn_tiles + row], full, ring.a_scale.index(stage))
                async_load(b_scale_desc, [b_place // 4 * 4], full, ring.b_scale.index(stage))
            async_load(a_desc, [row, step * facts.BLOCK_K], full, ring.a.index(stage))
            async_load(b_desc, [column, step * facts.BLOCK_K], full, ring.b.index(stage))
            stage, phase = after(stage, phase, facts)


@gluon.jit
def scaled(acc, a_scale_ptr, b_scale_ptr, row, column, m, n, facts):
    """fl32(fl32(acc · sA) · sB) with scales of rows and columns, or of whole operands."""
    rows = row + gl.arange(0, SLAB, gl.SliceLayout(1, facts.LAYOUT))
    columns = column + gl.arange(0, facts.BLOCK_N, gl.SliceLayout(0, facts.LAYOUT))
    if facts.A_SCALES:
        acc = acc * gl.expand_dims(gl.load(a_scale_ptr + rows, mask=rows < m, other=0.0), 1)
    else:
        acc = acc * gl.load(a_scale_ptr)
    if facts.B_SCALES:
        acc = acc * gl.expand_dims(gl.load(b_scale_ptr + columns, mask=columns < n, other=0.0), 0)
    else:
        acc = acc * gl.load(b_scale_ptr)
    return acc


@gluon.jit
def store(value, out_desc, staging, out_ptr, row, column, m, n, out_stride_m, PENDING: gl.constexpr, facts):
    """SLAB rows of D through shared memory; PENDING earlier stores of this warpgroup may be under way."""
    if facts.ACCUMULATE:
        rows = row + gl.arange(0, SLAB, gl.SliceLayout(1, value.type.layout))
        columns = column + gl.arange(0, STORED_N, gl.SliceLayout(0, value.type.layout))
        places = gl.expand_dims(rows.to(gl.int64) * out_stride_m, 1) + gl.expand_dims(columns, 0)
        inside = gl.expand_dims(rows < m, 1) & gl.expand_dims(columns < n, 0)
        value = value + gl.load(out_ptr + places, mask=inside, other=0.0)
    tma.store_wait(PENDING)
    staging.store(value.to(staging.dtype))
    fence_async_shared()
    async_store(out_desc, [row, column], staging)
