"""Blocks of what is quantized, computed from what a layer has: SwiGLU, its gradients, RMSNorm.

Rows come in the order of `kernels.quantize.places.block_rows`. Beyond the tensor a block is zero.
"""

import triton
import triton.language as tl

from kernels.bits import NOTHING, WIDEN
from kernels.fused.arithmetic import gradient_of, gradients_of, normed_of, reciprocal_rms, swiglu_of
from kernels.quantize.places import block_rows
from kernels.quantize.prepare import loaded_runs, patch_of


@triton.jit
def _runs(
    x_ptr,
    block_row,
    block_column,
    rows,
    columns,
    stride,
    BLOCK_ROWS: tl.constexpr,
    BLOCK_COLUMNS: tl.constexpr,
    EACH: tl.constexpr,
):
    """[BLOCK_ROWS, BLOCK_COLUMNS] of x [rows, columns], in patches where a thread has runs of rows."""
    ACROSS: tl.constexpr = patch_of(BLOCK_COLUMNS) if EACH > 0 else 0
    return loaded_runs(
        x_ptr, block_row, block_column, rows, columns, stride, 1, BLOCK_ROWS, BLOCK_COLUMNS, EACH, ACROSS
    )


@triton.jit
def widened(a, b, c, CAST: tl.constexpr):
    """float32 of three blocks of bf16, where all loads before are on their way.

    ptxas would save registers instead: load some numbers, compute, and load the next into the same registers.
    A program would wait for memory many times.
    """
    if CAST:
        zero = tl.inline_asm_elementwise(NOTHING, "=r,r", [tl.program_id(0)], tl.int32, is_pure=False, pack=1)
        wide = (_wide(a, zero), _wide(b, zero), _wide(c, zero))
    else:
        wide = (a.to(tl.float32), b.to(tl.float32), c.to(tl.float32))
    return wide


@triton.jit
def _wide(x, zero):
    """float32 of bf16, two at once, by a zero that comes with `widened`."""
    zeros = tl.full(x.shape, 0, tl.int32) + zero
    return tl.inline_asm_elementwise(WIDEN, "=f,=f,r,r,r", [x, zeros], tl.float32, is_pure=True, pack=2)


@triton.jit
def swiglu_block(
    gate_up_ptr,
    block_row,
    block_column,
    rows,
    inner,
    stride,
    BLOCK_ROWS: tl.constexpr,
    BLOCK_COLUMNS: tl.constexpr,
    EACH: tl.constexpr,
    CAST: tl.constexpr,
):
    """float32[BLOCK_ROWS, BLOCK_COLUMNS]: SwiGLU of gate_up [rows, 2 · inner], bf16 numbers."""
    gate = _runs(gate_up_ptr, block_row, block_column, rows, inner, stride, BLOCK_ROWS, BLOCK_COLUMNS, EACH)
    up = _runs(
        gate_up_ptr + inner, block_row, block_column, rows, inner, stride, BLOCK_ROWS, BLOCK_COLUMNS, EACH
    )
    gate, up, _ = widened(gate, up, up, CAST)
    return swiglu_of(gate, up, CAST)


@triton.jit
def gradient_blocks(
    gate_up_ptr,
    dh_ptr,
    block_row,
    block_column,
    rows,
    inner,
    stride,
    dh_stride,
    BLOCK_ROWS: tl.constexpr,
    BLOCK_COLUMNS: tl.constexpr,
    EACH: tl.constexpr,
    CAST: tl.constexpr,
):
    """float32[BLOCK_ROWS, BLOCK_COLUMNS] twice: the gradients of the gate and of up, bf16 numbers."""
    gate = _runs(gate_up_ptr, block_row, block_column, rows, inner, stride, BLOCK_ROWS, BLOCK_COLUMNS, EACH)
    up = _runs(
        gate_up_ptr + inner, block_row, block_column, rows, inner, stride, BLOCK_ROWS, BLOCK_COLUMNS, EACH
    )
    dh = _runs(dh_ptr, block_row, block_column, rows, inner, dh_stride, BLOCK_ROWS, BLOCK_COLUMNS, EACH)
    gate, up, dh = widened(gate, up, dh, CAST)
    return gradients_of(dh, gate, up, CAST)


@triton.jit
def gradient_block(
    gate_up_ptr,
    dh_ptr,
    block_row,
    block_column,
    half,
    rows,
    inner,
    stride,
    dh_stride,
    BLOCK_ROWS: tl.constexpr,
    BLOCK_COLUMNS: tl.constexpr,
    EACH: tl.constexpr,
    CAST: tl.constexpr,
):
    """float32[BLOCK_ROWS, BLOCK_COLUMNS]: the gradient of the gate, or of up where half is 1."""
    gate = _runs(gate_up_ptr, block_row, block_column, rows, inner, stride, BLOCK_ROWS, BLOCK_COLUMNS, EACH)
    # The gradient of up does not need up: no column of it is read.
    up = _runs(
        gate_up_ptr + inner,
        block_row,
        block_column,
        rows,
        inner * (1 - half),
        stride,
        BLOCK_ROWS,
        BLOCK_COLUMNS,
        EACH,
    )
    dh = _runs(dh_ptr, block_row, block_column, rows, inner, dh_stride, BLOCK_ROWS, BLOCK_COLUMNS, EACH)
    return gradient_of(dh, gate, up, half, CAST)


