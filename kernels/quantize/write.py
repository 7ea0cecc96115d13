"""Write a block: a scale for each of its parts, its codes, packed and stored.

`pointers` of an operand: ((codes_ptr, scale_ptr, outer_scale_ptr), (table_ptr, values_ptr, seed), (stride of
codes, tiles and outer tiles along mn)).
"""

import triton
import triton.language as tl

from kernels.bits import FP32_INF, FP32_NAN, expand_parts, float_bits, float_of
from kernels.quantize.amax import is_broken, part_amax, whole_amax
from kernels.quantize.blocks import (
    SIDE_BY_SIDE,
    block_rows,
    load_block,
    load_rows,
    load_runs,
    part_tiles,
    prepare,
)
from kernels.quantize.encode import encode, nan_codes, random_bits, ready_to_cast
from kernels.quantize.pack import store_codes, store_patches
from kernels.quantize.scales import best_scale, outer_scale, scale_codes


@triton.jit
def write_block(x, amaxes, pointers, position, PLAN: tl.constexpr, IS_DOWN: tl.constexpr, CAST: tl.constexpr):
    """Write codes and scales of a loaded block x [BLOCK_MN, BLOCK_K] of an operand of PLAN.

    amaxes: pointers to the amax of tiles, of outer tiles, and for this step's; or the whole tensor's amax
    itself. IS_DOWN: the block was transposed. Returns (scale, reciprocal, worst) of the block's parts, for
    `repair_block`.
    """
    # Triton 3.6 passes a part of a constant on only by a name of its own.
    OPERAND: tl.constexpr = PLAN.down if IS_DOWN else PLAN.along
    ELEMENT: tl.constexpr = OPERAND.element
    RULE: tl.constexpr = OPERAND.rule
    PART_MN: tl.constexpr = OPERAND.part_mn
    PART_K: tl.constexpr = OPERAND.part_k
    BLOCK_MN: tl.constexpr = x.shape[0]
    BLOCK_K: tl.constexpr = x.shape[1]
    THREAD_ROWS: tl.constexpr = PLAN.thread_rows if PLAN.in_runs and not IS_DOWN else 0
    amax_ptr, outer_amax_ptr, new_amax = amaxes
    outputs, tables, sizes = pointers
    codes_ptr, scale_ptr, outer_scale_ptr = outputs
    table_ptr, values_ptr, seed = tables
    stride, mn_tiles, outer_mn_tiles = sizes
    block_mn, block_k, mn, k = position
    rows = block_rows(block_mn, BLOCK_MN, THREAD_ROWS)
    x = prepare(x, block_k, k, OPERAND, CAST)
    tiles, inside, first = part_tiles(
        position, rows, mn_tiles, OPERAND.tile_mn, OPERAND.tile_k, PART_MN, PART_K, BLOCK_K
    )
    if amax_ptr is None:
        amax = part_amax(x, PART_MN, PART_K, CAST)
    else:
        if OPERAND.tile_mn == 0 and OPERAND.tile_k == 0:
            amax = tiles * 0 + whole_amax(amax_ptr)
        else:
            amax = tl.load(amax_ptr + tiles, mask=inside, other=0)
    outer_amax = amax
    if outer_amax_ptr is not None:
        if OPERAND.outer_mn == 0 and OPERAND.outer_k == 0:
            outer_amax = whole_amax(outer_amax_ptr)
            tl.store(outer_scale_ptr, outer_scale(outer_amax, RULE), mask=block_mn + block_k == 0)
        else:
            around, _, first_outer = part_tiles(
                position, rows, outer_mn_tiles, OPERAND.outer_mn, OPERAND.outer_k, PART_MN, PART_K, BLOCK_K
            )
            outer_amax = tl.load(outer_amax_ptr + around, mask=inside, other=0)
            tl.store(outer_scale_ptr + around, outer_scale(outer_amax, RULE), mask=first_outer)

    scale, reciprocal = best_scale(x, amax, outer_amax, table_ptr, values_ptr, OPERAND)
    if ELEMENT.encode_by == "cast":
        # The hardware casts all numbers of a broken tile to the code of NaN.
        reciprocal = float_of(tl.where(is_broken(float_bits(scale)), FP32_NAN, float_bits(reciprocal)))
    # The first of a tile's parts stores its scale.
    stored = scale_codes(scale, RULE) if RULE.in_bytes else scale
    tl.store(scale_ptr + tiles, stored, mask=first)

    _, codes = _encoded(x, reciprocal, seed, table_ptr, rows, block_k, k, OPERAND)
    if ELEMENT.encode_by == "cast":
        codes = nan_codes(codes, ELEMENT)
    if ELEMENT.encode_by == "cast" and OPERAND.padded:
        columns = block_k * BLOCK_K + tl.arange(0, BLOCK_K)
        codes = tl.where((columns < k)[None, :], codes, 0)
    worst = float_bits(scale)
    if new_amax is not None:
        if new_amax.dtype.is_ptr():
            own = part_amax(x, PART_MN, PART_K, CAST)
            tl.atomic_max(new_amax + tiles, own, mask=inside)
        else:
            own = new_amax
        worst = tl.maximum(worst, own)
    broken = None
    if OPERAND.in_words:
        # The codes of a broken tile are 0, and so are its words.
        broken = is_broken(worst)
    PATCH: tl.constexpr = PLAN.patch if THREAD_ROWS > 0 or IS_DOWN else 0
    if PATCH > 0 and ELEMENT.bits == 8:
        TURNED: tl.constexpr = THREAD_ROWS == 0
        store_patches(codes_ptr, codes, position, stride, ELEMENT, PLAN.thread_rows, PATCH, TURNED)
    else:
        AT_ONCE: tl.constexpr = SIDE_BY_SIDE if THREAD_ROWS > 0 else 0
        store_codes(codes_ptr, codes, broken, rows, block_k, mn, stride, ELEMENT, AT_ONCE)
    return scale, reciprocal, worst


