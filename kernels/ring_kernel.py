"""What the specialized kernel's warpgroups share: compile-time facts, the ring in shared memory, the loading
warp, and a slab of D on its way out. See kernels.specialized_kernel.
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

from kernels import specialized_blocks
from kernels.gluon_api import aggregate, async_load, async_store, reinterpret

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
    PINGPONG: gl.constexpr
    V: gl.constexpr
    PART_M: gl.constexpr
    PAIR_M: gl.constexpr
    PAIR_N: gl.constexpr
    STEP_BYTES: gl.constexpr
    SCALE_BYTES: gl.constexpr
    LAYOUT: gl.constexpr
    ONE: gl.constexpr

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
        CTAS,
        V,
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
        self.V = gl.constexpr(V)
        self.PINGPONG = gl.constexpr(BLOCK_M == BLOCK_N)
        self.PART_M = gl.constexpr(BLOCK_M if BLOCK_M == BLOCK_N else specialized_blocks.SLAB)
        self.PAIR_M = gl.constexpr(CTAS if BLOCK_M <= BLOCK_N else 1)
        self.PAIR_N = gl.constexpr(1 if BLOCK_M <= BLOCK_N else CTAS)
        self.STEP_BYTES = gl.constexpr((BLOCK_M + BLOCK_N) * BLOCK_K * OPERAND_BITS // 8)
        b_scales = B_SCALES if IN_LOOP else B_SCALES * BLOCK_N
        scales = BLOCK_M * (A_SCALES != 0) + (specialized_blocks.FEW_SCALES if IN_LOOP and B_SCALES == 1 else b_scales)
        self.SCALE_BYTES = gl.constexpr(scales * specialized_blocks.SCALE_BYTES)
        self.ONE = gl.constexpr(gl.SwizzledSharedLayout(1, 1, 1, [0], [] if CTAS == 1 else [[0]]))
        shape = [16, BLOCK_N, 256 // OPERAND_BITS]
        pair = [] if CTAS == 1 else [[1, 0]] if BLOCK_M <= BLOCK_N else [[0, 1]]
        self.LAYOUT = gl.constexpr(gl.NVMMADistributedLayout([3, 0], [4, 1], shape, pair))


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
    both_empty: gl.shared_memory_descriptor
    scales_empty: gl.shared_memory_descriptor
    turn: gl.shared_memory_descriptor

    @gluon.constexpr_function
    def __init__(self, a, b, a_scale, b_scale, out, full, empty, both_empty, scales_empty, turn):
        self.a = a
        self.b = b
        self.a_scale = a_scale
        self.b_scale = b_scale
        self.out = out
        self.full = full
        self.empty = empty
        self.both_empty = both_empty
        self.scales_empty = scales_empty
        self.turn = turn


@gluon.jit
def block_of(program, m, n, facts):
    """(first row, first column) of a program's block: GROUP_M block rows go together, L2 holds their B."""
    HEIGHT: gl.constexpr = facts.BLOCK_M * facts.PAIR_M
    WIDTH: gl.constexpr = facts.BLOCK_N * facts.PAIR_N
    rows = (m + HEIGHT - 1) // HEIGHT
    columns = (n + WIDTH - 1) // WIDTH
    in_group = facts.GROUP_M * columns
    first = program // in_group * facts.GROUP_M
    height = min(rows - first, facts.GROUP_M)
    block_m = first + program % in_group % height
    return block_m * HEIGHT, program % in_group // height * WIDTH


