"""The exact product of dequantized operands, and the bound of a kernel's error against it.

S = |A|·|B|ᵀ of the values, u = 2**-24 (half an fp32 ulp), all in fp64.
- The sum. On Hopper, `Accumulator.error_bound` of the values: scales are constant on every stretch that the
  tensor core sums, so its error scales with them. In the interpreter, fp32 sums in any order:
  K·u·S / (1 - K·u).
- Scales: at most three fp32 roundings (sA·sB, and two products; or the fma): 3·u·(S + the sum's error). One
  more for each run of K that is added.
- fp32's floor: each of those roundings, and those that follow them, also loses up to 2**-149 where it lands
  among the subnormals, which a later scale multiplies back: (1 + sB) · 2**-149 at the end of K, or the larger
  of two whole tensors' scales in place of sB; inside the K loop sA·sB itself may be one, and loses 2**-149 of
  what it multiplies, Σ|codes A|·|codes B|.
- D: half an ulp of its format and the same again of the error so far.
"""

import numpy as np
import torch

from fp8core.formats import FORMATS
from fp8core.linear import Side
from kernels.device import DeviceKind
from kernels.gemm.launch import factor
from kernels.gemm.numerics import ScaleAt
from kernels.gemm.plan import GemmPlan
from kernels.quantize.tensor import QuantizedTensor
from tests.kernels.cases import ON_GPU, WHERE

KIND = DeviceKind.GPU if ON_GPU else DeviceKind.INTERPRETER
HALF_ULP = 2.0**-24
LEAST = 2.0**-149


Operand = QuantizedTensor | torch.Tensor


def exact(operand: Operand) -> np.ndarray:
    """float64[rows, K]: an operand's values."""
    if isinstance(operand, torch.Tensor):
        return operand.double().cpu().numpy()
    return operand.exact_operand(0, operand.operand_shape[0]).cpu().numpy()


def finite(x: np.ndarray) -> np.ndarray:
    """x with zeros for what is no number: what such a factor gives of D is no number either."""
    return np.nan_to_num(x, posinf=0.0, neginf=0.0)


def codes(operand: Operand) -> np.ndarray:
    """float64[rows, K]: the sizes of an operand's codes without scales, or of its bf16 numbers."""
    if isinstance(operand, torch.Tensor):
        return np.abs(finite(exact(operand)))
    stored = operand.unpacked_codes().cpu().numpy()
    values = operand.spec.format.decode(stored.T if operand.operand.k_is_rows else stored)
    return np.abs(finite(values))


def bound(a: Operand, b: Operand, plan: GemmPlan) -> np.ndarray:
    """float64[M, N], as the file's docstring derives it."""
    left, right = finite(exact(a)), finite(exact(b))
    size = np.abs(left) @ np.abs(right).T
    k = left.shape[1]
    if KIND is DeviceKind.GPU:
        summed = plan.numerics.accumulator.error_bound(left, right)
    else:
        summed = k * HALF_ULP / (1 - k * HALF_ULP) * size
    roundings = 2 + plan.blocks.splits(k)[0]
    error = summed + roundings * HALF_ULP * (size + summed)
    if plan.numerics.scale_at is ScaleAt.K_LOOP:
        error = error + LEAST * (1 + codes(a) @ codes(b).T)
    elif plan.numerics.scales_at_end:
        later = (Side.A, Side.B) if plan.numerics.has_two_scales else (Side.B,)
        scales = (factor(a if side is Side.A else b, plan, KIND, side).scale for side in later)
        largest = max(np.nan_to_num(scale.double().cpu().numpy()).max(initial=0.0) for scale in scales)
        error = error + LEAST * (1 + largest)
    half = 2.0 ** -(plan.numerics.spec.out.mantissa_bits + 1)
    return error + half * (np.abs(left @ right.T) + error) + plan.numerics.spec.out.min_subnormal


def poisoned(plan: GemmPlan, m: int, n: int) -> torch.Tensor:
    dtype = torch.bfloat16 if plan.numerics.spec.out == FORMATS["bf16"] else torch.float32
    return torch.full((m, n), torch.nan, dtype=dtype, device=WHERE)


def assert_within_bound(out: torch.Tensor, a: Operand, b: Operand, plan: GemmPlan) -> None:
    with np.errstate(invalid="ignore"):
        truth = exact(a) @ exact(b).T
    got = out.double().cpu().numpy()
    np.testing.assert_array_equal(np.isnan(got), np.isnan(truth))
    endless = np.isinf(truth)
    np.testing.assert_array_equal(got[endless], truth[endless])
    error = np.nan_to_num(np.abs(np.where(endless, 0, got) - np.where(endless, 0, truth)))
    over = error > bound(a, b, plan)
    assert not over.any(), f"{over.sum()} of {over.size} beyond the bound, by up to {error[over].max()}"
