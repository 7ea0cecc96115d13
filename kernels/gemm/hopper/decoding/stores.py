"""The end of a block of the decoding kernel: sums leave for D, or for the program that comes last."""

from triton.experimental import gluon
from triton.experimental.gluon import language as gl
from triton.experimental.gluon.language.nvidia.hopper import fence_async_shared, mbarrier, tma

from kernels.gemm.hopper.gluon_api import async_load, async_store
from kernels.gemm.hopper.ring import CONSUMERS, halves
from kernels.gemm.hopper.shared_sums import arrive, store_part, sum_of_parts


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
            value = value * scales[0] * scales[1]
        tma.store_wait(BUFFERS - 1)  # of BUFFERS parts the oldest has left this memory
        if ring.ACCUMULATE:
            mbarrier.expect(ring.fetched.index(WG), out_desc.block_type.nbytes)
            async_load(out_desc, [row, column], ring.fetched.index(WG), staging)
            mbarrier.wait(ring.fetched.index(WG), stored & 1)  # the phase flips with every part
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
    """Add all splits' sums of those parts, send them to D. Returns how many parts have been stored so far."""
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
    """Pass a split's sum on; the last program sends the block's sum to D. Returns the parts stored so far."""
    block, split, m, n = within
    rows = (m if ring.OF_A else n) - position[0]
    whole = (block, rows, m, n)
    pass_on_parts(WG, acc, ring, split_ptrs[0], split, whole)
    if arrive(WG, split_ptrs[1], block, ring):
        ends = (split_ptrs[0], scales)
        stored = store_parts(WG, acc, ring, WG, stored, out_desc, ends, position, whole)
    return stored
