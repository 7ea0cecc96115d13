"""The pass that finds the amax of a whole result before it is quantized: nothing is stored on the way."""

import triton
import triton.language as tl

from kernels.bits import float_bits
from kernels.fused.blocks import computed_blocks
from kernels.quantize.amax import part_amax


@triton.jit
def fused_amax_kernel(
    x_ptr,
    other_ptr,
    amax_ptr,
    new_amax_ptr,
    history_ptr,
    steps,
    rows,
    columns,
    x_stride,
    other_stride,
    across,
    blocks,
    SOURCE: tl.constexpr,
    EPS: tl.constexpr,
    BLOCK_ROWS: tl.constexpr,
    BLOCK_COLUMNS: tl.constexpr,
    HISTORY: tl.constexpr,
    PARTIALS: tl.constexpr,
    CAST: tl.constexpr,
):
    """Write amax int32[PARTIALS]: the largest of all is the bits of the largest size in what SOURCE computes.

    new_amax_ptr, history_ptr, steps, HISTORY and PARTIALS are as in kernels.quantize.kernel's pass over a
    tensor, and the rest is as in fused_kernel. The blocks of a norm have whole rows.
    """
    program = tl.program_id(0)
    if new_amax_ptr is not None:
        tl.store(new_amax_ptr, 0, mask=program == 0)
    largest = tl.full([], 0, tl.int32)
    if history_ptr is not None:
        step = tl.arange(0, HISTORY)
        before = tl.max(tl.load(history_ptr + step, mask=step < steps, other=0.0).to(tl.float32))
        largest = float_bits(before)
    if largest == 0:
        inputs = (x_ptr, other_ptr, None)
        sizes = (rows, columns, x_stride, other_stride)
        for block in range(program, blocks, tl.num_programs(0)):
            first, second = computed_blocks(
                inputs,
                sizes,
                block // across,
                block % across,
                0,
                SOURCE,
                EPS,
                BLOCK_ROWS,
                BLOCK_COLUMNS,
                0,
                True,
                False,
                CAST,
            )
            amax = part_amax(first, BLOCK_ROWS, BLOCK_COLUMNS, BLOCK_ROWS, BLOCK_COLUMNS, CAST)
            if SOURCE == "swiglu backward":
                other = part_amax(second, BLOCK_ROWS, BLOCK_COLUMNS, BLOCK_ROWS, BLOCK_COLUMNS, CAST)
                amax = tl.maximum(amax, other)
            largest = tl.maximum(largest, tl.max(amax))
    place = tl.arange(0, PARTIALS)
    # Where there are fewer programs than places, each has several.
    tl.store(amax_ptr + place, largest, mask=place % tl.num_programs(0) == program)