@triton.jit
def normed_block(
    x_ptr,
    weight_ptr,
    reciprocals_ptr,
    block_row,
    block_column,
    rows,
    columns,
    stride,
    BLOCK_ROWS: tl.constexpr,
    BLOCK_COLUMNS: tl.constexpr,
    EACH: tl.constexpr,
    EPS: tl.constexpr,
    PADDED: tl.constexpr,
    CAST: tl.constexpr,
):
    """float32[BLOCK_ROWS, BLOCK_COLUMNS]: x times reciprocals [rows] times weight [columns], bf16 numbers.

    Without reciprocals a block has whole rows, and they are found here. PADDED: rows beyond x count.
    """
    x = _runs(x_ptr, block_row, block_column, rows, columns, stride, BLOCK_ROWS, BLOCK_COLUMNS, EACH)
    x = x.to(tl.float32)
    row = block_rows(block_row, BLOCK_ROWS, EACH)
    column = block_column * BLOCK_COLUMNS + tl.arange(0, BLOCK_COLUMNS)
    weight = tl.load(weight_ptr + column, mask=column < columns, other=0.0)
    if reciprocals_ptr is None:
        reciprocals = reciprocal_rms(x, columns, EPS, BLOCK_ROWS, BLOCK_COLUMNS)
    else:
        reciprocals = tl.load(reciprocals_ptr + row, mask=row < rows, other=0.0)
    y = normed_of(x, reciprocals[:, None], weight[None, :], CAST)
    if PADDED:
        # A zero times a negative weight is -0, which is no padding.
        y = tl.where((row < rows)[:, None], y, 0.0)
    return y


@triton.jit
def computed_blocks(
    inputs,
    sizes,
    block_row,
    block_column,
    half,
    SOURCE: tl.constexpr,
    EPS: tl.constexpr,
    BLOCK_ROWS: tl.constexpr,
    BLOCK_COLUMNS: tl.constexpr,
    EACH: tl.constexpr,
    PADDED: tl.constexpr,
    SPLIT: tl.constexpr,
    CAST: tl.constexpr,
):
    """float32[BLOCK_ROWS, BLOCK_COLUMNS] twice: a block of each half of what SOURCE computes, bf16 numbers.

    Where there is one half, or SPLIT asks for one, that is given twice. inputs, sizes: those of fused_kernel.
    """
    x_ptr, other_ptr, reciprocals_ptr = inputs
    rows, columns, x_stride, other_stride = sizes
    if SOURCE == "swiglu backward" and SPLIT:
        first = gradient_block(
            x_ptr,
            other_ptr,
            block_row,
            block_column,
            half,
            rows,
            columns,
            x_stride,
            other_stride,
            BLOCK_ROWS,
            BLOCK_COLUMNS,
            EACH,
            CAST,
        )
        second = first
    elif SOURCE == "swiglu backward":
        first, second = gradient_blocks(
            x_ptr,
            other_ptr,
            block_row,
            block_column,
            rows,
            columns,
            x_stride,
            other_stride,
            BLOCK_ROWS,
            BLOCK_COLUMNS,
            EACH,
            CAST,
        )
    elif SOURCE == "swiglu":
        first = swiglu_block(
            x_ptr, block_row, block_column, rows, columns, x_stride, BLOCK_ROWS, BLOCK_COLUMNS, EACH, CAST
        )
        second = first
    else:
        first = normed_block(
            x_ptr,
            other_ptr,
            reciprocals_ptr,
            block_row,
            block_column,
            rows,
            columns,
            x_stride,
            BLOCK_ROWS,
            BLOCK_COLUMNS,
            EACH,
            EPS,
            PADDED,
            CAST,
        )
        second = first
    return first, second


@triton.jit
def store_block(
    out_ptr,
    block,
    block_row,
    block_column,
    rows,
    columns,
    stride,
    BLOCK_ROWS: tl.constexpr,
    BLOCK_COLUMNS: tl.constexpr,
    EACH: tl.constexpr,
):
    """Store a block of a tensor [rows, columns] as it is."""
    row = block_rows(block_row, BLOCK_ROWS, EACH)[:, None]
    column = block_column * BLOCK_COLUMNS + tl.arange(0, BLOCK_COLUMNS)[None, :]
    places = row.to(tl.int64) * stride + column
    tl.store(out_ptr + places, block.to(out_ptr.dtype.element_ty), mask=(row < rows) & (column < columns))
