"""The arithmetic of fp8core.fused in kernels: fp32, in the reference's order of operations, bit for bit."""

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
    bf16_values,
    float_bits,
    float_of,
    fp32,
    inverted,
)
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
LONGEST_SHIFT = tl.constexpr(63)


@triton.jit
def multiply_add(a, b, c, CAST: tl.constexpr):
    """float32: a · b + c, rounded once. CAST: on a GPU; the interpreter has no such operation."""
    return tl.fma(a, b, c) if CAST else _rounded_once(a, b, c)


@triton.jit
def _rounded_once(a, b, c):
    """As fp8core.fused.multiply_add: a sum in float64, rounded to odd."""
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
    held = tl.minimum(tl.maximum(gate, -fp32(LIMIT)), fp32(LIMIT))
    shifted = multiply_add(held, fp32(MINUS_LOG2_E), fp32(WHOLE), CAST)
    left = multiply_add(held, fp32(MINUS_LOG2_E), fp32(WHOLE) - shifted, CAST)
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
def swiglu_of(gate, up, CAST: tl.constexpr):
    """float32: bf16 numbers, SiLU of the gate times up."""
    gate, up = gate.to(tl.float32), up.to(tl.float32)
    return bf16_values(gate * sigmoid(gate, CAST) * up, CAST)


@triton.jit
def gradients_of(dh, gate, up, CAST: tl.constexpr):
    """(float32, float32): bf16 numbers, the gradients of the gate and of up."""
    dh, gate, up = dh.to(tl.float32), gate.to(tl.float32), up.to(tl.float32)
    share = sigmoid(gate, CAST)
    silu = gate * share
    slope = multiply_add(silu, fp32(ONE) - share, share, CAST)
    return bf16_values(dh * up * slope, CAST), bf16_values(dh * silu, CAST)


@triton.jit
def gradient_of(dh, gate, up, half, CAST: tl.constexpr):
    """float32: the first of `gradients_of`, or the second where half is 1."""
    dh, gate, up = dh.to(tl.float32), gate.to(tl.float32), up.to(tl.float32)
    share = sigmoid(gate, CAST)
    silu = gate * share
    slope = multiply_add(silu, fp32(ONE) - share, share, CAST)
    first = half == 0
    return bf16_values(tl.where(first, dh * up, dh) * tl.where(first, slope, silu), CAST)


@triton.jit
def normed_of(x, reciprocals, weight, CAST: tl.constexpr):
    """float32: bf16 numbers, x times its row's reciprocal root mean square, times its column's weight."""
    return bf16_values(x.to(tl.float32) * reciprocals * weight.to(tl.float32), CAST)


@triton.jit
def reciprocal_rms(x, columns, EPS: tl.constexpr, ROWS: tl.constexpr, COLUMNS: tl.constexpr):
    """float32[ROWS]: of rows x float32[ROWS, COLUMNS] with zeros beyond `columns`. EPS: its bits."""
    runs = x * x
    for stage in tl.static_range(STAGES):
        runs = tl.sum(tl.reshape(runs, [ROWS, COLUMNS >> (stage + 1), 2]), axis=2)
    bits = float_bits(tl.reshape(runs, [ROWS, COLUMNS // RUN]))
    largest = tl.max(bits, axis=1)
    total = tl.sum(placed(bits, largest[:, None]), axis=1)
    return reciprocal_of(total, largest, columns, EPS)


@triton.jit
def placed(bits, largest):
    """int64: sums of runs, by their bits, as whole numbers that stand as far below the largest run's."""
    field = tl.maximum(bits >> FP32_MANTISSA, 1)
    significand = tl.where(bits < FP32_STEP, bits, bits - (field - 1) * FP32_STEP).to(tl.int64)
    top = tl.maximum(largest >> FP32_MANTISSA, 1)
    # A broken row's places mean nothing, and a shift has to be one all the same.
    places = tl.maximum(tl.minimum(top - field, LONGEST_SHIFT), 0)
    return (significand << PLACES) >> places.to(tl.int64)


@triton.jit
def reciprocal_of(total, largest, columns, EPS: tl.constexpr):
    """float32: 1 over the root mean square of rows, by totals of `placed` and the bits of largest runs."""
    top = tl.maximum(largest >> FP32_MANTISSA, 1)
    sums = total.to(tl.float32) * fp32(LAST_PLACES) * float_of(top << FP32_MANTISSA)
    bits = tl.where(largest >= FP32_INF, largest, float_bits(sums))
    # div_rn takes tensors of one shape.
    count = float_of((bits & 0) + float_bits(columns.to(tl.float32)))
    mean = tl.div_rn(float_of(bits), count)
    return tl.div_rn(float_of((bits & 0) + ONE), tl.sqrt_rn(mean + fp32(EPS)))
