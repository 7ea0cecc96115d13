"""What the specialized kernel's warpgroups share: compile-time facts, the ring in shared memory, the loading
warp, and a part of D on its way out. See kernels.gemm.hopper.kernel.
"""

from triton.experimental import gluon
from triton.experimental.gluon import language as gl
from triton.experimental.gluon.language.nvidia.hopper import fence_async_shared, mbarrier, tma

from kernels.gemm.hopper import sizes
from kernels.gemm.hopper.gluon_api import aggregate, async_load, async_store

CONSUMERS = gl.constexpr(sizes.CONSUMERS)


@aggregate
class Facts:
    """The compile-time arguments; whether D is LENT memory of A; the columns of what one multiplication adds
    to D, and its layout.
    """

    BLOCK_M: gl.constexpr
    BLOCK_N: gl.constexpr
    BLOCK_K: gl.constexpr
    GROUP: gl.constexpr
    STAGES: gl.constexpr
    IN_LOOP: gl.constexpr
    AT_END: gl.constexpr
    A_SCALES: gl.constexpr
    B_SCALES: gl.constexpr
    ACCUMULATE: gl.constexpr
    A_ROWS: gl.constexpr
    LENT: gl.constexpr
    RUNS: gl.constexpr
    CODE_BYTES: gl.constexpr
    SCALE_BYTES: gl.constexpr
    COLUMNS: gl.constexpr
    LAYOUT: gl.constexpr

    @gluon.constexpr_function
    def __init__(
        self,
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
        OPERAND_BITS,
        A_ROWS,
        LENT,
        RUNS,
    ):
        self.BLOCK_M = gl.constexpr(BLOCK_M)
        self.BLOCK_N = gl.constexpr(BLOCK_N)
        self.BLOCK_K = gl.constexpr(BLOCK_K)
        self.GROUP = gl.constexpr(GROUP)
        self.STAGES = gl.constexpr(STAGES)
        self.IN_LOOP = gl.constexpr(IN_LOOP)
        self.AT_END = gl.constexpr(AT_END)
        self.A_SCALES = gl.constexpr(A_SCALES)
        self.B_SCALES = gl.constexpr(B_SCALES)
        self.ACCUMULATE = gl.constexpr(ACCUMULATE)
        self.CODE_BYTES = gl.constexpr((A_ROWS + BLOCK_N) * BLOCK_K * OPERAND_BITS // 8)
        self.A_ROWS = gl.constexpr(A_ROWS)
        self.LENT = gl.constexpr(LENT)
        self.RUNS = gl.constexpr(RUNS)
        self.SCALE_BYTES = gl.constexpr((A_SCALES + B_SCALES) * sizes.SCALE_BYTES)
        columns = BLOCK_N // 2 if BLOCK_M == sizes.SLAB else BLOCK_N
        self.COLUMNS = gl.constexpr(columns)
        shape = [16, columns, 256 // OPERAND_BITS]
        self.LAYOUT = gl.constexpr(gl.NVMMADistributedLayout([3, 0], [4, 1], shape))


@aggregate
class Ring:
    """Shared memory: STAGES of A and B; scales, STAGES of those that change along K, or one set of those at
    the end; D on its way out, in memory of its own or of A; the barriers.
    """

    a: gl.shared_memory_descriptor
    b: gl.shared_memory_descriptor
    a_scale: gl.shared_memory_descriptor
    b_scale: gl.shared_memory_descriptor
    out: gl.shared_memory_descriptor
    full: gl.shared_memory_descriptor
    empty: gl.shared_memory_descriptor
    scales_empty: gl.shared_memory_descriptor
    fetched: gl.shared_memory_descriptor

    @gluon.constexpr_function
    def __init__(self, a, b, a_scale, b_scale, out, full, empty, scales_empty, fetched):
        self.a = a
        self.b = b
        self.a_scale = a_scale
        self.b_scale = b_scale
        self.out = out
        self.full = full
        self.empty = empty
        self.scales_empty = scales_empty
        self.fetched = fetched


@gluon.jit
def block_of(program, m, n, facts):
    """(first row, first column) of a program's block. Programs go across groups of GROUP block rows, or of
    GROUP block columns where a block is higher than wide, so that neighbors load the same block of the
    operand of which they load more: what several SMs ask for at once, the L2 reads once.
    """
    rows = (m + facts.BLOCK_M - 1) // facts.BLOCK_M
    columns = (n + facts.BLOCK_N - 1) // facts.BLOCK_N
    across, along = rows, columns
    if facts.BLOCK_M > facts.BLOCK_N:
        across, along = columns, rows
    in_group = facts.GROUP * along
    first = program // in_group * facts.GROUP
    width = min(across - first, facts.GROUP)
    block_across = first + program % in_group % width
    block_along = program % in_group // width
    row, column = block_across * facts.BLOCK_M, block_along * facts.BLOCK_N
    if facts.BLOCK_M > facts.BLOCK_N:
        row, column = block_along * facts.BLOCK_M, block_across * facts.BLOCK_N
    return row, column


@gluon.jit
def count_blocks(m, n, facts):
    return ((m + facts.BLOCK_M - 1) // facts.BLOCK_M) * ((n + facts.BLOCK_N - 1) // facts.BLOCK_N)


@gluon.jit
def share_of(item, m, n, steps, EACH: gl.constexpr, facts):
    """(block, first run, first step along K, the one after the last) of an item of work: a block of D, or
    where K has more RUNS than EACH program takes, so many of a block's. Neighbors have the same ones of
    different blocks: they load the same A.
    """
    block, run, first, stop = item, 0, 0, steps
    if facts.RUNS > EACH:
        blocks = count_blocks(m, n, facts)
        length = (steps + facts.RUNS - 1) // facts.RUNS * EACH
        block, share = item % blocks, item // blocks
        run, first = share * EACH, share * length
        stop = min(first + length, steps)
    return block, run, first, stop


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
    """The loading warp. TMA starts at multiples of 16 bytes: a single scale of B comes with its neighbors.
    Scales of rows and columns come with a block's last step, once those of the block before were used. Of an
    A with fewer rows than a low block only those are loaded: TMA is slow to write zeros, and what lies below
    becomes rows of D that are not stored.
    """
    steps = (k + facts.BLOCK_K - 1) // facts.BLOCK_K
    WITH_SCALES: gl.constexpr = facts.CODE_BYTES + facts.SCALE_BYTES
    SINGLE: gl.constexpr = facts.B_SCALES != facts.BLOCK_N
    stage = 0
    phase = 1
    scales_phase = 1
    for item in range(gl.program_id(0), count_blocks(m, n, facts) * facts.RUNS, gl.num_programs(0)):
        block, _run, first, stop = share_of(item, m, n, steps, 1, facts)
        row, column = block_of(block, m, n, facts)
        for step in range(first, stop):
            full = ring.full.index(stage)
            mbarrier.wait(ring.empty.index(stage), phase)
            if facts.IN_LOOP:
                mbarrier.expect(full, WITH_SCALES)
                place = step * b_mn_tiles + (column // facts.BLOCK_N if SINGLE else column)
                async_load(a_scale_desc, [step * a_mn_tiles + row], full, ring.a_scale.index(stage))
                async_load(b_scale_desc, [place // 4 * 4], full, ring.b_scale.index(stage))
            elif facts.SCALE_BYTES != 0:
                last = step == stop - 1
                mbarrier.wait(ring.scales_empty.index(0), scales_phase, pred=last)
                mbarrier.expect(full, WITH_SCALES, pred=last)
                mbarrier.expect(full, facts.CODE_BYTES, pred=not last)
                if facts.A_SCALES != 0:
                    async_load(a_scale_desc, [row], full, ring.a_scale.index(0), pred=last)
                if facts.B_SCALES != 0:
                    async_load(b_scale_desc, [column], full, ring.b_scale.index(0), pred=last)
            else:
                mbarrier.expect(full, facts.CODE_BYTES)
            a = ring.a.index(stage)
            if facts.A_ROWS != facts.BLOCK_M:
                a = a.slice(0, facts.A_ROWS)
            async_load(a_desc, [row, step * facts.BLOCK_K], full, a)
            async_load(b_desc, [column, step * facts.BLOCK_K], full, ring.b.index(stage))
            stage, phase = after(stage, phase, facts)
        scales_phase = scales_phase ^ 1


@gluon.jit
def release(ring, stage):
    """A multiplying warpgroup needs what lies in a stage no more."""
    mbarrier.arrive(ring.empty.index(stage), count=1)


@gluon.jit
def scaled(acc, a_scale, b_scale, a_scale_ptr, b_scale_ptr, facts):
    """fl32(fl32(acc · sA) · sB) with scales of rows and columns, in shared memory, or of whole operands."""
    if facts.A_SCALES != 0:
        acc = acc * gl.expand_dims(a_scale.load(gl.SliceLayout(1, facts.LAYOUT)), 1)
    else:
        acc = acc * gl.load(a_scale_ptr)
    if facts.B_SCALES != 0:
        acc = acc * gl.expand_dims(b_scale.load(gl.SliceLayout(0, facts.LAYOUT)), 0)
    else:
        acc = acc * gl.load(b_scale_ptr)
    return acc


@gluon.jit
def halves(value):
    """The left and the right columns."""
    return value.reshape([value.shape[0], 2, value.shape[1] // 2]).permute([0, 2, 1]).split()


@gluon.jit
def fetch(ring, W: gl.constexpr, out_desc, staging, row, column, facts):
    """Where D is added into: what it holds of a part, into the memory by which that part will leave."""
    if facts.ACCUMULATE:
        tma.store_wait(0)
        mbarrier.expect(ring.fetched.index(W), out_desc.block_type.nbytes)
        async_load(out_desc, [row, column], ring.fetched.index(W), staging)


@gluon.jit
def store(value, ring, W: gl.constexpr, phase, out_desc, staging, row, column, PENDING: gl.constexpr, facts):
    """A part of D through shared memory, and the phase of the next fetch. PENDING earlier stores of this
    warpgroup may be under way.
    """
    if facts.ACCUMULATE:
        mbarrier.wait(ring.fetched.index(W), phase)
        value = value + staging.load(value.type.layout)
    else:
        tma.store_wait(PENDING)
    staging.store(value.to(staging.dtype))
    fence_async_shared()
    async_store(out_desc, [row, column], staging)
    return phase ^ 1
