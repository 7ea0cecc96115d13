"""The quantizer: load a block, prepare it, find a scale for each part, encode, pack, store. One pass.

A program has a block of [BLOCK_MN, BLOCK_K] elements of the operand [mn, K]. It cuts the block into parts of
[PART_MN, PART_K], each inside one tile. Where a part is a whole tile, one pass does everything. Else
`amax_kernel` collects the tiles' amax first, or `whole_amax_kernel` that of the whole tensor, and
`quantize_kernel` reads it. The amax of outer tiles is collected in the same way. Under a delayed scale amax
is known before, and the pass records the new one.

    prepare.py  load, a saved copy's values, rotation    encode.py  from numbers to codes
    amax.py     the largest |x| of a part                noise.py   random bits
    scales.py   from amax to scales                      pack.py    codes as they lie in memory
    search.py   which of several scales errs least       write.py   all that follows a load
"""

import triton
import triton.language as tl

from kernels.quantize.amax import amax_after, history_amax, met_amax, part_amax
from kernels.quantize.encode import encode
from kernels.quantize.places import part_places
from kernels.quantize.prepare import loaded_block, prepared
from kernels.quantize.write import repair_block, write_block


@triton.jit
def amax_kernel(
    x_ptr,
    amax_ptr,
    mn,
    k,
    x_stride_mn,
    x_stride_k,
    mn_tiles,
    OPERAND: tl.constexpr,
    TILE_MN: tl.constexpr,
    TILE_K: tl.constexpr,
    PART_MN: tl.constexpr,
    PART_K: tl.constexpr,
    BLOCK_MN: tl.constexpr,
    BLOCK_K: tl.constexpr,
    SIXTEENS: tl.constexpr,
    TURNED: tl.constexpr,
    ACROSS: tl.constexpr,
    AT_ONCE: tl.constexpr,
    HISTORY: tl.constexpr,
    PARTIALS: tl.constexpr,
    CAST: tl.constexpr,
):
    """Raise amax int32[k_tiles, mn_tiles] to the bits of each tile's largest |x|. TILE 0: the whole dim.

    OPERAND: its saved copy and its rotation count here.
    """
    block_mn, block_k = tl.program_id(0), tl.program_id(1)
    x = loaded_block(
        x_ptr,
        block_mn,
        block_k,
        mn,
        k,
        x_stride_mn,
        x_stride_k,
        BLOCK_MN,
        BLOCK_K,
        SIXTEENS,
        TURNED,
        ACROSS,
        AT_ONCE,
    )
    x = prepared(x, block_k, k, OPERAND, BLOCK_MN, BLOCK_K, CAST)
    amax = part_amax(x, BLOCK_MN, BLOCK_K, PART_MN, PART_K, CAST)
    places, held, _ = part_places(
        block_mn, block_k, mn, k, mn_tiles, TILE_MN, TILE_K, PART_MN, PART_K, BLOCK_MN, BLOCK_K, 0
    )
    # Several programs may have parts of one tile; the largest of integers does not depend on their order.
    tl.atomic_max(amax_ptr + places, amax, mask=held)


@triton.jit
def whole_amax_kernel(
    x_ptr,
    amax_ptr,
    new_amax_ptr,
    history_ptr,
    steps,
    mn,
    k,
    x_stride_mn,
    x_stride_k,
    OPERAND: tl.constexpr,
    TILE_MN: tl.constexpr,
    TILE_K: tl.constexpr,
    PART_MN: tl.constexpr,
    PART_K: tl.constexpr,
    BLOCK_MN: tl.constexpr,
    BLOCK_K: tl.constexpr,
    SIXTEENS: tl.constexpr,
    TURNED: tl.constexpr,
    ACROSS: tl.constexpr,
    AT_ONCE: tl.constexpr,
    HISTORY: tl.constexpr,
    PARTIALS: tl.constexpr,
    CAST: tl.constexpr,
):
    """Write amax int32[PARTIALS]; the largest of all is the bits of the largest |x| of the whole tensor.

    Each program writes its own part, so that nothing has to be cleared before. new_amax_ptr, if any, is
    cleared for the pass that follows. history_ptr, if any, has the amax of `steps` earlier steps, at most
    HISTORY. The largest is what counts, and x is not read, unless that is 0.
    """
    program = tl.program_id(0)
    if new_amax_ptr is not None:
        tl.store(new_amax_ptr, 0, mask=program == 0)
    largest = tl.full([], 0, tl.int32)
    if history_ptr is not None:
        largest = history_amax(history_ptr, steps, HISTORY)
    if largest == 0:
        across = tl.cdiv(mn, BLOCK_MN)
        for block in range(program, across * tl.cdiv(k, BLOCK_K), tl.num_programs(0)):
            block_mn, block_k = block % across, block // across
            x = loaded_block(
                x_ptr,
                block_mn,
                block_k,
                mn,
                k,
                x_stride_mn,
                x_stride_k,
                BLOCK_MN,
                BLOCK_K,
                SIXTEENS,
                TURNED,
                ACROSS,
                AT_ONCE,
            )
            x = prepared(x, block_k, k, OPERAND, BLOCK_MN, BLOCK_K, CAST)
            largest = tl.maximum(largest, tl.max(part_amax(x, BLOCK_MN, BLOCK_K, BLOCK_MN, BLOCK_K, CAST)))
    place = tl.arange(0, PARTIALS)
    # Where there are fewer programs than places, each has several.
    tl.store(amax_ptr + place, largest, mask=place % tl.num_programs(0) == program)


