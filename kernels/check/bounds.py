"""The largest possible distance of a kernel's output from the exact product of its quantized operands.

S = Σ|a||b| of the values, u = half an fp32 ulp, all in fp64:
- The sum: `Accumulator.error_bound` of the values, by the model of the GPU's own tensor core. Scales are
  constant on every stretch that it sums, so its error scales with them. In Triton's interpreter, fp32 sums in
  any order: K·u·S / (1 - K·u).
- Scales: at most three fp32 roundings, 3·u·(S + the sum's error).
- D: half an ulp of its format, for the sum and for the error so far.
"""

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from fp8core.accumulators import ACCUMULATORS, Accumulator
from fp8core.formats import FORMATS
from kernels.gemm.meaning import Arithmetic
from kernels.gemm.plan import GemmPlan
from kernels.operand_passes.native import NATIVE

_HALF_ULP = 2.0 ** -(FORMATS["fp32"].mantissa_bits + 1)
_ADA, _BLACKWELL = (8, 9), 10


def accumulator_on(plan: GemmPlan, capability: tuple[int, int]) -> Accumulator:
    """The model of the tensor core that sums under a plan on a GPU.

    A GPU without a known model gets Hopper's, the coarsest.
    """
    own, bf16 = plan.meaning.accumulator, plan.meaning.arithmetic is Arithmetic.DEQUANTIZED
    if capability == _ADA:
        model = ACCUMULATORS["ampere_half" if bf16 else "ada_fp8"]
        return replace(model, promotion=own.promotion)
    if plan.meaning.arithmetic is Arithmetic.NATIVE_MX and capability[0] >= _BLACKWELL:
        return ACCUMULATORS[NATIVE[plan.meaning.native].accumulator]
    if capability[0] >= _BLACKWELL and not bf16:
        return replace(ACCUMULATORS["blackwell_fp8"], promotion=own.promotion)
    return own


def bound(
    plan: GemmPlan, a: NDArray[np.float64], b: NDArray[np.float64], capability: tuple[int, int] | None
) -> NDArray[np.float64]:
    """float64[rows of a, rows of b]: the limit of |D - a·bᵀ|. A capability of None is the interpreter."""
    size, k = np.abs(a) @ np.abs(b).T, a.shape[1]
    if capability is None:
        summed = k * _HALF_ULP / (1 - k * _HALF_ULP) * size
    else:
        multiplied = (FORMATS["bf16"],) * 2 if plan.meaning.arithmetic is Arithmetic.DEQUANTIZED else ()
        summed = accumulator_on(plan, capability).error_bound(a, b, *multiplied)
    error = summed + 3 * _HALF_ULP * (size + summed)
    out = plan.meaning.spec.out
    half = 2.0 ** -(out.mantissa_bits + 1)
    return error + half * (np.abs(a @ b.T) + error) + out.min_subnormal
