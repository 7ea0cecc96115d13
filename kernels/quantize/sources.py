"""Blocks of a result to quantize, computed from a layer's tensors: SwiGLU, its gradients, RMSNorm.

Arithmetic is fp32 in the order of fp8core.fused, bit for bit. Rows are in the order of
`kernels.quantize.blocks.block_rows`. Beyond the tensor a block is zero.

Arguments: inputs, (x_ptr, other_ptr, reciprocals_ptr, stride of x, stride of other) as in quantize_kernel;
position, (block row, block column, rows, columns of the result or of each half).
"""

import triton
import triton.language as tl

from fp8core.fused.rms_norm import PLACES as KEPT_PLACES
from fp8core.fused.rms_norm import RUN as RUN_OF_SQUARES
from fp8core.fused.swiglu import LIMIT as LARGEST
from fp8core.fused.swiglu import MINUS_LOG2_E as FACTOR
from fp8core.fused.swiglu import POWERS as FACTORS
from fp8core.fused.swiglu import WHOLE as WHOLE_NUMBERS
from kernels.bits import (
    FP32_INF,
    FP32_MANTISSA,
    FP32_STEP,
    NOTHING,
    WIDEN,
    bf16_values,
    float_bits,
    float_of,
    fp32,
    inverted,
)
from kernels.quantize.blocks import block_rows, load_runs
from kernels.quantize.facts import fp32_bits

LIMIT = tl.constexpr(fp32_bits(LARGEST))
WHOLE = tl.constexpr(fp32_bits(WHOLE_NUMBERS))
MINUS_LOG2_E = tl.constexpr(fp32_bits(FACTOR))
ONE = tl.constexpr(fp32_bits(1))
P1, P2, P3, P4, P5 = (tl.constexpr(fp32_bits(factor)) for factor in FACTORS)
RUN = tl.constexpr(RUN_OF_SQUARES)
STAGES = tl.constexpr(RUN_OF_SQUARES.bit_length() - 1)
"""Sums of two that make one number of a run."""
PLACES = tl.constexpr(KEPT_PLACES)
LAST_PLACES = tl.constexpr(fp32_bits(2.0 ** -(KEPT_PLACES + FP32_MANTISSA.value)))
LONGEST_WIDE_SHIFT = tl.constexpr(63)


@triton.jit
def multiply_add(a, b, c, CAST: tl.constexpr):
    """float32: a · b + c, rounded once. CAST: on a GPU; the interpreter has no fma."""
    return tl.fma(a, b, c) if CAST else _rounded_once(a, b, c)


@triton.jit
def _rounded_once(a, b, c):
    """fp8core.fused.multiply_add: a sum in float64, rounded to odd."""
    product = a.to(tl.float64) * b.to(tl.float64)
    addend = c.to(tl.float64)
    total = product + addend
    other = total - product
    lost = (product - (total - other)) + (addend - other)
    bits = total.to(tl.int64, bitcast=True)
    away = tl.where((lost > 0) == (total > 0), 1, -1)
    sound = (tl.abs(total) < float("inf")) & (lost != 0)
    odd = tl.where(sound & ((bits & 1) == 0), bits + away, bits)
    return odd.to(tl.float64, bitcast=True).to(tl.float32)


@triton.jit
def sigmoid(gate, CAST: tl.constexpr):
    """float32: 1 / (1 + e**-gate)."""
    clamped = tl.minimum(tl.maximum(gate, -fp32(LIMIT)), fp32(LIMIT))
    shifted = multiply_add(clamped, fp32(MINUS_LOG2_E), fp32(WHOLE), CAST)
    left = multiply_add(clamped, fp32(MINUS_LOG2_E), fp32(WHOLE) - shifted, CAST)
    power = multiply_add(left, fp32(P5), fp32(P4), CAST)
    power = multiply_add(power, left, fp32(P3), CAST)
    power = multiply_add(power, left, fp32(P2), CAST)
    power = multiply_add(power, left, fp32(P1), CAST)
    power = multiply_add(power, left, fp32(ONE), CAST)
    exponential = float_of(float_bits(power) + (float_bits(shifted) << FP32_MANTISSA))
    beside_one = exponential + fp32(ONE)
    if CAST:
        share = inverted(beside_one)
    else:
        share = 1.0 / beside_one
    return share


