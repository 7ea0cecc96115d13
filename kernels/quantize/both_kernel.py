"""Two layouts of one tensor from one read: a block is loaded once, and written along its rows and down them.

`along` is the operand whose K runs along the rows of x, `down` the one whose K runs down the columns. A
thread loads a patch of neighbors along both dims. So turning the block over moves no number from one thread
to another, and both write many codes at once.
"""

import triton
import triton.language as tl

from kernels.quantize.amax import amax_after, met_amax, part_amax, whole_amax
from kernels.quantize.prepare import loaded_runs, turned_over
from kernels.quantize.write import repair_block, write_block


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
    CAST: tl.constexpr,
):
    """Write both operands' codes and scales of x [rows, columns], each as quantize_kernel does.

    EACH: rows that a thread loads as neighbors. ACROSS: neighbors along a row that a warp has. IN_RUNS:
    `along` takes rows in the order in which they come, since each of its parts spans one row, or all. SHARED:
    both ask for the same amax of the whole tensor; what `along` points to counts for both. MEETS, HISTORY: as
    in quantize_kernel.
    """
    block_column, block_row = tl.program_id(0), tl.program_id(1)
    if along_amax_ptr is not None or along_outer_amax_ptr is not None:
        # The L2 still holds what the pass before read last.
        block_column = tl.num_programs(0) - 1 - block_column
        block_row = tl.num_programs(1) - 1 - block_row
    runs = loaded_runs(
        x_ptr,
        block_row,
        block_column,
        rows,
        columns,
        x_stride_rows,
        x_stride_columns,
        BLOCK_ROWS,
        BLOCK_COLUMNS,
        EACH,
        ACROSS,
    )
    turned = turned_over(runs, BLOCK_ROWS, BLOCK_COLUMNS, EACH)
    if IN_RUNS:
        x = runs
        ORDER: tl.constexpr = EACH
    else:
        x = tl.trans(turned)
        ORDER: tl.constexpr = 0
    along_amax, along_outer, along_new = along_amax_ptr, along_outer_amax_ptr, along_new_amax_ptr
    down_amax, down_outer, down_new = down_amax_ptr, down_outer_amax_ptr, down_new_amax_ptr
    if MEETS:
        first = block_column + block_row == 0
        if along_amax_ptr is not None:
            met = met_amax(runs.to(tl.float32), along_amax_ptr, BLOCK_ROWS, BLOCK_COLUMNS, CAST)
            along_amax = amax_after(met, history_ptr, steps, along_new_amax_ptr, first, HISTORY)
            down_amax = along_amax
            if along_new_amax_ptr is not None:
                along_new, down_new = met, met
        else:
            along_outer = met_amax(runs.to(tl.float32), along_outer_amax_ptr, BLOCK_ROWS, BLOCK_COLUMNS, CAST)
            down_outer = along_outer
    elif SHARED:
        # Each program looks for it once, not once for each operand.
        if along_amax_ptr is not None:
            along_amax = whole_amax(along_amax_ptr, ALONG.partials)
            down_amax = along_amax
        if along_outer_amax_ptr is not None:
            along_outer = whole_amax(along_outer_amax_ptr, ALONG.partials)
            down_outer = along_outer
        if along_new_amax_ptr is not None:
            own = part_amax(runs.to(tl.float32), BLOCK_ROWS, BLOCK_COLUMNS, BLOCK_ROWS, BLOCK_COLUMNS, CAST)
            own = tl.max(own)
            tl.atomic_max(along_new_amax_ptr, own, sem="relaxed")
            along_new, down_new = own, own
    along = write_block(
        x,
        along_amax,
        along_outer,
        along_codes_ptr,
        along_scale_ptr,
        along_outer_scale_ptr,
        along_new,
        along_table_ptr,
        along_values_ptr,
        along_seed,
        block_row,
        block_column,
        rows,
        columns,
        along_codes_stride,
        along_mn_tiles,
        along_outer_mn_tiles,
        ALONG,
        BLOCK_ROWS,
        BLOCK_COLUMNS,
        ORDER,
        CAST,
        EACH,
        ACROSS if IN_RUNS else 0,
    )
    down = write_block(
        turned,
        down_amax,
        down_outer,
        down_codes_ptr,
        down_scale_ptr,
        down_outer_scale_ptr,
        down_new,
        down_table_ptr,
        down_values_ptr,
        down_seed,
        block_column,
        block_row,
        columns,
        rows,
        down_codes_stride,
        down_mn_tiles,
        down_outer_mn_tiles,
        DOWN,
        BLOCK_COLUMNS,
        BLOCK_ROWS,
        0,
        CAST,
        EACH,
        ACROSS,
    )
    repair_block(
        along,
        x_ptr,
        along_codes_ptr,
        along_table_ptr,
        along_seed,
        block_row,
        block_column,
        rows,
        columns,
        x_stride_rows,
        x_stride_columns,
        along_codes_stride,
        ALONG,
        BLOCK_ROWS,
        BLOCK_COLUMNS,
        False,
        0,
        ACROSS,
        ORDER,
        CAST,
    )
    repair_block(
        down,
        x_ptr,
        down_codes_ptr,
        down_table_ptr,
        down_seed,
        block_column,
        block_row,
        columns,
        rows,
        x_stride_columns,
        x_stride_rows,
        down_codes_stride,
        DOWN,
        BLOCK_COLUMNS,
        BLOCK_ROWS,
        False,
        EACH,
        ACROSS,
        0,
        CAST,
    )
