"""Two layouts of one tensor from one read: a program writes blocks along their rows and down them.

`along` is the operand whose K runs along the rows of x, `down` the one whose K runs down the columns.
"""

import triton
import triton.language as tl

from kernels.quantize.both_block import both_block


@triton.jit(do_not_specialize=["along_seed", "down_seed"])
def both_kernel(
    x_ptr,
    history_ptr,
    steps,
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
    x_stride_rows,
    x_stride_columns,
    across,
    blocks,
    ALONG: tl.constexpr,
    DOWN: tl.constexpr,
    BLOCK_ROWS: tl.constexpr,
    BLOCK_COLUMNS: tl.constexpr,
    EACH: tl.constexpr,
    ACROSS: tl.constexpr,
    IN_RUNS: tl.constexpr,
    SHARED: tl.constexpr,
    MEETS: tl.constexpr,
    HISTORY: tl.constexpr,
    STAGES: tl.constexpr,
    CAST: tl.constexpr,
):
    """Write both operands' codes and scales of x [rows, columns], each as quantize_kernel does.

    EACH: rows that a thread loads as neighbors. ACROSS: neighbors along a row that a warp has. IN_RUNS:
    `along` takes rows in the order in which they come, since each of its parts spans one row, or all. SHARED:
    both ask for the same amax of the whole tensor; what `along` points to counts for both. MEETS, HISTORY: as
    in quantize_kernel.

    across, blocks: blocks beside each other along a row, and all. STAGES: blocks of a program that are on the
    way or in use, where it has several, one after the other; else 0, and it has one.
    """
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
    tensor = (x_ptr, rows, columns, x_stride_rows, x_stride_columns)
    earlier = (history_ptr, steps)
    # Backward after a pass over x: the L2 still holds what that one read last.
    REVERSED: tl.constexpr = along_amax_ptr is not None or along_outer_amax_ptr is not None
    if STAGES == 0:
        block = tl.program_id(0)
        if REVERSED:
            block = blocks - 1 - block
        both_block(
            tensor,
            earlier,
            along,
            down,
            block // across,
            block % across,
            ALONG,
            DOWN,
            BLOCK_ROWS,
            BLOCK_COLUMNS,
            EACH,
            ACROSS,
            IN_RUNS,
            SHARED,
            MEETS,
            HISTORY,
            CAST,
        )
    else:
        for number in tl.range(tl.program_id(0), blocks, tl.num_programs(0), num_stages=STAGES):
            block = number
            if REVERSED:
                block = blocks - 1 - number
            both_block(
                tensor,
                earlier,
                along,
                down,
                block // across,
                block % across,
                ALONG,
                DOWN,
                BLOCK_ROWS,
                BLOCK_COLUMNS,
                EACH,
                ACROSS,
                IN_RUNS,
                SHARED,
                MEETS,
                HISTORY,
                CAST,
            )
