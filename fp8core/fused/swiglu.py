"""SwiGLU and its gradients, in a fixed order of fp32 operations.

`fma` rounds once; every other operation is one IEEE operation of fp32, in the order written.

    c     = min(max(g, -LIMIT), LIMIT)              a NaN counts as -LIMIT here; g · s is NaN all the same
    m     = fma(c, -log2 e, WHOLE)                  its lowest bits: n, the whole number next to -c · log2 e
    f     = fma(c, -log2 e, -(m - WHOLE))           the rest, from -1/2 to 1/2
    p     = 2**f, a polynomial of degree 5: fma(f, fma(f, … , P1), 1)
    e     = p · 2**n, by a sum of exponents         e**-c
    s     = 1 / (1 + e)                             the sigmoid
    a     = g · s                                   SiLU
    h     = bf16(a · u)                             SwiGLU
    du    = bf16(dh · a)
    dg    = bf16((dh · u) · fma(a, 1 - s, s))

The sigmoid is within 4 units of its last place for gates up to 8 in size, and within 9 up to 40. SiLU of a
bf16 gate, rounded to bf16, is the nearest number to the true one.

g and u are the halves of a row of gate_up, the gate first. Source: Shazeer, "GLU variants improve
transformer" (arXiv 2002.05202). PyTorch's eager chain rounds SiLU to bf16 before it multiplies; a compiled
chain, and this one, do not.
"""

import numpy as np
from numpy.typing import ArrayLike

from fp8core.accumulators.terms import to_odd, two_sum
from fp8core.arrays import Float32
from fp8core.checks import reals
from fp8core.formats import FORMATS

LIMIT = np.float32(86)
"""e**86, 1 + e**86 and their reciprocals are normal fp32 numbers."""
WHOLE = np.float32(1.5 * 2**23)
"""A sum with it is rounded to a whole number in its lowest bits."""
MINUS_LOG2_E = np.float32(-np.log2(np.e))
POWERS = tuple(
    map(
        np.float32,
        (0.6931470036506653, 0.24022242426872253, 0.05550733581185341, 0.00967151299, 0.00132647273),
    )
)
"""P1 to P5: 1 + P1 f + … + P5 f**5 is 2**f within 2**-23.3 of it on [-1/2, 1/2], the least such error."""
_MANTISSA = FORMATS["fp32"].mantissa_bits
_OUT = FORMATS["bf16"]


def multiply_add(a: ArrayLike, b: ArrayLike, c: ArrayLike) -> Float32:
    """float32: a · b + c, rounded once to nearest even, as a GPU's FFMA.

    In float64 the product is exact, and the sum is rounded to odd: no second rounding takes it for a tie.
    Source: Boldo and Melquiond, "Emulation of FMA and correctly rounded sums: proved algorithms using
    rounding to odd", IEEE Transactions on Computers 57 (2008).
    """
    a, b, c = (np.asarray(each, np.float32).astype(np.float64) for each in (a, b, c))
    with np.errstate(invalid="ignore", over="ignore"):
        total, error = two_sum(a * b, c)
        return to_odd(total, np.where(np.isfinite(error), error, 0.0)).astype(np.float32)


def sigmoid(g: ArrayLike) -> Float32:
    """float32, shape of g, in the order above."""
    g = np.asarray(g, np.float32)
    c = np.fmin(np.fmax(g, -LIMIT), LIMIT)
    m = multiply_add(c, MINUS_LOG2_E, WHOLE)
    fraction = multiply_add(c, MINUS_LOG2_E, -(m - WHOLE))
    power = np.full_like(fraction, POWERS[-1])
    for factor in (*POWERS[-2::-1], np.float32(1)):
        power = multiply_add(power, fraction, factor)
    # The bits of WHOLE that do not fall off on the left are zero.
    exponential = (power.view(np.uint32) + (m.view(np.uint32) << np.uint32(_MANTISSA))).view(np.float32)
    return np.float32(1) / (np.float32(1) + exponential)


def swiglu(gate_up: ArrayLike) -> Float32:
    """float32[tokens, inner] of bf16 numbers: SiLU of each row's first half times its second half.

    gate_up: [tokens, 2 · inner], bf16 numbers. Raises ValueError for an odd number of columns.
    """
    gate, up = _halves(gate_up)
    with np.errstate(invalid="ignore", over="ignore"):
        return _rounded((gate * sigmoid(gate)) * up)


def swiglu_backward(dh: ArrayLike, gate_up: ArrayLike) -> Float32:
    """float32[tokens, 2 · inner] of bf16 numbers: gradient of gate_up for SwiGLU's gradient dh.

    Raises ValueError if dh is not [tokens, inner].
    """
    gate, up = _halves(gate_up)
    dh = reals("dh", dh, ndim=2).astype(np.float32)
    if dh.shape != gate.shape:
        raise ValueError(f"dh has the shape of SwiGLU, {gate.shape}, got {dh.shape}")
    with np.errstate(invalid="ignore", over="ignore"):
        share = sigmoid(gate)
        silu = gate * share
        slope = multiply_add(silu, np.float32(1) - share, share)
        return np.concatenate([_rounded((dh * up) * slope), _rounded(dh * silu)], axis=1)


def _halves(gate_up: ArrayLike) -> tuple[Float32, Float32]:
    gate_up = reals("gate_up", gate_up, ndim=2).astype(np.float32)
    if gate_up.shape[1] % 2:
        raise ValueError(f"gate_up has two halves of one width, got {gate_up.shape[1]} columns")
    gate, up = np.split(gate_up, 2, axis=1)
    return gate, up


def _rounded(x: Float32) -> Float32:
    return x.astype(_OUT.ml_dtype).astype(np.float32)
