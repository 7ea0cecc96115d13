"""What programs of the warp-specialized kernels do that share a block of D, each with runs of K of its own:
parts of its sum pass through memory. See hopper/kernel.py and hopper/decoding/kernel.py, and
kernels.gemm.simple.kernel for the same in `tl`.
"""

from triton.experimental import gluon
from triton.experimental.gluon import language as gl

from kernels.gemm.hopper import sizes
from kernels.gemm.hopper.gluon_api import barrier
from kernels.gemm.hopper.ring import CONSUMERS, count_blocks

SLAB = gl.constexpr(sizes.SLAB)
WARP_ROWS = gl.constexpr(SLAB.value // 4)
"""Of a slab, that each of a warpgroup's four warps has."""


@gluon.jit
def in_order_of_threads(value):
    """[columns / 8, rows · 8] of a sum: four neighbors are a thread's own, and those of 16 rows a warp's."""
    ROWS: gl.constexpr = value.shape[0]
    GROUPS: gl.constexpr = value.shape[1] // 8
    parts = value.reshape([ROWS // WARP_ROWS, 2, 8, GROUPS, 4, 2]).permute([3, 0, 2, 4, 1, 5])
    return parts.reshape([GROUPS, ROWS * 8])


@gluon.jit
def in_order_of_d(value, LAYOUT: gl.constexpr):
    """The inverse: [rows, columns] as the tensor core has them."""
    GROUPS: gl.constexpr = value.shape[0]
    ROWS: gl.constexpr = value.shape[1] // 8
    parts = value.reshape([GROUPS, ROWS // WARP_ROWS, 8, 4, 2, 2]).permute([1, 4, 2, 0, 3, 5])
    return gl.convert_layout(parts.reshape([ROWS, GROUPS * 8]), LAYOUT, assert_trivial=True)


@gluon.jit
def places(PART: gl.constexpr, parts_ptr, value, run, block, rows, m, n, facts):
    """(where a part of a block's run lies, which of its rows D has, warp by warp). PART: which of the block's
    it is, all of one size; rows: that D has from its first one on.
    """
    SIZE: gl.constexpr = value.shape[0] * value.shape[1]
    PARTS: gl.constexpr = facts.BLOCK_M * facts.BLOCK_N // SIZE
    groups = gl.arange(0, value.shape[0], gl.SliceLayout(1, value.type.layout))
    places = gl.arange(0, value.shape[1], gl.SliceLayout(0, value.type.layout))
    which = (gl.cast(run, gl.int64) * count_blocks(m, n, facts) + block) * PARTS + PART
    ptrs = parts_ptr + which * SIZE + gl.expand_dims(groups * value.shape[1], 1)
    inside = places // (8 * WARP_ROWS) * WARP_ROWS < rows
    return ptrs + gl.expand_dims(places, 0), gl.expand_dims(inside, 0)


@gluon.jit
def put(PART: gl.constexpr, value, parts_ptr, run, block, rows, m, n, facts):
    """A part's sum over a run of K, in memory for whoever comes last."""
    value = in_order_of_threads(value)
    ptrs, inside = places(PART, parts_ptr, value, run, block, rows, m, n, facts)
    gl.store(ptrs, value, mask=inside)


@gluon.jit
def got(PART: gl.constexpr, like, parts_ptr, run, block, rows, m, n, facts):
    """What a run has put there, of the shape and layout of `like`."""
    ptrs, inside = places(PART, parts_ptr, like, run, block, rows, m, n, facts)
    return gl.load(ptrs, mask=inside, other=0.0, cache_modifier=".cg")


@gluon.jit
def arrive(W: gl.constexpr, arrivals_ptr, block, facts):
    """Whether this warpgroup's is the last of the block's runs to have put its sums; then the count is zero
    again for the next launch.
    """
    count_ptr = arrivals_ptr + block * CONSUMERS + W
    barrier()  # every thread's numbers are written before one of them says so
    last = gl.atomic_add(count_ptr, 1, sem="acq_rel", scope="gpu") == facts.RUNS - 1
    barrier()
    if last:
        gl.store(count_ptr, 0)
    return last


@gluon.jit
def with_two(PART: gl.constexpr, total, parts_ptr, run, block, rows, m, n, facts):
    """A sum of runs and the next two: the latency of one read hides behind the other's."""
    first = got(PART, total, parts_ptr, run, block, rows, m, n, facts)
    second = got(PART, total, parts_ptr, run + 1, block, rows, m, n, facts)
    return total + first + second


@gluon.jit
def collected(PART: gl.constexpr, own, parts_ptr, block, rows, m, n, facts):
    """The sum of all runs' parts, first to last: the same bits whoever comes last, of whose `own` only shape
    and layout count. Read past the L1, which may hold what was there before.
    """
    LAYOUT: gl.constexpr = own.type.layout
    total = in_order_of_threads(gl.zeros([own.shape[0], own.shape[1]], gl.float32, LAYOUT))
    if own.shape[1] < SLAB:  # a few numbers a thread: all can be under way
        for pair in gl.static_range(facts.RUNS // 2):
            total = with_two(PART, total, parts_ptr, 2 * pair, block, rows, m, n, facts)
    else:
        for pair in range(facts.RUNS // 2):
            total = with_two(PART, total, parts_ptr, 2 * pair, block, rows, m, n, facts)
    if facts.RUNS % 2:
        total += got(PART, total, parts_ptr, facts.RUNS - 1, block, rows, m, n, facts)
    return in_order_of_d(total, LAYOUT)