@triton.jit
def silu_and_slope(gate, CAST: tl.constexpr):
    """(float32, float32): SiLU and its derivative."""
    share = sigmoid(gate, CAST)
    silu = gate * share
    return silu, multiply_add(silu, fp32(ONE) - share, share, CAST)


@triton.jit
def reciprocal_rms(x, columns, EPS: tl.constexpr):
    """float32[rows] of x float32[rows, .], zero beyond `columns`. EPS: its bits."""
    ROWS: tl.constexpr = x.shape[0]
    COLUMNS: tl.constexpr = x.shape[1]
    runs = x * x
    for stage in tl.static_range(STAGES):
        runs = tl.sum(tl.reshape(runs, [ROWS, COLUMNS >> (stage + 1), 2]), axis=2)
    bits = float_bits(tl.reshape(runs, [ROWS, COLUMNS // RUN]))
    largest = tl.max(bits, axis=1)
    total = tl.sum(fixed_point(bits, largest[:, None]), axis=1)
    return reciprocal_of(total, largest, columns, EPS)


@triton.jit
def fixed_point(bits, largest):
    """int64: sums of runs, from their bits, as whole numbers on the scale of the largest run."""
    field = tl.maximum(bits >> FP32_MANTISSA, 1)
    significand = tl.where(bits < FP32_STEP, bits, bits - (field - 1) * FP32_STEP).to(tl.int64)
    top = tl.maximum(largest >> FP32_MANTISSA, 1)
    # A broken row's shift means nothing, but must be valid.
    shift = tl.maximum(tl.minimum(top - field, LONGEST_WIDE_SHIFT), 0)
    return (significand << PLACES) >> shift.to(tl.int64)


@triton.jit
def reciprocal_of(total, largest, columns, EPS: tl.constexpr):
    """float32: 1 over the root mean square of rows, from `fixed_point` totals and bits of largest runs."""
    top = tl.maximum(largest >> FP32_MANTISSA, 1)
    sums = total.to(tl.float32) * fp32(LAST_PLACES) * float_of(top << FP32_MANTISSA)
    bits = tl.where(largest >= FP32_INF, largest, float_bits(sums))
    # div_rn takes tensors of one shape.
    count = float_of((bits & 0) + float_bits(columns.to(tl.float32)))
    mean = tl.div_rn(float_of(bits), count)
    return tl.div_rn(float_of((bits & 0) + ONE), tl.sqrt_rn(mean + fp32(EPS)))


@triton.jit
def widened(a, b, c, CAST: tl.constexpr):
    """float32 of three blocks of bf16, after all loads before have started.

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
    """float32 of bf16, two at once, by the zero of `widened`."""
    zeros = tl.full(x.shape, 0, tl.int32) + zero
    return tl.inline_asm_elementwise(WIDEN, "=f,=f,r,r,r", [x, zeros], tl.float32, is_pure=True, pack=2)


@triton.jit
def swiglu_block(inputs, position, PLAN: tl.constexpr, CAST: tl.constexpr):
    """float32[PLAN.rows, PLAN.columns]: SwiGLU of gate_up [rows, 2 · columns], bf16 numbers."""
    gate_up_ptr, _, _, stride, _ = inputs
    _, _, _, columns = position
    gate = load_runs(gate_up_ptr, position, (stride, 1), PLAN)
    up = load_runs(gate_up_ptr + columns, position, (stride, 1), PLAN)
    gate, up, _ = widened(gate, up, up, CAST)
    return bf16_values(gate * sigmoid(gate, CAST) * up, CAST)


@triton.jit
def gradient_blocks(inputs, position, PLAN: tl.constexpr, CAST: tl.constexpr):
    """float32[PLAN.rows, PLAN.columns] twice: gradients of the gate and of up, bf16 numbers."""
    gate_up_ptr, dh_ptr, _, stride, dh_stride = inputs
    _, _, _, columns = position
    gate = load_runs(gate_up_ptr, position, (stride, 1), PLAN)
    up = load_runs(gate_up_ptr + columns, position, (stride, 1), PLAN)
    dh = load_runs(dh_ptr, position, (dh_stride, 1), PLAN)
    gate, up, dh = widened(gate, up, dh, CAST)
    silu, slope = silu_and_slope(gate, CAST)
    return bf16_values(dh * up * slope, CAST), bf16_values(dh * silu, CAST)


@triton.jit
def gradient_block(inputs, position, half, PLAN: tl.constexpr, CAST: tl.constexpr):
    """float32[PLAN.rows, PLAN.columns]: the gradient of the gate, or of up if half is 1."""
    gate_up_ptr, dh_ptr, _, stride, dh_stride = inputs
    block_row, block_column, rows, columns = position
    gate = load_runs(gate_up_ptr, position, (stride, 1), PLAN)
    # The gradient of up does not need up: no column of it is read.
    unless_up = (block_row, block_column, rows, columns * (1 - half))
    up = load_runs(gate_up_ptr + columns, unless_up, (stride, 1), PLAN)
    dh = load_runs(dh_ptr, position, (dh_stride, 1), PLAN)
    dh, gate, up = dh.to(tl.float32), gate.to(tl.float32), up.to(tl.float32)
    silu, slope = silu_and_slope(gate, CAST)
    first = half == 0
    return bf16_values(tl.where(first, dh * up, dh) * tl.where(first, slope, silu), CAST)


@triton.jit
def normed_block(
    inputs, position, PLAN: tl.constexpr, EPS: tl.constexpr, PADDED: tl.constexpr, CAST: tl.constexpr
):
    """float32[PLAN.rows, PLAN.columns]: x times reciprocals [rows] times weight [columns], bf16 numbers.

    Without reciprocals a block has whole rows, and computes them. PADDED: rows beyond x count.
    """
    x_ptr, weight_ptr, reciprocals_ptr, stride, _ = inputs
    block_row, block_column, rows, columns = position
    x = load_runs(x_ptr, position, (stride, 1), PLAN).to(tl.float32)
    row = block_rows(block_row, PLAN.rows, PLAN.thread_rows)
    column = block_column * PLAN.columns + tl.arange(0, PLAN.columns)
    weight = tl.load(weight_ptr + column, mask=column < columns, other=0.0)
    if reciprocals_ptr is None:
        reciprocals = reciprocal_rms(x, columns, EPS)
    else:
        reciprocals = tl.load(reciprocals_ptr + row, mask=row < rows, other=0.0)
    reciprocals, weight = reciprocals[:, None], weight[None, :]
    y = bf16_values(x * reciprocals * weight.to(tl.float32), CAST)
    if PADDED:
        # A zero times a negative weight is -0, which is no padding.
        y = tl.where((row < rows)[:, None], y, 0.0)
    return y


@triton.jit
def compute_blocks(
    inputs,
    position,
    half,
    SOURCE: tl.constexpr,
    EPS: tl.constexpr,
    PLAN: tl.constexpr,
    PADDED: tl.constexpr,
    CAST: tl.constexpr,
):
    """float32[PLAN.rows, PLAN.columns] twice: a block of each half of SOURCE's result, bf16 numbers.

    A result of one half, or PLAN.split, gives one block twice.
    """
    if SOURCE == "swiglu backward" and PLAN.split:
        first = gradient_block(inputs, position, half, PLAN, CAST)
        second = first
    elif SOURCE == "swiglu backward":
        first, second = gradient_blocks(inputs, position, PLAN, CAST)
    elif SOURCE == "swiglu":
        first = swiglu_block(inputs, position, PLAN, CAST)
        second = first
    else:
        first = normed_block(inputs, position, PLAN, EPS, PADDED, CAST)
        second = first
    return first, second
