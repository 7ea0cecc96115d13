"""What our own kernels return, predicted bit for bit on sampled outputs from codes, scales and the plan.

The order of operations is that of kernels.gemm.simple.kernel: partial sums by the tensor core's model, then
    K loop    acc = fma(partial, fl32(sA · sB), acc)   at every promotion
    epilogue  fl32(fl32(acc · sA) · sB)
    operands  the values themselves, in bf16, through the bf16 tensor core
and one rounding to the out format. Where K is split, each run is such a sum from zero, and fp32 sums of the
runs, first to last, come before the epilogue. Under a plan that refolds, codes and scales are the refolded
ones.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from fp8core.accumulators import ACCUMULATORS, matmul
from fp8core.accumulators.steps import fp32_sum
from fp8core.formats import FORMATS
from fp8core.tiles import WHOLE
from kernels.bench.row import Prediction
from kernels.gemm.launch import as_planned
from kernels.gemm.meaning import Arithmetic, ScaleAt
from kernels.gemm.plan import GemmPlan
from kernels.quantize import QuantizedTensor

if TYPE_CHECKING:
    import torch

SAMPLED = 48
"""Rows and columns of D that are predicted: seconds of numpy at the largest K."""

_HOPPER = (9, 0)


@dataclass(frozen=True)
class Sample:
    """Some rows of an operand [mn, K] on the host: codes uint8[rows, K], scale float32[rows, k_tiles]."""

    codes: NDArray[np.uint8]
    scale: NDArray[np.float32]
    tile_k: int

    @classmethod
    def of(cls, operand: QuantizedTensor, rows: "torch.Tensor") -> "Sample":
        import torch

        tile_mn, tile_k = operand.operand_extents
        codes = operand.operand_codes[rows].view(torch.uint8).cpu().numpy()
        scale = operand.operand_scale[rows // tile_mn].cpu().numpy()
        return cls(codes, scale, tile_k)

    def values(self, decoded: NDArray[np.float64]) -> NDArray[np.float64]:
        """float64[rows, K]: code · scale, exactly."""
        return decoded * np.repeat(self.scale, self.tile_k, 1)[:, : decoded.shape[1]]


def predictable(plan: GemmPlan, capability: tuple[int, int] | None) -> bool:
    """True if the models cover this plan on a GPU of this compute capability."""
    return capability == _HOPPER and plan.meaning.arithmetic is not Arithmetic.NATIVE_MX


def predict(plan: GemmPlan, a: Sample, b: Sample) -> NDArray[np.float32]:
    """float32[rows of a, rows of b]: the outputs, as numbers of the plan's out format."""
    total = _sum(plan, a, b)
    if plan.meaning.scale_at is ScaleAt.EPILOGUE:
        total = (total * a.scale[:, :1]) * b.scale[:, 0]
    out = plan.meaning.spec.out
    return out.decode(out.encode(total)).astype(np.float32)


def _sum(plan: GemmPlan, a: Sample, b: Sample) -> NDArray[np.float32]:
    """The sum over all of K: each run is summed by itself, then the runs are added, first to last."""
    k = a.codes.shape[1]
    _, steps = plan.blocks.runs(k)
    length = steps * plan.blocks.block_k
    total = _sum_of_run(plan, a, b, 0, min(length, k))
    for start in range(length, k, length):
        total = total + _sum_of_run(plan, a, b, start, min(start + length, k))
    return total


def _sum_of_run(plan: GemmPlan, a: Sample, b: Sample, start: int, stop: int) -> NDArray[np.float32]:
    a_format, b_format = plan.meaning.spec.a.format, plan.meaning.spec.b.format
    part = slice(start, stop)
    if plan.meaning.arithmetic is Arithmetic.DEQUANTIZED:
        bf16 = FORMATS["bf16"]
        values = (x.values(f.decode(x.codes))[:, part] for x, f in ((a, a_format), (b, b_format)))
        return matmul(*(bf16.encode(x) for x in values), bf16, bf16, plan.meaning.accumulator)
    if plan.meaning.scale_at is ScaleAt.EPILOGUE:
        return matmul(a.codes[:, part], b.codes[:, part], a_format, b_format, plan.meaning.accumulator)
    return _scaled_in_loop(plan, a, b, start, stop)


def _scaled_in_loop(plan: GemmPlan, a: Sample, b: Sample, first: int, stop: int) -> NDArray[np.float32]:
    total = np.zeros((a.codes.shape[0], b.codes.shape[0]))
    step = stop - first if plan.meaning.promotion is WHOLE else plan.meaning.promotion
    for start in range(first, stop, step):
        part = slice(start, min(start + step, stop))
        partial = matmul(
            a.codes[:, part],
            b.codes[:, part],
            plan.meaning.spec.a.format,
            plan.meaning.spec.b.format,
            ACCUMULATORS["hopper_fast"],
        )
        scale = np.multiply.outer(a.scale[:, start // a.tile_k], b.scale[:, start // b.tile_k])
        total = fp32_sum([partial.astype(np.float64) * scale.astype(np.float64), total])
    return total.astype(np.float32)


def check(
    plan: GemmPlan,
    a: QuantizedTensor,
    b: QuantizedTensor,
    out: "torch.Tensor",
    seed: int,
    sampled: int = SAMPLED,
) -> Prediction:
    """Predict up to sampled × sampled outputs and compare their bits; any NaN equals any NaN.

    The seed draws the rows and columns. A and B are the arguments of gemm.
    """
    import torch

    a, b = as_planned(plan, a, b)
    rng = np.random.default_rng(seed)
    rows, columns = (np.sort(rng.choice(size, min(size, sampled), replace=False)) for size in out.shape)
    rows_there, columns_there = (torch.from_numpy(x).to(out.device) for x in (rows, columns))
    got = out[rows_there][:, columns_there].float().cpu().numpy()
    predicted = predict(plan, Sample.of(a, rows_there), Sample.of(b, columns_there))
    both_nan = np.isnan(got) & np.isnan(predicted)
    same = (got.view(np.uint32) == predicted.view(np.uint32)) | both_nan
    first = ""
    if not same.all():
        m, n = np.argwhere(~same)[0]
        first = f"D[{rows[m]}, {columns[n]}]: the model says {predicted[m, n]!s}, the GPU {got[m, n]!s}"
    return Prediction(outputs=same.size, equal=int(same.sum()), first_difference=first)
