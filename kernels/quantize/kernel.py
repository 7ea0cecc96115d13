"""The quantizer: load or compute a block, find a scale for each of its parts, encode, pack, store. One pass.

A program has a block of a result [rows, columns]: of x, or of a function of x. It writes codes and scales
along rows, down columns, or both, from one read. It cuts the block into parts, each inside one tile. If a
part is a whole tile, one pass does everything. Else an earlier pass collects the amax of tiles, of outer
tiles or of the whole tensor (passes.py). A delayed scale takes its amax from earlier steps; this pass records
the new one.

    blocks.py   load x, where parts lie, rotation    encode.py  from numbers to codes, random bits
    sources.py  SwiGLU, its gradients, RMSNorm       pack.py    codes as memory holds them
    amax.py     the largest |x| of a part            write.py   a block's codes and scales, for one operand
    scales.py   from amax to scales                  passes.py  kernels that run before
"""

import triton
import triton.language as tl

from kernels.bits import BF16_CUT, float_bits, float_of
from kernels.quantize.amax import PARTIALS, block_amax, whole_amaxes
from kernels.quantize.blocks import block_rows, load_rows, load_runs, turn_over
from kernels.quantize.encode import encode
from kernels.quantize.sources import compute_blocks
from kernels.quantize.write import repair_block, write_block