@gluon.jit
def count_blocks(m, n, facts):
    HEIGHT: gl.constexpr = facts.BLOCK_M * facts.PAIR_M
    WIDTH: gl.constexpr = facts.BLOCK_N * facts.PAIR_N
    return ((m + HEIGHT - 1) // HEIGHT) * ((n + WIDTH - 1) // WIDTH)


@gluon.jit
def after(stage, phase, facts):
    """The next stage of the ring, and the barriers' phase there."""
    wrap = stage == facts.STAGES - 1
    return gl.where(wrap, 0, stage + 1), gl.where(wrap, phase ^ 1, phase)


@gluon.jit
def before(stage, facts):
    return gl.where(stage == 0, facts.STAGES - 1, stage - 1)


@gluon.jit
def multiply(acc, keep, a, ring, stage):
    """Queue one block of K on the tensor core and go on while one wgmma is under way."""
    b = ring.b.index(stage).permute([1, 0])
    acc = warpgroup_mma(a, b, acc, use_acc=keep, is_async=True)
    return warpgroup_mma_wait(1, deps=[acc])


@gluon.jit
def halves(value, facts):
    """A block's columns as their left and right halves."""
    return value.reshape([value.shape[0], 2, value.shape[1] // 2]).permute([0, 2, 1]).split()


@gluon.jit
def release(ring, stage, pred, facts):
    """A multiplying warpgroup is done with a stage."""
    mbarrier.arrive(ring.empty.index(stage), count=1, pred=pred)
    if facts.PAIR_M * facts.PAIR_N != 1:
        mbarrier.arrive(ring.both_empty.index(stage), count=1, pred=pred)


@gluon.jit
def parts_of(ring, facts):
    """A in shared memory, what one multiplication takes at a time."""
    COUNT: gl.constexpr = facts.STAGES * facts.BLOCK_M // facts.PART_M
    shape: gl.constexpr = [COUNT, facts.PART_M * facts.PAIR_M, facts.BLOCK_K]
    return reinterpret(ring.a, ring.a.dtype, shape, ring.a.layout)


@gluon.jit
def produce(a_desc, b_desc, a_scale_desc, b_scale_desc, ring, m, n, k, a_mn_tiles, b_mn_tiles, facts):
    """The loading warp. TMA starts at multiples of 16 bytes: a single scale of B comes with its neighbors."""
    PAIR: gl.constexpr = facts.PAIR_M * facts.PAIR_N
    PARTS: gl.constexpr = facts.BLOCK_M // facts.PART_M
    HEIGHT: gl.constexpr = facts.PART_M * facts.PAIR_M
    steps = (k + facts.BLOCK_K - 1) // facts.BLOCK_K
    parts = parts_of(ring, facts)
    stage = 0
    phase = 1
    scales_phase = 1
    turn = 0
    for block in range(gl.program_id(0), count_blocks(m, n, facts), gl.num_programs(0)):
        row, column = block_of(block, m, n, facts)
        for step in range(steps):
            full = ring.full.index(stage)
            last = step == steps - 1
            mbarrier.wait(ring.empty.index(stage), phase)
            if PAIR != 1:
                mbarrier.wait(ring.both_empty.index(stage), phase)
            if facts.IN_LOOP:
                mbarrier.expect(full, facts.STEP_BYTES + facts.SCALE_BYTES)
                b_place = (step * b_mn_tiles + column // facts.BLOCK_N * facts.B_SCALES) // 4 * 4
                a_scale, b_scale = ring.a_scale.index(stage), ring.b_scale.index(stage)
                SINGLE: gl.constexpr = facts.B_SCALES == 1
                async_load(a_scale_desc, [step * a_mn_tiles + row], full, a_scale, True, PAIR != 1)
                async_load(b_scale_desc, [b_place], full, b_scale, True, PAIR != 1 and SINGLE)
            elif facts.SCALE_BYTES != 0:
                mbarrier.wait(ring.scales_empty.index(turn), scales_phase, pred=last)
                mbarrier.expect(full, facts.STEP_BYTES + facts.SCALE_BYTES, pred=last)
                mbarrier.expect(full, facts.STEP_BYTES, pred=not last)
                if facts.A_SCALES:
                    if facts.PAIR_M != 1:
                        parts_of_scales = a_scale_parts(ring, facts)
                        for part in gl.static_range(PARTS):
                            memory = parts_of_scales.index(turn * PARTS + part)
                            async_load(a_scale_desc, [row + part * HEIGHT], full, memory, last)
                    else:
                        async_load(a_scale_desc, [row], full, ring.a_scale.index(turn), last)
                if facts.B_SCALES:
                    async_load(b_scale_desc, [column], full, ring.b_scale.index(turn), last)
            else:
                mbarrier.expect(full, facts.STEP_BYTES)
            if facts.PAIR_M != 1:
                for part in gl.static_range(PARTS):
                    memory = parts.index(stage * PARTS + part)
                    async_load(a_desc, [row + part * HEIGHT, step * facts.BLOCK_K], full, memory)
            else:
                a = ring.a.index(stage)
                async_load(a_desc, [row, step * facts.BLOCK_K], full, a, True, facts.PAIR_N != 1)
            b = ring.b.index(stage)
            async_load(b_desc, [column, step * facts.BLOCK_K], full, b, True, facts.PAIR_M != 1)
            stage, phase = after(stage, phase, facts)
        if facts.PINGPONG:
            turn = turn ^ 1
        scales_phase = gl.where(turn == 0, scales_phase ^ 1, scales_phase)


@gluon.jit
def a_scale_parts(ring, facts):
    """A's scales in shared memory, for the rows of one multiplication at a time."""
    COUNT: gl.constexpr = ring.a_scale.shape[0] * facts.BLOCK_M // facts.PART_M
    return reinterpret(ring.a_scale, gl.float32, [COUNT, facts.PART_M * facts.PAIR_M], ring.a_scale.layout)


@gluon.jit
def scaled(acc, ring, part, turn, a_scale_ptr, b_scale_ptr, facts):
    """fl32(fl32(acc · sA) · sB) with scales of rows and columns, or of whole operands."""
    if facts.A_SCALES:
        scale = a_scale_parts(ring, facts).index(part).load(gl.SliceLayout(1, facts.LAYOUT))
        acc = acc * gl.expand_dims(scale, 1)
    else:
        acc = acc * gl.load(a_scale_ptr)
    if facts.B_SCALES:
        scale = ring.b_scale.index(turn).load(gl.SliceLayout(0, facts.LAYOUT))
        acc = acc * gl.expand_dims(scale, 0)
    else:
        acc = acc * gl.load(b_scale_ptr)
    return acc


@gluon.jit
def store(value, out_desc, staging, out_ptr, row, column, m, n, out_stride_m, PENDING: gl.constexpr, facts):
    """SLAB rows of D through shared memory; PENDING earlier stores of this warpgroup may be under way."""
    if facts.ACCUMULATE:
        rows = row + gl.arange(0, value.shape[0], gl.SliceLayout(1, value.type.layout))
        columns = column + gl.arange(0, value.shape[1], gl.SliceLayout(0, value.type.layout))
        places = gl.expand_dims(rows.to(gl.int64) * out_stride_m, 1) + gl.expand_dims(columns, 0)
        inside = gl.expand_dims(rows < m, 1) & gl.expand_dims(columns < n, 0)
        value = value + gl.load(out_ptr + places, mask=inside, other=0.0)
    tma.store_wait(PENDING)
    staging.store(value.to(staging.dtype))
    fence_async_shared()
    async_store(out_desc, [row, column], staging)
