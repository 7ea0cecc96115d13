"""The quantizer: load a block, prepare it, find a scale for each part, encode, pack, store. One pass.

A program has a block of [BLOCK_MN, BLOCK_K] elements of the operand [mn, K]. It cuts the block into parts of
[PART_MN, PART_K], each inside one tile. Where a part is a whole tile, one pass does everything. Else
`amax_kernel` collects the tiles' amax first, and `quantize_kernel` reads it. The amax of outer tiles is
collected in the same way. Under a delayed scale amax is known before, and the pass records the new one.

    prepare.py  a saved copy's values, rotation    encode.py  from numbers to codes
    amax.py     the largest |x| of a part          noise.py   random bits
    scales.py   from amax to scales                pack.py    codes as they lie in memory
    search.py   which of several scales errs least
"""

import triton
import triton.language as tl

from kernels.bits import FP32_INF, expand_parts, float_bits
from kernels.quantize.amax import is_broken, part_amax
from kernels.quantize.encode import encode, ready_to_cast
from kernels.quantize.noise import random_bits
from kernels.quantize.pack import store_codes
from kernels.quantize.places import part_places
from kernels.quantize.prepare import prepared_block
from kernels.quantize.scales import outer_scale, scale_codes
from kernels.quantize.search import best_scale


@triton.jit
def amax_kernel(
    x_ptr,
    amax_ptr,
    history_ptr,
    steps,
    mn,
    k,
    x_stride_mn,
    x_stride_k,
    mn_tiles,
    SAVED: tl.constexpr,
    ROTATION: tl.constexpr,
    TILE_MN: tl.constexpr,
    TILE_K: tl.constexpr,
    PART_MN: tl.constexpr,
    PART_K: tl.constexpr,
    BLOCK_MN: tl.constexpr,
    BLOCK_K: tl.constexpr,
    SIXTEENS: tl.constexpr,
    HISTORY: tl.constexpr,
    CAST: tl.constexpr,
):
    """Raise amax int32[k_tiles, mn_tiles] to the bits of each tile's largest |x|. TILE 0: the whole dim.

    history_ptr, if any, has the amax of `steps` earlier steps, at most HISTORY. The largest is what counts,
    and x is not read, unless that is 0.
    """
    block_mn, block_k = tl.program_id(0), tl.program_id(1)
    if history_ptr is not None:
        step = tl.arange(0, HISTORY)
        largest = tl.max(tl.load(history_ptr + step, mask=step < steps, other=0.0).to(tl.float32))
        if largest > 0:
            tl.atomic_max(amax_ptr, float_bits(largest), mask=block_mn + block_k == 0)
            return
    x = prepared_block(
        x_ptr,
        block_mn,
        block_k,
        mn,
        k,
        x_stride_mn,
        x_stride_k,
        SAVED,
        ROTATION,
        BLOCK_MN,
        BLOCK_K,
        SIXTEENS,
        CAST,
    )
    amax = part_amax(x, BLOCK_MN, BLOCK_K, PART_MN, PART_K, CAST)
    places, held, _ = part_places(
        block_mn, block_k, mn, k, mn_tiles, TILE_MN, TILE_K, PART_MN, PART_K, BLOCK_MN, BLOCK_K
    )
    # Several programs may have parts of one tile; the largest of integers does not depend on their order.
    tl.atomic_max(amax_ptr + places, amax, mask=held)


