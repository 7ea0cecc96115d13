"""The fused kernel: compute blocks, then store them in bf16 or quantize them for one operand or two."""

import triton
import triton.language as tl

from kernels.bits import BF16_CUT, float_bits, float_of
from kernels.fused.blocks import computed_blocks, store_block
from kernels.fused.copies import write_copies
from kernels.quantize import plan
from kernels.quantize.amax import part_amax

PARTIALS = tl.constexpr(plan.PARTIALS)


# A seed of 1 stays a number: Triton would make a constant of it, which has no type to ask for.
@triton.jit(do_not_specialize=["along_seed", "down_seed"])
def fused_kernel(
    x_ptr,
    other_ptr,
    reciprocals_ptr,
    out_ptr,
    out_amax_ptr,
    along_amax_ptr,
    along_outer_amax_ptr,
    along_codes_ptr,
    along_scale_ptr,
    along_outer_scale_ptr,
    along_new_amax_ptr,
    along_table_ptr,
    along_values_ptr,
    along_seed,
    along_codes_stride,
    along_mn_tiles,
    along_outer_mn_tiles,
    down_amax_ptr,
    down_outer_amax_ptr,
    down_codes_ptr,
    down_scale_ptr,
    down_outer_scale_ptr,
    down_new_amax_ptr,
    down_table_ptr,
    down_values_ptr,
    down_seed,
    down_codes_stride,
    down_mn_tiles,
    down_outer_mn_tiles,
    rows,
    columns,
    x_stride,
    other_stride,
    out_stride,
    across,
    SOURCE: tl.constexpr,
    EPS: tl.constexpr,
    ALONG: tl.constexpr,
    DOWN: tl.constexpr,
    BLOCK_ROWS: tl.constexpr,
    BLOCK_COLUMNS: tl.constexpr,
    EACH: tl.constexpr,
    IN_RUNS: tl.constexpr,
    SHARED: tl.constexpr,
    SPLIT: tl.constexpr,
    REVERSED: tl.constexpr,
    CAST: tl.constexpr,
):
    """Write codes and scales of what SOURCE computes, as kernels.quantize.kernel does of a tensor.

    - SOURCE "swiglu": of x = gate_up [rows, 2 · columns]. "swiglu backward": its gradient, from other = dh.
      "rms norm": x [rows, columns] times reciprocals [rows] times other = weight. Without reciprocals a block
      has whole rows, and finds them itself; EPS has the bits of what is added to their mean square.
    - out_ptr: where the result goes in bf16, too; None where nobody asks for it. out_amax_ptr: zeros,
      int32[PARTIALS], whose largest becomes the bits of the result's largest size; or None.
    - across: how many blocks lie beside each other, in one half.
    - ALONG, DOWN: the operands. EACH, IN_RUNS, SHARED: as in write_copies.
    - SPLIT: a program has a block of one half, not of both. It needs half as many registers.
    - REVERSED: a pass before has read everything, and the L2 still holds what it read last.
    """
    inputs = (x_ptr, other_ptr, reciprocals_ptr)
    sizes = (rows, columns, x_stride, other_stride)
    out = (out_ptr, out_amax_ptr, out_stride)
    along = (
        along_amax_ptr,
        along_outer_amax_ptr,
        along_codes_ptr,
        along_scale_ptr,
        along_outer_scale_ptr,
        along_new_amax_ptr,
        along_table_ptr,
        along_values_ptr,
        along_seed,
        along_codes_stride,
        along_mn_tiles,
        along_outer_mn_tiles,
    )
    down = (
        down_amax_ptr,
        down_outer_amax_ptr,
        down_codes_ptr,
        down_scale_ptr,
        down_outer_scale_ptr,
        down_new_amax_ptr,
        down_table_ptr,
        down_values_ptr,
        down_seed,
        down_codes_stride,
        down_mn_tiles,
        down_outer_mn_tiles,
    )
    block, half = tl.program_id(0), 0
    if REVERSED:
        block = tl.num_programs(0) - 1 - block
    if SPLIT:
        # Both halves of a place run side by side: what both read comes from memory once.
        block, half = block // 2, block % 2
    _blocks(
        inputs,
        sizes,
        out,
        along,
        down,
        block // across,
        block % across,
        half,
        SOURCE,
        EPS,
        ALONG,
        DOWN,
        BLOCK_ROWS,
        BLOCK_COLUMNS,
        EACH,
        IN_RUNS,
        SHARED,
        SPLIT,
        CAST,
    )


@triton.jit
def _blocks(
    inputs,
    sizes,
    out,
    along,
    down,
    block_row,
    block_column,
    half,
    SOURCE: tl.constexpr,
    EPS: tl.constexpr,
    ALONG: tl.constexpr,
    DOWN: tl.constexpr,
    BLOCK_ROWS: tl.constexpr,
    BLOCK_COLUMNS: tl.constexpr,
    EACH: tl.constexpr,
    IN_RUNS: tl.constexpr,
    SHARED: tl.constexpr,
    SPLIT: tl.constexpr,
    CAST: tl.constexpr,
):
    """Compute a block of each half, or of one, and write what is made of it."""
    rows, columns, _, _ = sizes
    out_ptr, out_amax_ptr, out_stride = out
    HALVES: tl.constexpr = 2 if SOURCE == "swiglu backward" else 1
    EVERY: tl.constexpr = 1 if SPLIT else HALVES
    first, second = computed_blocks(
        inputs,
        sizes,
        block_row,
        block_column,
        half,
        SOURCE,
        EPS,
        BLOCK_ROWS,
        BLOCK_COLUMNS,
        EACH,
        DOWN is not None,
        SPLIT,
        CAST,
    )
    if EVERY == 2:
        # In half as many registers until its turn comes: as numbers of bf16 they have 16 bits.
        kept = (float_bits(second) >> BF16_CUT).to(tl.int16)
    for number in tl.static_range(EVERY):
        if number == 0:
            y = first
        else:
            y = float_of(kept.to(tl.int32) << BF16_CUT)
        own = half + number
        if out_ptr is not None:
            store_block(
                out_ptr + own * columns,
                y,
                block_row,
                block_column,
                rows,
                columns,
                out_stride,
                BLOCK_ROWS,
                BLOCK_COLUMNS,
                EACH,
            )
        if out_amax_ptr is not None:
            found = tl.max(part_amax(y, BLOCK_ROWS, BLOCK_COLUMNS, BLOCK_ROWS, BLOCK_COLUMNS, CAST))
            tl.atomic_max(out_amax_ptr + tl.program_id(0) % PARTIALS, found, sem="relaxed")
        # A half is a whole number of blocks.
        write_copies(
            y,
            block_row,
            block_column + own * (columns // BLOCK_COLUMNS),
            rows,
            HALVES * columns,
            along,
            down,
            ALONG,
            DOWN,
            BLOCK_ROWS,
            BLOCK_COLUMNS,
            EACH,
            IN_RUNS,
            SHARED,
            CAST,
        )