# Triton would make a constant of a seed of 1, and a constant has no type for `random_bits` to test.
@triton.jit(do_not_specialize=["along_seed", "down_seed"])
def quantize_kernel(
    x_ptr,
    other_ptr,
    reciprocals_ptr,
    out_ptr,
    out_amax_ptr,
    history_ptr,
    steps,
    along_amax_ptr,
    along_outer_amax_ptr,
    along_new_amax_ptr,
    along_codes_ptr,
    along_scale_ptr,
    along_outer_scale_ptr,
    along_table_ptr,
    along_values_ptr,
    along_seed,
    along_codes_stride,
    along_mn_tiles,
    along_outer_mn_tiles,
    down_amax_ptr,
    down_outer_amax_ptr,
    down_new_amax_ptr,
    down_codes_ptr,
    down_scale_ptr,
    down_outer_scale_ptr,
    down_table_ptr,
    down_values_ptr,
    down_seed,
    down_codes_stride,
    down_mn_tiles,
    down_outer_mn_tiles,
    rows,
    columns,
    x_stride,
    x_stride_columns,
    other_stride,
    out_stride,
    across,
    SOURCE: tl.constexpr,
    EPS: tl.constexpr,
    PLAN: tl.constexpr,
    HISTORY: tl.constexpr,
    REVERSED: tl.constexpr,
    CAST: tl.constexpr,
):
    """Write codes [mn, codes_stride], zero beyond K, and scales [k_tiles, mn_tiles] of a result.

    - SOURCE "": the result is x [rows, columns], of any strides. "swiglu": from x = gate_up [rows, 2 ·
      columns]. "swiglu backward": two halves, its gradient, from other = dh. "rms norm": x times
      reciprocals [rows] times other = weight; without reciprocals a block has whole rows and computes them,
      EPS: bits of the number added to their mean square. across: blocks beside each other in one half of a
      computed result.
    - along, down: the operands with K along the rows, and down the columns. Codes of 8 bits are uint8, others
      are packed in words int32. Pointers that an operand does not need are None: amax and outer_amax, from an
      earlier pass; new_amax, for this step's; table and values, of codes.
    - PLAN: QuantizePlan. In a cooperative launch, programs find the whole tensor's amax together, in three
      zeros at amax or outer_amax of the first operand; history_ptr, steps and HISTORY: see whole_amax_kernel.
    - out_ptr: for a computed result in bf16, or None. out_amax_ptr: zeros int32[PARTIALS], of which the
      largest becomes the bits of the result's amax; or None.
    - REVERSED: an earlier pass has read everything, and the L2 still holds the end.
    """
    ROWS: tl.constexpr = PLAN.rows
    COLUMNS: tl.constexpr = PLAN.columns
    HALVES: tl.constexpr = 2 if SOURCE == "swiglu backward" else 1
    EVERY: tl.constexpr = 1 if PLAN.split else HALVES
    memory = (x_ptr, (x_stride, x_stride_columns))
    earlier = (history_ptr, steps)
    along_amaxes = (along_amax_ptr, along_outer_amax_ptr, along_new_amax_ptr)
    along = (
        (along_codes_ptr, along_scale_ptr, along_outer_scale_ptr),
        (along_table_ptr, along_values_ptr, along_seed),
        (along_codes_stride, along_mn_tiles, along_outer_mn_tiles),
    )
    down_amaxes = (down_amax_ptr, down_outer_amax_ptr, down_new_amax_ptr)
    down = (
        (down_codes_ptr, down_scale_ptr, down_outer_scale_ptr),
        (down_table_ptr, down_values_ptr, down_seed),
        (down_codes_stride, down_mn_tiles, down_outer_mn_tiles),
    )
    if SOURCE == "":
        half = 0
        near, far = tl.program_id(0), tl.program_id(1)
        if REVERSED:
            near = tl.num_programs(0) - 1 - near
            far = tl.num_programs(1) - 1 - far
        if PLAN.down is None:
            position = (near, far, rows, columns)
        else:
            position = (far, near, rows, columns)
        if PLAN.thread_rows > 0:
            first = load_runs(x_ptr, position, memory[1], PLAN)
        else:
            first = load_rows(x_ptr, position, memory[1], PLAN)
        second = first
    else:
        block, half = tl.program_id(0), 0
        if REVERSED:
            block = tl.num_programs(0) - 1 - block
        if PLAN.split:
            # Programs of both halves run side by side: their common input comes from memory once.
            block, half = block // 2, block % 2
        position = (block // across, block % across, rows, columns)
        inputs = (x_ptr, other_ptr, reciprocals_ptr, x_stride, other_stride)
        first, second = compute_blocks(inputs, position, half, SOURCE, EPS, PLAN, PLAN.down is not None, CAST)
    block_row, block_column, _, _ = position
    if EVERY == 2:
        # These bf16 numbers wait as 16 bits, in half as many registers.
        second_bits = (float_bits(second) >> BF16_CUT).to(tl.int16)
    for number in tl.static_range(EVERY):
        if number == 0:
            y = first
        else:
            y = float_of(second_bits.to(tl.int32) << BF16_CUT)
        own = half + number
        if out_ptr is not None:
            to = out_ptr + own * columns
            row = block_rows(block_row, ROWS, PLAN.thread_rows)[:, None]
            column = block_column * COLUMNS + tl.arange(0, COLUMNS)[None, :]
            offsets = row.to(tl.int64) * out_stride + column
            tl.store(to + offsets, y.to(out_ptr.dtype.element_ty), mask=(row < rows) & (column < columns))
        if out_amax_ptr is not None:
            largest = block_amax(y, CAST)
            tl.atomic_max(out_amax_ptr + tl.program_id(0) % PARTIALS, largest, sem="relaxed")
        if SOURCE == "":
            whole = position
        else:
            # A half is a whole number of blocks.
            whole = (block_row, block_column + own * (columns // COLUMNS), rows, HALVES * columns)
        amaxes = (along_amaxes, down_amaxes)
        _write_copies(y, memory, whole, earlier, amaxes, (along, down), PLAN, HISTORY, SOURCE == "", CAST)


@triton.jit
def _write_copies(
    block,
    memory,
    position,
    earlier,
    amaxes,
    pointers,
    PLAN: tl.constexpr,
    HISTORY: tl.constexpr,
    AGAIN: tl.constexpr,
    CAST: tl.constexpr,
):
    """Write codes and scales of a block at `position` for one operand or two.

    Rows are in the order of load_runs; if PLAN.in_runs, PLAN.along takes them in that order. AGAIN: a repair
    reads x again, after all uses of the block's numbers.
    """
    along_amaxes, down_amaxes = amaxes
    along, down = pointers
    block_row, block_column, rows, columns = position
    transposed = (block_column, block_row, columns, rows)
    if PLAN.thread_rows > 0:
        turned = turn_over(block, PLAN.thread_rows)
    if PLAN.cooperative or PLAN.shared:
        # One amax serves both operands: the pointers of the first count.
        if PLAN.along is not None:
            amax_ptrs = along_amaxes
            whole = whole_amaxes(block, position, earlier, amax_ptrs, PLAN, HISTORY, CAST)
        else:
            amax_ptrs = down_amaxes
            whole = whole_amaxes(turned, position, earlier, amax_ptrs, PLAN, HISTORY, CAST)
        # Triton 3.6 returns no None in a tuple.
        down_amaxes = (
            None if amax_ptrs[0] is None else whole[0],
            None if amax_ptrs[1] is None else whole[1],
            None if amax_ptrs[2] is None else whole[2],
        )
        if PLAN.along is not None:
            along_amaxes = down_amaxes
    if PLAN.along is not None:
        if PLAN.in_runs or PLAN.thread_rows == 0:
            x = block
        else:
            x = tl.trans(turned)
        written = write_block(x, along_amaxes, along, position, PLAN, False, CAST)
        if not AGAIN:
            repair_block(written, x, memory, along, position, PLAN, False, CAST)
    if PLAN.down is not None:
        lines = write_block(turned, down_amaxes, down, transposed, PLAN, True, CAST)
        if not AGAIN:
            repair_block(lines, turned, memory, down, transposed, PLAN, True, CAST)
    if AGAIN and PLAN.along is not None:
        repair_block(written, None, memory, along, position, PLAN, False, CAST)
    if AGAIN and PLAN.down is not None:
        x_ptr, strides = memory
        down_memory = (x_ptr, (strides[1], strides[0]))
        repair_block(lines, None, down_memory, down, transposed, PLAN, True, CAST)


@triton.jit
def encode_kernel(x_ptr, codes_ptr, random_ptr, table_ptr, size, ELEMENT: tl.constexpr, BLOCK: tl.constexpr):
    """Encode x float32[size] as uint8, without a scale, to check each `encode_by`.

    random_ptr: uint8[size], random bits of stochastic rounding, or None.
    """
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offsets, mask=offsets < size, other=0.0)
    random = 0
    if random_ptr is not None:
        random = tl.load(random_ptr + offsets, mask=offsets < size, other=0).to(tl.int32)
    codes = (encode(x, random, table_ptr, ELEMENT) - ELEMENT.raised).to(tl.uint8)
    tl.store(codes_ptr + offsets, codes, mask=offsets < size)