# A seed of 1 stays a number: Triton would make a constant of it, which has no type to ask for.
@triton.jit(do_not_specialize=["seed"])
def quantize_kernel(
    x_ptr,
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
    ELEMENT: tl.constexpr,
    NEAREST: tl.constexpr,
    RULE: tl.constexpr,
    SAVED: tl.constexpr,
    ROTATION: tl.constexpr,
    TILE_MN: tl.constexpr,
    TILE_K: tl.constexpr,
    OUTER_MN: tl.constexpr,
    OUTER_K: tl.constexpr,
    PART_MN: tl.constexpr,
    PART_K: tl.constexpr,
    BLOCK_MN: tl.constexpr,
    BLOCK_K: tl.constexpr,
    SIXTEENS: tl.constexpr,
    IN_WORDS: tl.constexpr,
    CAST: tl.constexpr,
):
    """Write codes [mn, codes_stride_mn], zero beyond k, and scales [k_tiles, mn_tiles] of x [mn, k].

    Codes of 8 bits are uint8, others are packed in words int32. A pointer is None where the operand does not
    need it: amax_ptr and outer_amax_ptr, what amax_kernel has collected of tiles and of outer tiles;
    new_amax_ptr, where this step's amax goes; table_ptr and values_ptr, a table of codes and their values.
    IN_WORDS: a word has codes of one tile, and if that is broken, they are 0.
    """
    block_mn, block_k = tl.program_id(0), tl.program_id(1)
    if amax_ptr is not None or outer_amax_ptr is not None:
        # The L2 still holds what the pass before read last.
        block_mn = tl.num_programs(0) - 1 - block_mn
        block_k = tl.num_programs(1) - 1 - block_k
    x = prepared_block(
        x_ptr,
        block_mn,
        block_k,
        mn,
        k,
        x_stride_mn,
        x_stride_k,
        SAVED,
        ROTATION,
        BLOCK_MN,
        BLOCK_K,
        SIXTEENS,
        CAST,
    )
    places, held, first = part_places(
        block_mn, block_k, mn, k, mn_tiles, TILE_MN, TILE_K, PART_MN, PART_K, BLOCK_MN, BLOCK_K
    )
    if amax_ptr is None:
        amax = part_amax(x, BLOCK_MN, BLOCK_K, PART_MN, PART_K, CAST)
    else:
        amax = tl.load(amax_ptr + places, mask=held, other=0)
    outer_amax = amax
    if outer_amax_ptr is not None:
        if OUTER_MN == 0 and OUTER_K == 0:
            outer_amax = tl.load(outer_amax_ptr)
            tl.store(outer_scale_ptr, outer_scale(outer_amax, RULE), mask=block_mn + block_k == 0)
        else:
            around, _, first_outer = part_places(
                block_mn,
                block_k,
                mn,
                k,
                outer_mn_tiles,
                OUTER_MN,
                OUTER_K,
                PART_MN,
                PART_K,
                BLOCK_MN,
                BLOCK_K,
            )
            outer_amax = tl.load(outer_amax_ptr + around, mask=held, other=0)
            tl.store(outer_scale_ptr + around, outer_scale(outer_amax, RULE), mask=first_outer)

    scale, reciprocal = best_scale(
        x, amax, outer_amax, table_ptr, values_ptr, NEAREST, RULE, BLOCK_MN, BLOCK_K, PART_MN, PART_K
    )
    # Of several parts of a tile, the first one stores its scale.
    stored = scale_codes(scale, RULE) if RULE.in_bytes else scale
    tl.store(scale_ptr + places, stored, mask=first)

    _, codes = _encoded(
        x,
        reciprocal,
        seed,
        table_ptr,
        block_mn,
        block_k,
        k,
        ELEMENT,
        PART_MN,
        PART_K,
        BLOCK_MN,
        BLOCK_K,
        IN_WORDS,
    )

    worst = float_bits(scale)
    if new_amax_ptr is not None:
        new_amax = part_amax(x, BLOCK_MN, BLOCK_K, PART_MN, PART_K, CAST)
        tl.atomic_max(new_amax_ptr + places, new_amax, mask=held)
        worst = tl.maximum(worst, new_amax)
    if IN_WORDS:
        # The codes of a broken tile are 0, and so are its words.
        broken = is_broken(worst)
        store_codes(
            codes_ptr, codes, broken, block_mn, block_k, mn, codes_stride_mn, ELEMENT, BLOCK_MN, BLOCK_K
        )
    else:
        store_codes(
            codes_ptr, codes, None, block_mn, block_k, mn, codes_stride_mn, ELEMENT, BLOCK_MN, BLOCK_K
        )
        # A block with NaN or infinity is rare: it is stored again. The barrier keeps the order of both.
        if tl.max(worst) >= FP32_INF:
            # Read and encoded again, too: kept until here, numbers and codes would take most registers.
            again = prepared_block(
                x_ptr,
                block_mn,
                block_k,
                mn,
                k,
                x_stride_mn,
                x_stride_k,
                SAVED,
                ROTATION,
                BLOCK_MN,
                BLOCK_K,
                SIXTEENS,
                CAST,
            )
            q, sound = _encoded(
                again,
                reciprocal,
                seed,
                table_ptr,
                block_mn,
                block_k,
                k,
                ELEMENT,
                PART_MN,
                PART_K,
                BLOCK_MN,
                BLOCK_K,
                IN_WORDS,
            )
            broken = expand_parts(is_broken(float_bits(scale)), BLOCK_MN, BLOCK_K, PART_MN, PART_K)
            rows = block_mn * BLOCK_MN + tl.arange(0, BLOCK_MN)
            columns = block_k * BLOCK_K + tl.arange(0, BLOCK_K)
            inside = (rows < mn)[:, None] & (columns < k)[None, :]
            instead = tl.where(inside, ELEMENT.nan_code + ELEMENT.raised, ELEMENT.raised)
            repaired = tl.where(broken | (q != q), instead, sound)
            tl.debug_barrier()
            store_codes(
                codes_ptr, repaired, None, block_mn, block_k, mn, codes_stride_mn, ELEMENT, BLOCK_MN, BLOCK_K
            )


@triton.jit
def _encoded(
    x,
    reciprocal,
    seed,
    table_ptr,
    block_mn,
    block_k,
    k,
    ELEMENT: tl.constexpr,
    PART_MN: tl.constexpr,
    PART_K: tl.constexpr,
    BLOCK_MN: tl.constexpr,
    BLOCK_K: tl.constexpr,
    IN_WORDS: tl.constexpr,
):
    """(q, codes), each [BLOCK_MN, BLOCK_K], of a block's numbers and its parts' reciprocals."""
    # q = fl32(x · fl32(1 / scale)), as in the reference: bit for bit.
    q = x * expand_parts(reciprocal, BLOCK_MN, BLOCK_K, PART_MN, PART_K)
    random = 0
    if ELEMENT.encode_by == "random bits":
        random = random_bits(seed, block_mn * BLOCK_MN, block_k * BLOCK_K, k, BLOCK_MN, BLOCK_K)
    if ELEMENT.encode_by == "wide cast" and IN_WORDS:
        codes = ready_to_cast(q, ELEMENT)  # four are cast at once, and packed
    else:
        codes = encode(q, random, table_ptr, ELEMENT)
    return q, codes


@triton.jit
def encode_kernel(x_ptr, codes_ptr, table_ptr, size, ELEMENT: tl.constexpr, BLOCK: tl.constexpr):
    """Encode x float32[size] as uint8, without a scale: a test that each way gives the format's codes."""
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offsets, mask=offsets < size, other=0.0)
    codes = (encode(x, 0, table_ptr, ELEMENT) - ELEMENT.raised).to(tl.uint8)
    tl.store(codes_ptr + offsets, codes, mask=offsets < size)
