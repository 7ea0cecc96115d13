"""Kernels that run before the quantizer: the amax of tiles or of everything, root mean squares of rows."""

import triton
import triton.language as tl

from kernels.quantize.amax import PARTIALS, history_amax, part_amax
from kernels.quantize.blocks import block_rows, load_block, load_runs, part_tiles, prepare
from kernels.quantize.sources import compute_blocks, reciprocal_rms


@triton.jit
def amax_kernel(
    x_ptr,
    amax_ptr,
    mn,
    k,
    x_stride_mn,
    x_stride_k,
    mn_tiles,
    PLAN: tl.constexpr,
    TILE_MN: tl.constexpr,
    TILE_K: tl.constexpr,
    PART_MN: tl.constexpr,
    PART_K: tl.constexpr,
    CAST: tl.constexpr,
):
    """Raise amax int32[k_tiles, mn_tiles] to the bits of each tile's largest |x|, prepared for PLAN.only.

    TILE 0: the whole dim.
    """
    OPERAND: tl.constexpr = PLAN.only
    BLOCK_MN: tl.constexpr = PLAN.block[0]
    BLOCK_K: tl.constexpr = PLAN.block[1]
    position = (tl.program_id(0), tl.program_id(1), mn, k)
    x = load_block(x_ptr, position, (x_stride_mn, x_stride_k), PLAN)
    x = prepare(x, tl.program_id(1), k, OPERAND, CAST)
    amax = part_amax(x, PART_MN, PART_K, CAST)
    rows = block_rows(tl.program_id(0), BLOCK_MN, 0)
    tiles, inside, _ = part_tiles(position, rows, mn_tiles, TILE_MN, TILE_K, PART_MN, PART_K, BLOCK_K)
    # Several programs may have parts of one tile; the largest of integers does not depend on their order.
    tl.atomic_max(amax_ptr + tiles, amax, mask=inside)


@triton.jit
def whole_amax_kernel(
    x_ptr,
    other_ptr,
    amax_ptr,
    new_amax_ptr,
    history_ptr,
    steps,
    mn,
    k,
    x_stride_mn,
    x_stride_k,
    other_stride,
    across,
    blocks,
    SOURCE: tl.constexpr,
    EPS: tl.constexpr,
    PLAN: tl.constexpr,
    HISTORY: tl.constexpr,
    CAST: tl.constexpr,
):
    """Write amax int32[PARTIALS]; the largest of them is the bits of the largest size in a whole tensor.

    SOURCE "": the tensor is x, prepared for PLAN.only. Else it is SOURCE's result from x and other, as in
    quantize_kernel; mn and K are then rows and columns of the result, or of each half, in `blocks` blocks,
    `across` beside each other. The blocks of a norm have whole rows.

    Each program writes its own part, so nothing is cleared before. new_amax_ptr, if any, is cleared for the
    next pass. history_ptr, if any: the amax of `steps` earlier steps, at most HISTORY; unless their largest
    is 0, it counts and x is not read.
    """
    BLOCK_MN: tl.constexpr = PLAN.block[0]
    BLOCK_K: tl.constexpr = PLAN.block[1]
    if SOURCE == "":
        OPERAND: tl.constexpr = PLAN.only
    program = tl.program_id(0)
    if new_amax_ptr is not None:
        tl.store(new_amax_ptr, 0, mask=program == 0)
    largest = tl.full([], 0, tl.int32)
    if history_ptr is not None:
        largest = history_amax(history_ptr, steps, HISTORY)
    if largest == 0:
        if SOURCE == "":
            wide = tl.cdiv(mn, BLOCK_MN)
            count = wide * tl.cdiv(k, BLOCK_K)
        else:
            wide, count = across, blocks
        for block in range(program, count, tl.num_programs(0)):
            if SOURCE == "":
                position = (block % wide, block // wide, mn, k)
                x = load_block(x_ptr, position, (x_stride_mn, x_stride_k), PLAN)
                x = prepare(x, block // wide, k, OPERAND, CAST)
                amax = part_amax(x, BLOCK_MN, BLOCK_K, CAST)
            else:
                position = (block // wide, block % wide, mn, k)
                inputs = (x_ptr, other_ptr, None, x_stride_mn, other_stride)
                first, second = compute_blocks(inputs, position, 0, SOURCE, EPS, PLAN, True, CAST)
                amax = part_amax(first, BLOCK_MN, BLOCK_K, CAST)
                if SOURCE == "swiglu backward":
                    amax = tl.maximum(amax, part_amax(second, BLOCK_MN, BLOCK_K, CAST))
            largest = tl.maximum(largest, tl.max(amax))
    part = tl.arange(0, PARTIALS)
    # With fewer programs than parts, each writes several.
    tl.store(amax_ptr + part, largest, mask=part % tl.num_programs(0) == program)


@triton.jit
def reciprocal_rms_kernel(
    x_ptr, reciprocals_ptr, rows, columns, stride, EPS: tl.constexpr, PLAN: tl.constexpr
):
    """Write float32[rows]: 1 over the root mean square of each row of x, for blocks without whole rows."""
    block = tl.program_id(0)
    x = load_runs(x_ptr, (block, 0, rows, columns), (stride, 1), PLAN)
    reciprocals = reciprocal_rms(x.to(tl.float32), columns, EPS)
    row = block * PLAN.rows + tl.arange(0, PLAN.rows)
    tl.store(reciprocals_ptr + row, reciprocals, mask=row < rows)
