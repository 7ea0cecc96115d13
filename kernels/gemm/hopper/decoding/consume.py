"""A multiplying warpgroup of the decoding kernel: its loop along K, and its sums on their way to D."""

from triton.experimental import gluon
from triton.experimental.gluon import language as gl
from triton.experimental.gluon.language.nvidia.hopper import (
    fence_async_shared,
    mbarrier,
    tma,
    warpgroup_mma,
    warpgroup_mma_wait,
)

from kernels.gemm.hopper import sizes
from kernels.gemm.hopper.decoding.decode import decode
from kernels.gemm.hopper.decoding.ring import ahead, block_sides
from kernels.gemm.hopper.gluon_api import async_load, async_store, wait_until_others_ended
from kernels.gemm.hopper.items import count_items, share_of
from kernels.gemm.hopper.ring import CONSUMERS, advance, halves, smaller_first
from kernels.gemm.hopper.shared_sums import arrive, store_part, sum_of_parts

SLAB = gl.constexpr(sizes.SLAB)
FEW_VALUES = gl.constexpr(sizes.MOST_ROWS_SPLIT)
"""Rows of values up to which decoding takes longer than multiplying, so that nobody waits for a turn."""


@gluon.jit
def multiply(left, acc, keep, stage, ring):
    """Queue the product of decoded codes and a stage's values. It joins the sum if `keep`, else begins it."""
    right = ring.values.index(stage).permute([1, 0])  # [BLOCK_K, VALUES]
    return warpgroup_mma(left, right, acc, use_acc=keep, is_async=True)


@gluon.jit
def sum_alone(acc, mine, at, WG: gl.constexpr, ring):
    """(sum of `mine` steps, (stage, phase, turn phase) after them) of few values.

    The tensor core is idle most of the time: others decode while this one waits. With two splits of K, the
    steps between are the other pair's.
    """
    stage, phase, turn_phase = at
    for step in range(mine):
        mbarrier.wait(ring.full.index(stage), phase)
        left = decode(stage, ring, WG)
        if ring.WIDEN != "":
            mbarrier.wait(ring.ready.index(stage), phase)
        acc = multiply(left, acc, step > 0, stage, ring)
        acc = warpgroup_mma_wait(0, deps=[acc])
        mbarrier.arrive(ring.empty.index(stage), count=1)
        stage, phase = ahead(stage, phase, ring.OWN_SPLITS, ring)
    return acc, (stage, phase, turn_phase)


@gluon.jit
def sum_in_turns(acc, mine, at, WG: gl.constexpr, ring):
    """(sum of `mine` steps, (stage, phase, turn phase) after them) of many values.

    The next codes are decoded while a product runs, and the warpgroups take turns in the tensor core.
    """
    stage, phase, turn_phase = at
    mbarrier.wait(ring.full.index(stage), phase)
    left = decode(stage, ring, WG)
    for step in range(mine):
        if ring.WIDEN != "":
            mbarrier.wait(ring.ready.index(stage), phase)
        mbarrier.wait(ring.turn.index(WG), turn_phase)  # the other's wgmma is queued
        turn_phase = turn_phase ^ 1
        acc = multiply(left, acc, step > 0, stage, ring)
        mbarrier.arrive(ring.turn.index(1 - WG), count=1)
        used = stage  # the next codes are decoded while this wgmma runs
        stage, phase = advance(stage, phase, ring)
        if step + 1 < mine:
            mbarrier.wait(ring.full.index(stage), phase)
            left = decode(stage, ring, WG)
        # None may run on: the tensor core reads this `left` from registers, which the next step takes.
        acc = warpgroup_mma_wait(0, deps=[acc])
        mbarrier.arrive(ring.empty.index(used), count=1)
    return acc, (stage, phase, turn_phase)


@gluon.jit
def store(value, ring, WG: gl.constexpr, stored, out_desc, scales, of_codes, of_values):
    """Send a warpgroup's numbers through shared memory to D, piece by piece: while one leaves, the next is
    written. Returns the number of pieces stored so far.
    """
    BUFFERS: gl.constexpr = ring.out.shape[0] // CONSUMERS
    PIECE: gl.constexpr = out_desc.block_type.shape[1 if ring.OF_A else 0]
    if value.shape[1] > PIECE:
        first, second = halves(value)
        stored = store(first, ring, WG, stored, out_desc, scales, of_codes, of_values)
        of_values += first.shape[1]
        stored = store(second, ring, WG, stored, out_desc, scales, of_codes, of_values)
    else:
        staging = ring.out.index(WG * BUFFERS + stored % BUFFERS)
        turned = staging  # the memory as the sum lies: of Dᵀ where the codes are B's
        row, column = of_codes, of_values
        if not ring.OF_A:
            turned = staging.permute([1, 0])
            row, column = of_values, of_codes
        if ring.ON_SUMS != 0:
            value = value * (1 << ring.ON_SUMS)
        if ring.AT_END:
            value = value * scales[0] * scales[1]
        tma.store_wait(BUFFERS - 1)  # of BUFFERS pieces the oldest has left this memory
        if ring.ACCUMULATE:
            mbarrier.expect(ring.fetched.index(WG), out_desc.block_type.nbytes)
            async_load(out_desc, [row, column], ring.fetched.index(WG), staging)
            mbarrier.wait(ring.fetched.index(WG), stored & 1)  # the phase flips with every piece
            value = value + turned.load(value.type.layout)
        turned.store(value.to(out_desc.dtype))
        fence_async_shared()  # TMA reads by another path: it must see the threads' writes
        async_store(out_desc, [row, column], staging)
        stored += 1
    return stored


@gluon.jit
def pass_on_parts(PART: gl.constexpr, value, ring, parts_ptr, split, within):
    """Write a warpgroup's sum over a split of K for the last program, in parts that registers can hold."""
    if value.shape[1] > ring.AT_ONCE:
        first, second = halves(value)
        pass_on_parts(2 * PART, first, ring, parts_ptr, split, within)
        pass_on_parts(2 * PART + 1, second, ring, parts_ptr, split, within)
    else:
        store_part(PART, value, parts_ptr, split, *within, ring)


@gluon.jit
def store_parts(PART: gl.constexpr, own, ring, WG: gl.constexpr, stored, out_desc, ends, position, within):
    """Add all splits' sums of those parts, send them to D. Returns the number of pieces stored so far."""
    of_codes, of_values = position
    if own.shape[1] > ring.AT_ONCE:
        first, second = halves(own)
        stored = store_parts(2 * PART, first, ring, WG, stored, out_desc, ends, position, within)
        position = (of_codes, of_values + first.shape[1])
        stored = store_parts(2 * PART + 1, second, ring, WG, stored, out_desc, ends, position, within)
    else:
        parts_ptr, scales = ends
        total = sum_of_parts(PART, own, parts_ptr, *within, ring)
        stored = store(total, ring, WG, stored, out_desc, scales, of_codes, of_values)
    return stored


@gluon.jit
def add_up(WG: gl.constexpr, acc, ring, stored, out_desc, scales, split_ptrs, position, within):
    """Pass a split's sum on; the last program sends the block's sum to D. Returns the number of pieces stored
    so far.
    """
    block, split, m, n = within
    rows = (m if ring.OF_A else n) - position[0]
    whole = (block, rows, m, n)
    pass_on_parts(WG, acc, ring, split_ptrs[0], split, whole)
    if arrive(WG, split_ptrs[1], block, ring):
        ends = (split_ptrs[0], scales)
        stored = store_parts(WG, acc, ring, WG, stored, out_desc, ends, position, whole)
    return stored


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
