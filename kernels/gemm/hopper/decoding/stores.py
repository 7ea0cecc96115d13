"""The end of a block of the decoding kernel: sums leave for D, or for the program that comes last."""

import triton
from triton.experimental import gluon
from triton.experimental.gluon import language as gl
from triton.experimental.gluon.language.nvidia.hopper import fence_async_shared, mbarrier, tma

from kernels.gemm.hopper import sizes, uneven
from kernels.gemm.hopper.gluon_api import async_load, async_store
from kernels.gemm.hopper.ring import CONSUMERS, halves
from kernels.gemm.hopper.shared_sums import arrive, collected, put

SLAB = gl.constexpr(sizes.SLAB)


@triton.constexpr_function
def second_part(WG: int, SLABS: int, FIRST: int, REST: int) -> int:
    """Number of the part in which a warpgroup's second sum begins: after its first slab's, or after all
    numbers of the first wgmma's rows.
    """
    return WG * SLABS + 1 if REST == 0 else sizes.CONSUMERS * FIRST // REST + WG


@gluon.jit
def store(value, ring, WG: gl.constexpr, stored, out_desc, scales, of_codes, of_values):
    """Send a warpgroup's numbers through shared memory to D, part by part: while one leaves, the next is
    written. Returns how many parts have been stored so far.
    """
    BUFFERS: gl.constexpr = ring.out.shape[0] // CONSUMERS
    PART: gl.constexpr = out_desc.block_type.shape[1 if ring.OF_A else 0]
    if value.shape[1] > PART:
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
            value = value * scales[0] * scales[1]  # A's, then B's
        tma.store_wait(BUFFERS - 1)  # of BUFFERS parts the oldest has left this memory
        if ring.ACCUMULATE:
            mbarrier.expect(ring.fetched.index(WG), out_desc.block_type.nbytes)
            async_load(out_desc, [row, column], ring.fetched.index(WG), staging)
            mbarrier.wait(ring.fetched.index(WG), stored & 1)  # the phase flips with every part
            value = value + turned.load(value.type.layout)
        turned.store(value.to(out_desc.dtype))
        fence_async_shared()  # TMA reads by another path: it must see what the threads have just written
        async_store(out_desc, [row, column], staging)
        stored += 1
    return stored


@gluon.jit
def put_parts(PART: gl.constexpr, value, ring, parts_ptr, run, within):
    """Write a warpgroup's sum over a run of K for whoever comes last, in parts that registers can hold."""
    if value.shape[1] > ring.AT_ONCE:
        first, second = halves(value)
        put_parts(2 * PART, first, ring, parts_ptr, run, within)
        put_parts(2 * PART + 1, second, ring, parts_ptr, run, within)
    else:
        put(PART, value, parts_ptr, run, *within, ring)


@gluon.jit
def store_parts(PART: gl.constexpr, own, ring, WG: gl.constexpr, stored, out_desc, ends, place, within):
    """Add all runs' sums of those parts, send them to D. Returns how many parts have been stored so far."""
    of_codes, of_values = place
    if own.shape[1] > ring.AT_ONCE:
        first, second = halves(own)
        stored = store_parts(2 * PART, first, ring, WG, stored, out_desc, ends, place, within)
        place = (of_codes, of_values + first.shape[1])
        stored = store_parts(2 * PART + 1, second, ring, WG, stored, out_desc, ends, place, within)
    else:
        parts_ptr, scales = ends
        total = collected(PART, own, parts_ptr, *within, ring)
        stored = store(total, ring, WG, stored, out_desc, scales, of_codes, of_values)
    return stored


@gluon.jit
def pass_sums_on(WG: gl.constexpr, acc, more, ring, split_ptrs):
    """Write a warpgroup's sums of the first steps of a block for the program that goes on with it."""
    FIRST: gl.constexpr = WG * ring.SLABS
    SECOND: gl.constexpr = second_part(WG, ring.SLABS, ring.FIRST, ring.REST)
    uneven.write(FIRST, acc, split_ptrs[0], ring)
    if ring.SLABS > 1 or ring.REST > 0:
        uneven.write(SECOND, more, split_ptrs[0], ring)
    uneven.pass_on(WG, split_ptrs[1])


@gluon.jit
def sums_so_far(WG: gl.constexpr, acc, more, ring, split_ptrs):
    """A warpgroup's sums of a block's steps before this program's, once the program before has them."""
    FIRST: gl.constexpr = WG * ring.SLABS
    SECOND: gl.constexpr = second_part(WG, ring.SLABS, ring.FIRST, ring.REST)
    uneven.wait_for_sum(WG, split_ptrs[1])
    acc = uneven.read(FIRST, acc, split_ptrs[0], ring)
    if ring.SLABS > 1 or ring.REST > 0:
        more = uneven.read(SECOND, more, split_ptrs[0], ring)
    return acc, more


@gluon.jit
def add_up(WG: gl.constexpr, acc, more, ring, stored, out_desc, scales, split_ptrs, place, within):
    """Pass a run's sums on; whoever comes last sends the block's to D. Returns the parts stored so far."""
    block, run, m, n = within
    FIRST: gl.constexpr = WG * ring.SLABS
    SECOND: gl.constexpr = second_part(WG, ring.SLABS, ring.FIRST, ring.REST)
    rows = (m if ring.OF_A else n) - place[0]
    ends = (split_ptrs[0], scales)
    whole = (block, rows, m, n)
    put_parts(FIRST, acc, ring, split_ptrs[0], run, whole)
    if ring.SLABS > 1:
        put_parts(SECOND, more, ring, split_ptrs[0], run, (block, rows - SLAB, m, n))
    if ring.REST > 0:
        put_parts(SECOND, more, ring, split_ptrs[0], run, whole)
    if arrive(WG, split_ptrs[1], block, ring):
        stored = store_parts(FIRST, acc, ring, WG, stored, out_desc, ends, place, whole)
        if ring.SLABS > 1:
            below, within = (place[0] + SLAB, place[1]), (block, rows - SLAB, m, n)
            stored = store_parts(SECOND, more, ring, WG, stored, out_desc, ends, below, within)
        if ring.REST > 0:
            beside = (place[0], place[1] + ring.FIRST)
            stored = store_parts(SECOND, more, ring, WG, stored, out_desc, ends, beside, whole)
    return stored


@gluon.jit
def store_sums(WG: gl.constexpr, acc, more, ring, stored, out_desc, scales, place):
    """Send all of a warpgroup's sums to D. Returns the parts stored so far."""
    of_codes, of_values = place
    stored = store(acc, ring, WG, stored, out_desc, scales, of_codes, of_values)
    if ring.SLABS > 1:
        stored = store(more, ring, WG, stored, out_desc, scales, of_codes + SLAB, of_values)
    if ring.REST > 0:
        stored = store(more, ring, WG, stored, out_desc, scales, of_codes, of_values + ring.FIRST)
    return stored
