"""What our own kernels return, predicted bit for bit on sampled outputs from operands and the plan.

The order of operations is that of kernels.gemm.simple.kernel: partial sums by the tensor core's model, then
    K loop    acc = fma(partial, fl32(sA · sB), acc)   at every promotion
    epilogue  fl32(fl32(acc · sA) · sB)
    operands  the values themselves, in bf16, through the bf16 tensor core; outer scales as in the epilogue
and one rounding to the out format. Where K is split, each run is such a sum from zero, and fp32 sums of the
runs, first to last, come before the epilogue. Under a plan that refolds, codes and scales are the refolded
ones.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from fp8core.accumulators import ACCUMULATORS, Accumulator, matmul
from fp8core.accumulators.terms import fp32_sum
from fp8core.linear import Side
from fp8core.packing import unpack
from fp8core.tiles import WHOLE, TileGrid
from kernels.bench.row import Prediction
from kernels.gemm.blocks import Body
from kernels.gemm.factor import GemmOperand
from kernels.gemm.hopper.decoding.blocks import values_order
from kernels.gemm.hopper.order import shared
from kernels.gemm.launch import as_planned, operand_shape
from kernels.gemm.meaning import Arithmetic, Meaning, ScaleAt
from kernels.gemm.plan import GemmPlan
from kernels.quantize import QuantizedTensor

if TYPE_CHECKING:
    import torch

SAMPLED = 48
"""Rows and columns of D that are predicted: seconds of numpy at the largest K."""

_ROWS_AT_ONCE = 12
_TWO_A_BYTE = 4
_HOPPER = (9, 0)


@dataclass(frozen=True)
class Sample:
    """Some rows of an operand [mn, K] on the host.

    - numbers: float64[rows, K], what the tensor core multiplies: values of codes, with the scales that go
      onto them; or bf16 numbers.
    - scale: float32[rows, k_tiles], what sums are multiplied by, one for each tile_k; ones where nothing is.
    """

    numbers: NDArray[np.float64]
    scale: NDArray[np.float32]
    tile_k: int

    @classmethod
    def of(cls, operand: GemmOperand, rows: "torch.Tensor", side: Side, meaning: Meaning) -> "Sample":
        """Those rows of one operand of a matmul."""
        import torch

        ones, (_, k) = np.ones((len(rows), 1), np.float32), operand_shape(operand)
        if isinstance(operand, torch.Tensor):
            return cls(operand[rows].double().cpu().numpy(), ones, k)
        numbers = _decoded(operand, rows)
        own = _expanded(operand.scale_values, operand.grid, operand, rows)
        if not meaning.on_codes(side):
            return cls(numbers, *own)
        scale, tile_k = own
        numbers = numbers * np.repeat(scale.astype(np.float64), tile_k, 1)[:, :k]
        outer = operand.operand.outer_grid(operand.shape)
        if outer is None or operand.outer_scale is None:
            return cls(numbers, ones, k)
        return cls(numbers, *_expanded(operand.outer_scale, outer, operand, rows))

    def values(self) -> NDArray[np.float64]:
        """float64[rows, K]: what the operand stands for, exactly."""
        return self.numbers * np.repeat(self.scale, self.tile_k, 1)[:, : self.numbers.shape[1]]


def _decoded(operand: QuantizedTensor, rows: "torch.Tensor") -> NDArray[np.float64]:
    """float64[rows, K]: the values of an operand's codes, without any scale."""
    packed, bits = operand.operand_bytes[rows].cpu().numpy(), operand.spec.format.packed_bits
    codes = unpack(packed, bits, packed.shape[1] * 8 // bits)
    return operand.spec.format.decode(codes[:, : operand.operand_shape[1]])


def _expanded(
    scale: "torch.Tensor", grid: TileGrid, operand: QuantizedTensor, rows: "torch.Tensor"
) -> tuple[NDArray[np.float32], int]:
    """(float32[rows, k_tiles], the extent of a tile along K) of scales over the stored tensor."""
    tile_mn, tile_k = operand.operand.stored(grid.extents)
    turned = scale.T if operand.operand.k_is_rows else scale
    return turned[rows // tile_mn].cpu().numpy(), tile_k


def predictable(plan: GemmPlan, capability: tuple[int, int] | None) -> bool:
    """True if the models cover this plan on a GPU of this compute capability."""
    return capability == _HOPPER and plan.meaning.arithmetic is not Arithmetic.NATIVE_MX


def predict(plan: GemmPlan, a: Sample, b: Sample) -> NDArray[np.float32]:
    """float32[rows of a, rows of b]: the outputs, as numbers of the plan's out format."""
    total = _sum(plan, a, b)
    if plan.meaning.scales_at_end:
        total = (total * a.scale[:, :1]) * b.scale[:, 0]
    out = plan.meaning.spec.out
    return out.decode(out.encode(total)).astype(np.float32)


def predict_at(
    plan: GemmPlan,
    a: Sample,
    b: Sample,
    mn: tuple[int, int],
    rows: NDArray[np.int64],
    columns: NDArray[np.int64],
) -> NDArray[np.float32]:
    """float32[rows, columns]: the outputs at these places of D [mn], as numbers of the plan's out format.

    Where persistent programs share only their last blocks, the place decides whether K is split.
    """
    predicted = predict(plan, a, b)
    if not plan.blocks.shares_last:
        return predicted
    alone = predict(replace(plan, blocks=replace(plan.blocks, split_k=1)), a, b)
    return np.where(shared(plan.blocks, mn, plan.sms, rows, columns), predicted, alone)


def _sum(plan: GemmPlan, a: Sample, b: Sample) -> NDArray[np.float32]:
    """The sum over all of K: each run is summed by itself, then the runs are added, first to last."""
    left, right = (_in_order(plan, x.numbers) for x in (a, b))
    k = left.shape[1]
    _, steps = plan.blocks.runs(k)
    length = steps * plan.blocks.block_k
    parts = (slice(start, min(start + length, k)) for start in range(0, max(k, 1), length))
    if plan.meaning.scale_at is ScaleAt.K_LOOP:
        sums = (_scaled_in_loop(plan, a, b, part) for part in parts)
    else:
        sums = (_multiplied(plan, left[:, part], right[:, part], plan.meaning.accumulator) for part in parts)
    total = next(sums)
    for more in sums:
        total = total + more
    return total


def _in_order(plan: GemmPlan, numbers: NDArray[np.float64]) -> NDArray[np.float64]:
    """float64[rows, K or more]: an operand's numbers in the order along K in which they are multiplied.

    Codes of 4 bits that a kernel decodes in registers come two in a byte: of 32, the even ones come first.
    Within 16 the order is free, because the tensor core adds 16 products at once.
    """
    if plan.body is not Body.DECODING or values_order(plan.meaning, plan.blocks) != _TWO_A_BYTE:
        return numbers
    run = 2 * ACCUMULATORS["hopper_bf16"].fused_products
    rows, k = numbers.shape
    padded = np.zeros((rows, -(-k // run) * run))
    padded[:, :k] = numbers
    return padded.reshape(rows, -1, run // 2, 2).swapaxes(2, 3).reshape(rows, -1)


def _multiplied(
    plan: GemmPlan, a: NDArray[np.float64], b: NDArray[np.float64], accumulator: Accumulator
) -> NDArray[np.float32]:
    """The tensor core's sum of products of these numbers."""
    formats = plan.meaning.multiplied
    codes = (format_.encode(x) for x, format_ in zip((a, b), formats, strict=True))
    return matmul(*codes, *formats, accumulator)


def _scaled_in_loop(plan: GemmPlan, a: Sample, b: Sample, run: slice) -> NDArray[np.float32]:
    """A run's sum: each stretch of K is summed by itself and joins by one fused multiply-add."""
    total = np.zeros((a.numbers.shape[0], b.numbers.shape[0]))
    accumulator = replace(plan.meaning.accumulator, promotion=WHOLE)
    for start in range(run.start, run.stop, plan.meaning.promotion):
        part = slice(start, min(start + plan.meaning.promotion, run.stop))
        partial = _multiplied(plan, a.numbers[:, part], b.numbers[:, part], accumulator)
        scale = np.multiply.outer(a.scale[:, start // a.tile_k], b.scale[:, start // b.tile_k])
        total = fp32_sum([partial.astype(np.float64) * scale.astype(np.float64), total])
    return total.astype(np.float32)


def check(
    plan: GemmPlan,
    a: GemmOperand,
    b: GemmOperand,
    out: "torch.Tensor",
    seed: int,
    sampled: int = SAMPLED,
    between: Callable[[], None] = lambda: None,
) -> Prediction:
    """Predict up to sampled × sampled outputs and compare their bits; any NaN equals any NaN.

    The seed draws the rows and columns. A and B are the arguments of gemm. `between()` is called before each
    few rows.
    """
    import torch

    a, b = as_planned(plan, a, b)
    rng = np.random.default_rng(seed)
    rows, columns = (np.sort(rng.choice(size, min(size, sampled), replace=False)) for size in out.shape)
    rows_there, columns_there = (torch.from_numpy(x).to(out.device) for x in (rows, columns))
    got = out[rows_there][:, columns_there].float().cpu().numpy()
    across, down = Sample.of(b, columns_there, Side.B, plan.meaning), []
    for some in rows_there.split(_ROWS_AT_ONCE):
        between()
        left = Sample.of(a, some, Side.A, plan.meaning)
        down.append(predict_at(plan, left, across, tuple(out.shape), some.cpu().numpy(), columns))
    predicted = np.concatenate(down)
    both_nan = np.isnan(got) & np.isnan(predicted)
    same = (got.view(np.uint32) == predicted.view(np.uint32)) | both_nan
    first = ""
    if not same.all():
        m, n = np.argwhere(~same)[0]
        first = f"D[{rows[m]}, {columns[n]}]: the model says {predicted[m, n]!s}, the GPU {got[m, n]!s}"
    return Prediction(outputs=same.size, equal=int(same.sum()), first_difference=first)
