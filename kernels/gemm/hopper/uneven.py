"""Stream-K: every program takes equally many steps along K, whichever blocks of D they belong to.

Full waves of whole blocks come first, all but one. The blocks after them lie end to end, and each program has
a share of their steps. So a share may begin or end within a block.

A program takes its share's last block first. If it has not all steps of it, it passes the sum on to the
program after it. It takes the share's first block last, and goes on with the sum that the program before it
passed on. Where a share has as many steps as a block, or more, that sum has been there for long.

A sum in fp32 is written and read as it is. So D has the bits that it has where no block is cut. Programs wait
only for those with lower numbers, which a GPU starts first.

A cut that would leave a part of a few steps moves to the block's edge: passing on such a sum takes longer.
`ring` stands for the DecodingRing, in which WHOLE blocks come first.
"""

from triton.experimental import gluon
from triton.experimental.gluon import language as gl

from kernels.gemm.hopper import sizes
from kernels.gemm.hopper.gluon_api import barrier
from kernels.gemm.hopper.items import count_blocks
from kernels.gemm.hopper.ring import CONSUMERS
from kernels.gemm.hopper.shared_sums import in_order_of_d, in_order_of_threads

LEAST_PART = gl.constexpr(sizes.LEAST_PART)
LEAST_SHARE = gl.constexpr(sizes.LEAST_SHARE)


@gluon.jit
def share_of(program, m, n, steps, ring):
    """(first step of a program's share, the step after its last one), of all steps after WHOLE blocks."""
    programs = gl.num_programs(0)
    all_steps = (count_blocks(m, n, ring) - ring.WHOLE) * steps
    length = gl.maximum((all_steps + programs - 1) // programs, LEAST_SHARE)
    begin = gl.minimum(program * length, all_steps)
    end = gl.minimum(begin + length, all_steps)
    return to_edge(begin, steps), to_edge(end, steps)


@gluon.jit
def to_edge(cut, steps):
    """The cut, or the edge of its block where a part would have fewer than LEAST_PART steps."""
    within = cut % steps
    edge = gl.where(steps - within < LEAST_PART, cut + steps - within, cut)
    return gl.where(within < LEAST_PART, cut - within, edge)


@gluon.jit
def items_until(share, steps, ring):
    """The number after a program's last item. Its items have the numbers of persistent programs."""
    begin, end = share
    parts = gl.where(end > begin, (end - 1) // steps - begin // steps + 1, 0)
    return ring.WHOLE + parts * gl.num_programs(0)


@gluon.jit
def part_of(item, share, steps, ring):
    """(block of D, 0, first step, the step after the last) of an item: a whole block, or a part of one."""
    begin, end = share
    block = (end - 1) // steps - (item - ring.WHOLE) // gl.num_programs(0)  # the share's last block first
    first = gl.maximum(begin - block * steps, 0)
    stop = gl.minimum(end - block * steps, steps)
    alone = item < ring.WHOLE
    block = gl.where(alone, item, ring.WHOLE + block)
    return block, 0, gl.where(alone, 0, first), gl.where(alone, steps, stop)


@gluon.jit
def places(PART: gl.constexpr, like, program, parts_ptr, ring):
    """Where part number PART of a program's sum lies in memory. All parts of it have the size of `like`."""
    FIRST: gl.constexpr = PART * like.shape[0] * like.shape[1]
    groups = gl.arange(0, like.shape[0], gl.SliceLayout(1, like.type.layout))
    threads = gl.arange(0, like.shape[1], gl.SliceLayout(0, like.type.layout))
    ptrs = parts_ptr + program * (ring.BLOCK_M * ring.BLOCK_N) + FIRST
    ptrs += gl.expand_dims(groups * like.shape[1], 1)
    return ptrs + gl.expand_dims(threads, 0)


@gluon.jit
def write(PART: gl.constexpr, value, parts_ptr, ring):
    """Write part number PART of this program's sum."""
    value = in_order_of_threads(value)
    gl.store(places(PART, value, gl.program_id(0), parts_ptr, ring), value)


@gluon.jit
def read(PART: gl.constexpr, like, parts_ptr, ring):
    """Part number PART of the sum of the program before this one, in the shape and layout of `like`."""
    LAYOUT: gl.constexpr = like.type.layout
    ptrs = places(PART, in_order_of_threads(like), gl.program_id(0) - 1, parts_ptr, ring)
    # .cg reads from L2: this SM's L1 may still hold what was there before
    return in_order_of_d(gl.load(ptrs, cache_modifier=".cg"), LAYOUT)


@gluon.jit
def pass_on(WG: gl.constexpr, arrivals_ptr):
    """Tell the program after this one that a warpgroup's sum is written."""
    barrier()  # every thread's numbers are written before one of them says so
    gl.atomic_add(arrivals_ptr + gl.program_id(0) * CONSUMERS + WG, 1, sem="release", scope="gpu")


@gluon.jit
def wait_for_sum(WG: gl.constexpr, arrivals_ptr):
    """Wait until the program before this one has written its warpgroup's sum."""
    told_ptr = arrivals_ptr + (gl.program_id(0) - 1) * CONSUMERS + WG
    while gl.atomic_add(told_ptr, 0, sem="acquire", scope="gpu") == 0:
        pass
    barrier()  # no thread reads before one of them was told
    gl.store(told_ptr, 0)  # ready for the next launch
