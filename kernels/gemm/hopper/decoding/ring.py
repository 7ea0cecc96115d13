"""The decoding kernel's ring of stages in shared memory, and its loading warp: see its table in kernel.py."""

from triton.experimental import gluon
from triton.experimental.gluon import language as gl
from triton.experimental.gluon.language.nvidia.hopper import mbarrier

from kernels.gemm.hopper.gluon_api import aggregate, async_load, wait_until_others_ended
from kernels.gemm.hopper.items import count_items, share_of, start_of
from kernels.gemm.hopper.ring import advance


@aggregate
class DecodingRing:
    """Shared memory, its barriers, and the constants of the kernel.

    - values: STAGES blocks of the operand that is multiplied as bf16, VALUES rows each. codes, scales: those
      of the other one, and of its scales, TILES along K. raw, raw_scales: values that come as codes, and
      pairs of their scales, of a few steps. out: pieces of D on their way out. parts: sums of a second split
      of K.
    - BITS, DECODE, SCALE: a code's size, the PTX that decodes codes, the format of their scales. WIDEN: PTX
      for the other operand's codes, or empty. TILE_K: numbers along K that share a scale. ON_SCALES, ON_SUMS:
      powers of two onto scales, and onto sums, that decoding leaves out. AT_END: a scale of A and one of B
      multiply finished sums.
    - SPLITS: splits of K; a program takes OWN_SPLITS of them, one or two. OF_A: the codes are A's, else B's.
      AT_ONCE: columns of a sum that is passed on in one part. ROOMY, LAYOUT, WITHIN_M, WITHIN_N: as in the
      other Ring.
    """

    values: gl.shared_memory_descriptor
    codes: gl.shared_memory_descriptor
    scales: gl.shared_memory_descriptor
    raw: gl.shared_memory_descriptor
    raw_scales: gl.shared_memory_descriptor
    out: gl.shared_memory_descriptor
    parts: gl.shared_memory_descriptor
    full: gl.shared_memory_descriptor
    ready: gl.shared_memory_descriptor
    empty: gl.shared_memory_descriptor
    turn: gl.shared_memory_descriptor
    summed: gl.shared_memory_descriptor
    fetched: gl.shared_memory_descriptor
    STAGES: gl.constexpr
    TILES: gl.constexpr
    VALUES: gl.constexpr
    AT_ONCE: gl.constexpr
    BLOCK_M: gl.constexpr
    BLOCK_N: gl.constexpr
    BLOCK_K: gl.constexpr
    SPLITS: gl.constexpr
    OWN_SPLITS: gl.constexpr
    ROOMY: gl.constexpr
    GROUP: gl.constexpr
    BITS: gl.constexpr
    DECODE: gl.constexpr
    WIDEN: gl.constexpr
    TILE_K: gl.constexpr
    SCALE: gl.constexpr
    ON_SCALES: gl.constexpr
    ON_SUMS: gl.constexpr
    AT_END: gl.constexpr
    OF_A: gl.constexpr
    ACCUMULATE: gl.constexpr
    WITHIN_M: gl.constexpr
    WITHIN_N: gl.constexpr
    LAYOUT: gl.constexpr


@gluon.jit
def block_sides(block, m, n, ring):
    """(first row of codes, first row of values) of a block of D."""
    row, column = start_of(block, m, n, ring)
    return (row, column) if ring.OF_A else (column, row)


@gluon.jit
def ahead(stage, phase, steps: gl.constexpr, ring):
    """(stage, phase) so many steps on, fewer than STAGES. The phase flips where the ring begins anew."""
    wraps = stage + steps >= ring.STAGES
    return gl.where(wraps, stage + steps - ring.STAGES, stage + steps), gl.where(wraps, phase ^ 1, phase)


@gluon.jit
def produce(values_desc, codes_desc, scale_desc, ring, mnk):
    m, n, k = mnk
    CODED: gl.constexpr = codes_desc.block_type.nbytes + scale_desc.block_type.nbytes
    BYTES: gl.constexpr = CODED + values_desc.block_type.nbytes
    values = ring.values
    if ring.WIDEN != "":
        values = ring.raw
    steps = (k + ring.BLOCK_K - 1) // ring.BLOCK_K
    length = (steps + ring.SPLITS - 1) // ring.SPLITS
    stage = 0
    phase = 1  # a new barrier counts as one whose phase 1 is over: the ring is empty
    # Dividing takes a while: each item is computed ahead, the first one before the wait.
    block, _split, first, stop = share_of(gl.program_id(0), m, n, steps, ring.OWN_SPLITS, ring)
    of_codes, of_values = block_sides(block, m, n, ring)
    wait_until_others_ended(of_codes, of_values)
    for item in range(gl.program_id(0), count_items(m, n, ring.OWN_SPLITS, ring), gl.num_programs(0)):
        left = stop - first
        for number in range(left):
            # Of two splits the steps come one after the other: both pairs of warpgroups always have work.
            step = first + number // ring.OWN_SPLITS + number % ring.OWN_SPLITS * length
            full = ring.full.index(stage)
            mbarrier.wait(ring.empty.index(stage), phase)  # TMA would overwrite blocks still in use
            # Always true. Triton 3.6 and 3.7 lose a number that a loop carries for a bound of another alone:
            # every block would have the steps of the first.
            mbarrier.expect(full, BYTES, pred=number < left)
            byte = step * (ring.BLOCK_K * ring.BITS // 8)
            async_load(codes_desc, [of_codes, byte], full, ring.codes.index(stage))
            # codes [CODES, bytes of BLOCK_K], scales [TILES, CODES], values [VALUES, BLOCK_K]
            async_load(scale_desc, [step * ring.TILES, of_codes], full, ring.scales.index(stage))
            async_load(values_desc, [of_values, step * ring.BLOCK_K], full, values.index(stage))
            stage, phase = advance(stage, phase, ring)
        block, _split, first, stop = share_of(item + gl.num_programs(0), m, n, steps, ring.OWN_SPLITS, ring)
        of_codes, of_values = block_sides(block, m, n, ring)
