"""A multiplying warpgroup of the decoding kernel: block after block, its slab's sum and its way to D."""

from triton.experimental import gluon
from triton.experimental.gluon import language as gl
from triton.experimental.gluon.language.nvidia.hopper import mbarrier, tma

from kernels.gemm.hopper import sizes
from kernels.gemm.hopper.decoding.ring import block_sides
from kernels.gemm.hopper.decoding.stores import add_up, store
from kernels.gemm.hopper.decoding.sums import FEW_VALUES, sum_alone, sum_in_turns
from kernels.gemm.hopper.gluon_api import wait_until_others_ended
from kernels.gemm.hopper.items import count_items, share_of
from kernels.gemm.hopper.ring import smaller_first

SLAB = gl.constexpr(sizes.SLAB)


@gluon.jit
def consume(WG: gl.constexpr, SPLIT: gl.constexpr, ring, out_desc, scale_ptrs, split_ptrs, mnk):
    """A multiplying warpgroup: its slab of the block's rows of codes, over split SPLIT of the program's."""
    m, n, k = mnk
    steps = (k + ring.BLOCK_K - 1) // ring.BLOCK_K
    length = (steps + ring.SPLITS - 1) // ring.SPLITS
    mine = length if SPLIT == 0 else steps - length
    gl.assume(mine > 0)  # the launcher takes no empty K, and no more splits than steps
    scales = (m, n)  # a stand-in: a tuple of None cannot be passed
    wait_until_others_ended()
    if ring.AT_END:
        scales = smaller_first(gl.load(scale_ptrs[0]), gl.load(scale_ptrs[1]))
    stored = 0
    # (stage, phase, turn phase): warpgroup 0 begins, it waits for a phase that counts as over
    at = (SPLIT, 0, 1 - WG)
    for item in range(gl.program_id(0), count_items(m, n, ring.OWN_SPLITS, ring), gl.num_programs(0)):
        block, split, first, stop = share_of(item, m, n, steps, ring.OWN_SPLITS, ring)
        if ring.SPLITS > ring.OWN_SPLITS:
            mine = min(length, stop - first) if SPLIT == 0 else stop - first - length
            gl.assume(mine > 0)
        of_codes, of_values = block_sides(block, m, n, ring)
        acc = gl.zeros([SLAB, ring.VALUES], gl.float32, ring.LAYOUT)
        if ring.VALUES > FEW_VALUES:
            acc, at = sum_in_turns(acc, mine, at, WG, ring)
        else:
            acc, at = sum_alone(acc, mine, at, WG, ring)
        of_codes += WG * SLAB
        if ring.SPLITS > ring.OWN_SPLITS:
            position, within = (of_codes, of_values), (block, split + SPLIT, m, n)
            stored = add_up(WG, acc, ring, stored, out_desc, scales, split_ptrs, position, within)
        elif SPLIT == 1:
            ring.parts.index(WG).store(acc)
            mbarrier.arrive(ring.summed.index(WG), count=1)
        else:
            if ring.OWN_SPLITS > 1:
                mbarrier.wait(ring.summed.index(WG), 0)  # used once: with two splits a program has one block
                acc = acc + ring.parts.index(WG).load(ring.LAYOUT)
            stored = store(acc, ring, WG, stored, out_desc, scales, of_codes, of_values)
    tma.store_wait(0)  # a program must not end while TMA still reads its shared memory
