"""Write a block: find a scale for each of its parts, encode, pack, and store codes and scales."""

import triton
import triton.language as tl

from kernels.bits import FP32_INF, FP32_NAN, expand_parts, float_bits, float_of
from kernels.quantize.amax import is_broken, part_amax, whole_amax
from kernels.quantize.encode import encode, nan_codes, ready_to_cast
from kernels.quantize.noise import random_bits
from kernels.quantize.pack import SIDE_BY_SIDE, store_codes, store_patches
from kernels.quantize.places import block_rows, part_places
from kernels.quantize.prepare import loaded_block, loaded_runs, prepared
from kernels.quantize.scales import outer_scale, scale_codes
from kernels.quantize.search import best_scale


@triton.jit
def write_block(
    x,
    amax_ptr,
    outer_amax_ptr,
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
    OPERAND: tl.constexpr,
    BLOCK_MN: tl.constexpr,
    BLOCK_K: tl.constexpr,
    EACH: tl.constexpr,
    CAST: tl.constexpr,
    PATCH: tl.constexpr = 0,
    ACROSS: tl.constexpr = 0,
):
    """Write codes and scales of a block x [BLOCK_MN, BLOCK_K] of an operand [mn, k], as it was loaded.

    The pointers are those of quantize_kernel. In place of one, the whole tensor's amax may be given itself.
    OPERAND: the operand's facts. EACH: the order of rows, as in `block_rows`. Returns (scale, reciprocal,
    worst) of the block's parts, for `repair_block`.
    """
    # Triton 3.6 hands a part of a constant on only where it has a name of its own.
    ELEMENT: tl.constexpr = OPERAND.element
    NEAREST: tl.constexpr = OPERAND.nearest
    RULE: tl.constexpr = OPERAND.rule
    PART_MN: tl.constexpr = OPERAND.part_mn
    PART_K: tl.constexpr = OPERAND.part_k
    rows = block_rows(block_mn, BLOCK_MN, EACH)
    x = prepared(x, block_k, k, OPERAND, BLOCK_MN, BLOCK_K, CAST)
    places, held, first = part_places(
        block_mn,
        block_k,
        mn,
        k,
        mn_tiles,
        OPERAND.tile_mn,
        OPERAND.tile_k,
        PART_MN,
        PART_K,
        BLOCK_MN,
        BLOCK_K,
        EACH,
    )
    if amax_ptr is None:
        amax = part_amax(x, BLOCK_MN, BLOCK_K, PART_MN, PART_K, CAST)
    else:
        if OPERAND.tile_mn == 0 and OPERAND.tile_k == 0:
            amax = places * 0 + whole_amax(amax_ptr, OPERAND.partials)
        else:
            amax = tl.load(amax_ptr + places, mask=held, other=0)
    outer_amax = amax
    if outer_amax_ptr is not None:
        if OPERAND.outer_mn == 0 and OPERAND.outer_k == 0:
            outer_amax = whole_amax(outer_amax_ptr, OPERAND.partials)
            tl.store(outer_scale_ptr, outer_scale(outer_amax, RULE), mask=block_mn + block_k == 0)
        else:
            around, _, first_outer = part_places(
                block_mn,
                block_k,
                mn,
                k,
                outer_mn_tiles,
                OPERAND.outer_mn,
                OPERAND.outer_k,
                PART_MN,
                PART_K,
                BLOCK_MN,
                BLOCK_K,
                EACH,
            )
            outer_amax = tl.load(outer_amax_ptr + around, mask=held, other=0)
            tl.store(outer_scale_ptr + around, outer_scale(outer_amax, RULE), mask=first_outer)

    scale, reciprocal = best_scale(
        x, amax, outer_amax, table_ptr, values_ptr, NEAREST, RULE, BLOCK_MN, BLOCK_K, PART_MN, PART_K
    )
    if ELEMENT.encode_by == "cast":
        # The hardware casts a NaN to the code of one, and so all numbers of a broken tile.
        reciprocal = float_of(tl.where(is_broken(float_bits(scale)), FP32_NAN, float_bits(reciprocal)))
    # Of several parts of a tile, the first one stores its scale.
    stored = scale_codes(scale, RULE) if RULE.in_bytes else scale
    tl.store(scale_ptr + places, stored, mask=first)

    _, codes = _encoded(x, reciprocal, seed, table_ptr, rows, block_k, k, OPERAND, BLOCK_MN, BLOCK_K)
    if ELEMENT.encode_by == "cast":
        codes = nan_codes(codes, ELEMENT)
    if ELEMENT.encode_by == "cast" and OPERAND.padded:
        columns = block_k * BLOCK_K + tl.arange(0, BLOCK_K)
        codes = tl.where((columns < k)[None, :], codes, 0)
    worst = float_bits(scale)
    if new_amax is not None:
        if new_amax.dtype.is_ptr():
            own = part_amax(x, BLOCK_MN, BLOCK_K, PART_MN, PART_K, CAST)
            tl.atomic_max(new_amax + places, own, mask=held)
        else:
            own = new_amax
        worst = tl.maximum(worst, own)
    broken = None
    if OPERAND.in_words:
        # The codes of a broken tile are 0, and so are its words.
        broken = is_broken(worst)
    if ACROSS > 0 and ELEMENT.bits == 8:
        store_patches(
            codes_ptr,
            codes,
            block_mn,
            block_k,
            mn,
            codes_stride_mn,
            ELEMENT,
            BLOCK_MN,
            BLOCK_K,
            PATCH,
            ACROSS,
            EACH == 0,
        )
    else:
        AT_ONCE: tl.constexpr = SIDE_BY_SIDE if EACH > 0 else 0
        store_codes(
            codes_ptr, codes, broken, rows, block_k, mn, codes_stride_mn, ELEMENT, BLOCK_MN, BLOCK_K, AT_ONCE
        )
    return scale, reciprocal, worst


