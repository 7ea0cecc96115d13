"""RMSNorm, in a fixed order of operations; the sum of squares does not depend on any order.

    x²          fl32(x · x), exact for bf16 numbers unless it is below or beyond fp32's range
    runs        sums of 8 squares: neighbors first, then their sums, each in fp32
    total       the runs' sum, exact but for bits 2**-50 below the largest run; then rounded to fp32
    r           fl32(1 / fl32(sqrt(fl32(fl32(total / n) + eps))))
    y           bf16(fl32(fl32(x · r) · weight))

Runs are added as whole numbers: each significand is shifted to its place below the largest one, and lower
bits are dropped. Sums of whole numbers have no order, so a kernel may add across threads in any order. An
infinite or NaN run makes the total so.

Source: Zhang and Sennrich, "Root mean square layer normalization" (arXiv 1910.07467); torch rounds once, too.
"""

import numpy as np
from numpy.typing import ArrayLike

from fp8core.arrays import Float32
from fp8core.checks import reals
from fp8core.formats import FORMATS

RUN = 8
"""Squares added in floating point: neighbors that one thread loads at once."""
PLACES = 27
"""Bits below the last place of the largest run that count."""
MOST_COLUMNS = 1 << 15
"""24 bits, PLACES more and the sum of 4,096 runs take 63 bits."""
_FP32 = FORMATS["fp32"]
_STEP = 1 << _FP32.mantissa_bits
_LONGEST = 63


def reciprocal_rms(x: ArrayLike, eps: float) -> Float32:
    """float32[rows]: 1 / √(mean square + eps) of each row. x: [rows, columns], bf16 numbers.

    Raises ValueError for more than MOST_COLUMNS columns.
    """
    x = reals("x", x, ndim=2).astype(np.float32)
    if not 0 < x.shape[1] <= MOST_COLUMNS:
        raise ValueError(f"a norm is over 1 to {MOST_COLUMNS:,} columns, got {x.shape[1]}")
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        mean = _sum_of_squares(x) / np.float32(x.shape[1])
        return np.float32(1) / np.sqrt(mean + np.float32(eps))


def rms_norm(x: ArrayLike, weight: ArrayLike, eps: float) -> Float32:
    """float32[rows, columns] of bf16 numbers: x over its rows' root mean square, times weight [columns].

    Raises ValueError for a weight of another length, and as reciprocal_rms.
    """
    x = reals("x", x, ndim=2).astype(np.float32)
    weight = reals("weight", weight, ndim=1).astype(np.float32)
    if weight.shape != x.shape[1:]:
        raise ValueError(f"the weight has a number for each of {x.shape[1]} columns, got {weight.shape[0]}")
    with np.errstate(over="ignore", invalid="ignore"):
        y = (x * reciprocal_rms(x, eps)[:, None]) * weight
    return y.astype(FORMATS["bf16"].ml_dtype).astype(np.float32)


def _sum_of_squares(x: Float32) -> Float32:
    runs = np.pad(x * x, [(0, 0), (0, -x.shape[1] % RUN)]).reshape(x.shape[0], -(-x.shape[1] // RUN), RUN)
    while runs.shape[2] > 1:
        runs = runs[:, :, 0::2] + runs[:, :, 1::2]
    bits = runs[:, :, 0].view(np.int32)
    largest = bits.max(axis=1)
    fields = np.maximum(bits >> _FP32.mantissa_bits, 1)
    # A subnormal number has the field of the smallest normal one, without the implied bit.
    significands = bits - (fields - 1) * _STEP
    significands = np.where(bits < _STEP, bits, significands).astype(np.int64)
    top = np.maximum(largest >> _FP32.mantissa_bits, 1)
    places = np.minimum(top[:, None] - fields, _LONGEST)
    total = ((significands << PLACES) >> places).sum(axis=1).astype(np.float32)
    power = (top << _FP32.mantissa_bits).astype(np.int32).view(np.float32)
    sums = (total * np.float32(2.0 ** -(PLACES + _FP32.mantissa_bits))) * power
    return np.where(largest >= _FP32.inf_code, largest.astype(np.int32).view(np.float32), sums)