@triton.jit
def repair_block(
    written, x, memory, pointers, position, PLAN: tl.constexpr, IS_DOWN: tl.constexpr, CAST: tl.constexpr
):
    """Store the codes of a block again if it has a NaN or an infinity, which is rare: they become a NaN's.

    written: `write_block`'s result. x: the loaded block; or None, to read it again from memory (x_ptr, x's
    strides along mn and K). Alive until here, its numbers would take most registers.
    """
    OPERAND: tl.constexpr = PLAN.down if IS_DOWN else PLAN.along
    ELEMENT: tl.constexpr = OPERAND.element
    BLOCK_MN: tl.constexpr = PLAN.columns if IS_DOWN else PLAN.rows
    BLOCK_K: tl.constexpr = PLAN.rows if IS_DOWN else PLAN.columns
    THREAD_ROWS: tl.constexpr = PLAN.thread_rows if PLAN.in_runs and not IS_DOWN else 0
    scale, reciprocal, worst = written
    if not (OPERAND.in_words or ELEMENT.encode_by == "cast") and tl.max(worst) >= FP32_INF:
        outputs, tables, sizes = pointers
        codes_ptr, table_ptr, seed, stride = outputs[0], tables[0], tables[2], sizes[0]
        block_mn, block_k, mn, k = position
        if x is None:
            x_ptr, strides = memory
            if THREAD_ROWS > 0:
                numbers = load_runs(x_ptr, position, strides, PLAN)
            elif IS_DOWN:
                numbers = load_block(x_ptr, position, strides, PLAN)
            else:
                numbers = load_rows(x_ptr, position, strides, PLAN)
        else:
            numbers = x
        rows = block_rows(block_mn, BLOCK_MN, THREAD_ROWS)
        columns = block_k * BLOCK_K + tl.arange(0, BLOCK_K)
        inside = (rows < mn)[:, None] & (columns < k)[None, :]
        broken = expand_parts(is_broken(float_bits(scale)), OPERAND.part_mn, OPERAND.part_k)
        # The barrier keeps the order of both stores.
        tl.debug_barrier()
        numbers = prepare(numbers, block_k, k, OPERAND, CAST)
        q, sound = _encoded(numbers, reciprocal, seed, table_ptr, rows, block_k, k, OPERAND)
        instead = tl.where(inside, ELEMENT.nan_code + ELEMENT.raised, ELEMENT.raised)
        repaired = tl.where(broken | (q != q), instead, sound)
        AT_ONCE: tl.constexpr = SIDE_BY_SIDE if THREAD_ROWS > 0 else 0
        store_codes(codes_ptr, repaired, None, rows, block_k, mn, stride, ELEMENT, AT_ONCE)


@triton.jit
def _encoded(x, reciprocal, seed, table_ptr, rows, block_k, k, OPERAND: tl.constexpr):
    """(q, codes), each [BLOCK_MN, BLOCK_K], from a block's numbers and its parts' reciprocals."""
    ELEMENT: tl.constexpr = OPERAND.element
    # q = fl32(x · fl32(1 / scale)), as in the reference.
    q = x * expand_parts(reciprocal, OPERAND.part_mn, OPERAND.part_k)
    random = 0
    if ELEMENT.is_random:
        random = random_bits(seed, rows, block_k, k, x.shape[1])
    if ELEMENT.encode_by == "wide cast" and OPERAND.in_words:
        codes = ready_to_cast(q, ELEMENT)  # four are cast at once, and packed
    else:
        codes = encode(q, random, table_ptr, ELEMENT)
    return q, codes
