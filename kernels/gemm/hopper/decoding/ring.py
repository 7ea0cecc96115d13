"""What the warpgroups of the kernel that decodes share: the ring in shared memory, compile-time facts, and
the loading warp. See kernels.gemm.hopper.decoding.kernel.
"""

from triton.experimental import gluon
from triton.experimental.gluon import language as gl
from triton.experimental.gluon.language.nvidia.hopper import mbarrier

from kernels.gemm.hopper.gluon_api import aggregate, async_load
from kernels.gemm.hopper.ring import after, block_of, count_blocks, share_of


@aggregate
class DecodingRing:
    """Shared memory: STAGES of values, of codes, and of TILES of their scales; D on its way out; what a
    second run of K adds to it; the barriers, of which `turn` says who multiplies. And compile-time facts, of
    which memory's shapes tell most: K has RUNS, of which EACH program takes one or two.
    """

    values: gl.shared_memory_descriptor
    codes: gl.shared_memory_descriptor
    scales: gl.shared_memory_descriptor
    out: gl.shared_memory_descriptor
    parts: gl.shared_memory_descriptor
    full: gl.shared_memory_descriptor
    empty: gl.shared_memory_descriptor
    turn: gl.shared_memory_descriptor
    summed: gl.shared_memory_descriptor
    fetched: gl.shared_memory_descriptor
    STAGES: gl.constexpr
    TILES: gl.constexpr
    VALUES: gl.constexpr
    BLOCK_M: gl.constexpr
    BLOCK_N: gl.constexpr
    BLOCK_K: gl.constexpr
    RUNS: gl.constexpr
    EACH: gl.constexpr
    GROUP: gl.constexpr
    E4M3: gl.constexpr
    OF_A: gl.constexpr
    ACCUMULATE: gl.constexpr
    LAYOUT: gl.constexpr

    @gluon.constexpr_function
    def __init__(
        self,
        values,
        codes,
        scales,
        out,
        parts,
        full,
        empty,
        turn,
        summed,
        fetched,
        RUNS,
        EACH,
        GROUP,
        E4M3,
        OF_A,
        ACCUMULATE,
    ):
        self.values = values
        self.codes = codes
        self.scales = scales
        self.out = out
        self.parts = parts
        self.full = full
        self.empty = empty
        self.turn = turn
        self.summed = summed
        self.fetched = fetched
        rows, columns = (codes, values) if OF_A else (values, codes)
        self.STAGES = gl.constexpr(codes.shape[0])
        self.TILES = gl.constexpr(scales.shape[0] // codes.shape[0])
        self.VALUES = gl.constexpr(values.shape[1])
        self.BLOCK_M = gl.constexpr(rows.shape[1])
        self.BLOCK_N = gl.constexpr(columns.shape[1])
        self.BLOCK_K = gl.constexpr(codes.shape[2])
        self.RUNS = gl.constexpr(RUNS)
        self.EACH = gl.constexpr(EACH)
        self.GROUP = gl.constexpr(GROUP)
        self.E4M3 = gl.constexpr(E4M3)
        self.OF_A = gl.constexpr(OF_A)
        self.ACCUMULATE = gl.constexpr(ACCUMULATE)
        self.LAYOUT = gl.constexpr(gl.NVMMADistributedLayout([3, 0], [4, 1], [16, values.shape[1], 16]))


@gluon.jit
def block_sides(block, m, n, ring):
    """(first row of codes, first row of values) of a block of D."""
    row, column = block_of(block, m, n, ring)
    return (row, column) if ring.OF_A else (column, row)


@gluon.jit
def count_items(m, n, ring):
    """Of work: blocks of D, and as many of each as programs share it."""
    return count_blocks(m, n, ring) * (ring.RUNS // ring.EACH)


@gluon.jit
def ahead(stage, phase, steps: gl.constexpr, ring):
    """The stage that many steps on, fewer than the ring has, and the barriers' phase there."""
    wraps = stage + steps >= ring.STAGES
    return gl.where(wraps, stage + steps - ring.STAGES, stage + steps), gl.where(wraps, phase ^ 1, phase)


@gluon.jit
def produce(values_desc, codes_desc, scale_desc, ring, m, n, k, mn_tiles):
    """The loading warp."""
    OPERANDS: gl.constexpr = values_desc.block_type.nbytes + codes_desc.block_type.nbytes
    BYTES: gl.constexpr = OPERANDS + ring.TILES * scale_desc.block_type.nbytes
    steps = (k + ring.BLOCK_K - 1) // ring.BLOCK_K
    length = (steps + ring.RUNS - 1) // ring.RUNS
    stage = 0
    phase = 1
    for item in range(gl.program_id(0), count_items(m, n, ring), gl.num_programs(0)):
        block, _run, first, stop = share_of(item, m, n, steps, ring.EACH, ring)
        of_codes, of_values = block_sides(block, m, n, ring)
        for place in range(stop - first):
            step = first + place // ring.EACH + place % ring.EACH * length
            full = ring.full.index(stage)
            mbarrier.wait(ring.empty.index(stage), phase)
            mbarrier.expect(full, BYTES)
            async_load(codes_desc, [of_codes, step * ring.BLOCK_K], full, ring.codes.index(stage))
            for tile in gl.static_range(ring.TILES):
                scale = (step * ring.TILES + tile) * mn_tiles + of_codes
                async_load(scale_desc, [scale], full, ring.scales.index(stage * ring.TILES + tile))
            async_load(values_desc, [of_values, step * ring.BLOCK_K], full, ring.values.index(stage))
            stage, phase = after(stage, phase, ring)