@triton.jit
def repair_block(
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
    OPERAND: tl.constexpr,
    BLOCK_MN: tl.constexpr,
    BLOCK_K: tl.constexpr,
    SIXTEENS: tl.constexpr,
    TURNED: tl.constexpr,
    ACROSS: tl.constexpr,
    EACH: tl.constexpr,
    CAST: tl.constexpr,
    AT_ONCE: tl.constexpr = SIDE_BY_SIDE,
):
    """Store the codes of a block again if NaN or infinity is in it, which is rare.

    made: what `write_block` returned. It comes after all that needs the block's numbers: where they count,
    they are read again, because kept until here they would take most registers.
    """
    ELEMENT: tl.constexpr = OPERAND.element
    _, _, worst = made
    if not (OPERAND.in_words or ELEMENT.encode_by == "cast") and tl.max(worst) >= FP32_INF:
        if EACH > 0:
            x = loaded_runs(
                x_ptr, block_mn, block_k, mn, k, x_stride_mn, x_stride_k, BLOCK_MN, BLOCK_K, EACH, ACROSS
            )
        else:
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
        store_repaired(
            made,
            x,
            codes_ptr,
            table_ptr,
            seed,
            block_mn,
            block_k,
            mn,
            k,
            codes_stride_mn,
            OPERAND,
            BLOCK_MN,
            BLOCK_K,
            EACH,
            CAST,
        )


@triton.jit
def store_repaired(
    made,
    x,
    codes_ptr,
    table_ptr,
    seed,
    block_mn,
    block_k,
    mn,
    k,
    codes_stride_mn,
    OPERAND: tl.constexpr,
    BLOCK_MN: tl.constexpr,
    BLOCK_K: tl.constexpr,
    EACH: tl.constexpr,
    CAST: tl.constexpr,
):
    """Store the codes of a block x again, as it was loaded: what is broken has the code of a NaN."""
    ELEMENT: tl.constexpr = OPERAND.element
    scale, reciprocal, _ = made
    rows = block_rows(block_mn, BLOCK_MN, EACH)
    columns = block_k * BLOCK_K + tl.arange(0, BLOCK_K)
    inside = (rows < mn)[:, None] & (columns < k)[None, :]
    broken = is_broken(float_bits(scale))
    broken = expand_parts(broken, BLOCK_MN, BLOCK_K, OPERAND.part_mn, OPERAND.part_k)
    # The barrier keeps the order of both stores.
    tl.debug_barrier()
    x = prepared(x, block_k, k, OPERAND, BLOCK_MN, BLOCK_K, CAST)
    q, sound = _encoded(x, reciprocal, seed, table_ptr, rows, block_k, k, OPERAND, BLOCK_MN, BLOCK_K)
    instead = tl.where(inside, ELEMENT.nan_code + ELEMENT.raised, ELEMENT.raised)
    repaired = tl.where(broken | (q != q), instead, sound)
    AT_ONCE: tl.constexpr = SIDE_BY_SIDE if EACH > 0 else 0
    store_codes(
        codes_ptr, repaired, None, rows, block_k, mn, codes_stride_mn, ELEMENT, BLOCK_MN, BLOCK_K, AT_ONCE
    )


@triton.jit
def _encoded(
    x,
    reciprocal,
    seed,
    table_ptr,
    rows,
    block_k,
    k,
    OPERAND: tl.constexpr,
    BLOCK_MN: tl.constexpr,
    BLOCK_K: tl.constexpr,
):
    """(q, codes), each [BLOCK_MN, BLOCK_K], of a block's numbers and its parts' reciprocals."""
    ELEMENT: tl.constexpr = OPERAND.element
    # q = fl32(x · fl32(1 / scale)), as in the reference: bit for bit.
    q = x * expand_parts(reciprocal, BLOCK_MN, BLOCK_K, OPERAND.part_mn, OPERAND.part_k)
    random = 0
    if ELEMENT.is_random:
        random = random_bits(seed, rows, block_k * BLOCK_K, k, BLOCK_MN, BLOCK_K)
    if ELEMENT.encode_by == "wide cast" and OPERAND.in_words:
        codes = ready_to_cast(q, ELEMENT)  # four are cast at once, and packed
    else:
        codes = encode(q, random, table_ptr, ELEMENT)
    return q, codes
