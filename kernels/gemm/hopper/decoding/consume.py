"""A multiplying warpgroup of the decoding kernel: block after block, its slabs' sum and its way to D."""

from triton.experimental import gluon
from triton.experimental.gluon import language as gl
from triton.experimental.gluon.language.nvidia.hopper import mbarrier, tma

from kernels.gemm.hopper import sizes
from kernels.gemm.hopper.decoding.ring import block_sides, items_until, own_share, work_of
from kernels.gemm.hopper.decoding.stores import add_up, pass_sums_on, store_sums, sums_so_far
from kernels.gemm.hopper.decoding.sums import FEW_VALUES, sum_alone, sum_in_turns, sum_of_two
from kernels.gemm.hopper.gluon_api import wait_until_others_ended

SLAB = gl.constexpr(sizes.SLAB)


@gluon.jit
def consume(WG: gl.constexpr, RUN: gl.constexpr, ring, out_desc, scale_ptrs, split_ptrs, mnk):
    """A multiplying warpgroup: its slabs of the block's rows of codes, over run RUN of the program's."""
    m, n, k = mnk
    steps = (k + ring.BLOCK_K - 1) // ring.BLOCK_K
    length = (steps + ring.RUNS - 1) // ring.RUNS
    mine = length if RUN == 0 else steps - length
    gl.assume(mine > 0)  # the launcher takes no empty K, and no more runs than steps
    scales = (m, n)  # a stand-in: a tuple of None cannot be passed
    wait_until_others_ended()
    if ring.AT_END:
        scales = (gl.load(scale_ptrs[0]), gl.load(scale_ptrs[1]))
    stored = 0
    # (stage, phase, turn phase): warpgroup 0 begins, it waits for a phase that counts as over
    at = (RUN, 0, 1 - WG)
    share = own_share(m, n, steps, ring)
    for item in range(gl.program_id(0), items_until(share, m, n, steps, ring), gl.num_programs(0)):
        block, run, first, stop = work_of(item, share, m, n, steps, ring)
        if ring.RUNS > ring.EACH:
            mine = min(length, stop - first) if RUN == 0 else stop - first - length
            if ring.SHARES_LAST:
                mine = stop - first
            gl.assume(mine > 0)
        done = 0
        if ring.UNEVEN:
            mine, done = stop - first, first
            gl.assume(mine > 0)
        of_codes, of_values = block_sides(block, m, n, ring)
        acc = gl.zeros([SLAB, ring.FIRST], gl.float32, ring.LAYOUT)
        more = acc  # the sum of a second slab, or of the rows of values of a second wgmma, if there are some
        if ring.REST > 0:
            more = gl.zeros([SLAB, ring.REST], gl.float32, ring.REST_LAYOUT)
        if ring.UNEVEN:
            if done > 0:
                acc, more = sums_so_far(WG, acc, more, ring, split_ptrs)
        if ring.SLABS > 1:
            acc, more, at = sum_of_two(acc, more, done, mine, at, WG, ring)
        elif ring.VALUES > FEW_VALUES:
            acc, more, at = sum_in_turns(acc, more, done, mine, at, WG, ring)
        else:
            acc, at = sum_alone(acc, done, mine, at, WG, ring)
        place = (of_codes + WG * ring.SLABS * SLAB, of_values)
        if ring.UNEVEN:
            if stop < steps:
                pass_sums_on(WG, acc, more, ring, split_ptrs)
            else:
                stored = store_sums(WG, acc, more, ring, stored, out_desc, scales, place)
        elif ring.RUNS > ring.EACH:
            within = (block, run + RUN, m, n)
            if ring.SHARES_LAST:
                if item < ring.WHOLE:
                    stored = store_sums(WG, acc, more, ring, stored, out_desc, scales, place)
                else:
                    stored = add_up(WG, acc, more, ring, stored, out_desc, scales, split_ptrs, place, within)
            else:
                stored = add_up(WG, acc, more, ring, stored, out_desc, scales, split_ptrs, place, within)
        elif RUN == 1:
            ring.parts.index(WG).store(acc)
            mbarrier.arrive(ring.summed.index(WG), count=1)
        else:
            if ring.EACH > 1:
                mbarrier.wait(ring.summed.index(WG), 0)  # used once: with two runs a program has one block
                acc = acc + ring.parts.index(WG).load(ring.LAYOUT)
            stored = store_sums(WG, acc, more, ring, stored, out_desc, scales, place)
    tma.store_wait(0)  # a program must not end while TMA still reads its shared memory