# A seed of 1 stays a number: Triton would make a constant of it, which has no type to ask for.
@triton.jit(do_not_specialize=["seed"])
def quantize_kernel(
    x_ptr,
    history_ptr,
    steps,
    amax_ptr,
    outer_amax_ptr,
    codes_ptr,
    scale_ptr,
    outer_scale_ptr,
    new_amax_ptr,
    table_ptr,
    values_ptr,
    seed,
    mn,
    k,
    x_stride_mn,
    x_stride_k,
    codes_stride_mn,
    mn_tiles,
    outer_mn_tiles,
    OPERAND: tl.constexpr,
    BLOCK_MN: tl.constexpr,
    BLOCK_K: tl.constexpr,
    SIXTEENS: tl.constexpr,
    TURNED: tl.constexpr,
    ACROSS: tl.constexpr,
    AT_ONCE: tl.constexpr,
    MEETS: tl.constexpr,
    HISTORY: tl.constexpr,
    CAST: tl.constexpr,
):
    """Write codes [mn, codes_stride_mn], zero beyond k, and scales [k_tiles, mn_tiles] of x [mn, k].

    Codes of 8 bits are uint8, others are packed in words int32. A pointer is None where the operand does not
    need it: amax_ptr and outer_amax_ptr, what amax_kernel has collected of tiles and of outer tiles;
    new_amax_ptr, where this step's amax goes; table_ptr and values_ptr, a table of codes and their values.
    MEETS: all programs run at once and find the whole tensor's amax together, in three zeros at amax_ptr or
    outer_amax_ptr. history_ptr, steps and HISTORY are then those of whole_amax_kernel.
    """
    block_mn, block_k = tl.program_id(0), tl.program_id(1)
    if amax_ptr is not None or outer_amax_ptr is not None:
        # The L2 still holds what the pass before read last.
        block_mn = tl.num_programs(0) - 1 - block_mn
        block_k = tl.num_programs(1) - 1 - block_k
    x = loaded_block(
        x_ptr,
        block_mn,
        block_k,
        mn,
        k,
        x_stride_mn,
        x_stride_k,
        BLOCK_MN,
        BLOCK_K,
        SIXTEENS,
        TURNED,
        ACROSS,
        AT_ONCE,
    )
    amax, outer_amax, new_amax = amax_ptr, outer_amax_ptr, new_amax_ptr
    if MEETS:
        first = block_mn + block_k == 0
        if amax_ptr is not None:
            met = met_amax(x.to(tl.float32), amax_ptr, BLOCK_MN, BLOCK_K, CAST)
            amax = amax_after(met, history_ptr, steps, new_amax_ptr, first, HISTORY)
            new_amax = met if new_amax_ptr is not None else None
        else:
            outer_amax = met_amax(x.to(tl.float32), outer_amax_ptr, BLOCK_MN, BLOCK_K, CAST)
    made = write_block(
        x,
        amax,
        outer_amax,
        codes_ptr,
        scale_ptr,
        outer_scale_ptr,
        new_amax,
        table_ptr,
        values_ptr,
        seed,
        block_mn,
        block_k,
        mn,
        k,
        codes_stride_mn,
        mn_tiles,
        outer_mn_tiles,
        OPERAND,
        BLOCK_MN,
        BLOCK_K,
        0,
        CAST,
        TURNED,
        ACROSS if TURNED > 0 else 0,
    )
    repair_block(
        made,
        x_ptr,
        codes_ptr,
        table_ptr,
        seed,
        block_mn,
        block_k,
        mn,
        k,
        x_stride_mn,
        x_stride_k,
        codes_stride_mn,
        OPERAND,
        BLOCK_MN,
        BLOCK_K,
        SIXTEENS,
        TURNED,
        ACROSS,
        0,
        CAST,
        AT_ONCE,
    )


@triton.jit
def encode_kernel(x_ptr, codes_ptr, random_ptr, table_ptr, size, ELEMENT: tl.constexpr, BLOCK: tl.constexpr):
    """Encode x float32[size] as uint8, without a scale: a test that each way gives the format's codes.

    random_ptr: uint8[size], the random bits of stochastic rounding, or None.
    """
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offsets, mask=offsets < size, other=0.0)
    random = 0
    if random_ptr is not None:
        random = tl.load(random_ptr + offsets, mask=offsets < size, other=0).to(tl.int32)
    codes = (encode(x, random, table_ptr, ELEMENT) - ELEMENT.raised).to(tl.uint8)
    tl.store(codes_ptr + offsets, codes, mask=offsets < size)
