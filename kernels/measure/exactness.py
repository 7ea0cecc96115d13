"""Errors of a result against fp64, and our own kernels' bits predicted from operands and the plan.

The order of operations is that of kernels.gemm.simple.kernel: partial sums by the tensor core's model, then
    K loop    acc = fma(partial, fl32(sA · sB), acc)   at every promotion
    epilogue  fl32(fl32(acc · sA) · sB), the smaller one first where both are of whole tensors
    operands  the values themselves, in bf16, through the bf16 tensor core; outer scales as in the epilogue
and one rounding to the out format. With split-K, each part of K is such a sum from zero, and fp32 sums of the
parts, first to last, come before the epilogue. A plan that refolds has the refolded codes and scales.
"""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import numpy as np
import torch
from numpy.typing import NDArray

from fp8core.accumulators import ACCUMULATORS, Accumulator, matmul
from fp8core.accumulators.terms import fp32_sum
from fp8core.linear import Side
from fp8core.packing import unpack
from fp8core.tiles import WHOLE, TileGrid
from kernels.device import HOPPER
from kernels.gemm.blocks import Variant
from kernels.gemm.factor import GemmOperand
from kernels.gemm.hopper.decoding.blocks import values_order
from kernels.gemm.launch import as_planned, operand_shape
from kernels.gemm.numerics import Arithmetic, Numerics, ScaleAt
from kernels.gemm.plan import GemmPlan
from kernels.measure.jobs import BANDS, CAREFUL_FLOP
from kernels.measure.rows import Errors, Prediction, Worst
from kernels.quantize import QuantizedTensor

WORST = 8

_BLOCK, _NUMBERS = 2048, 2**25
"""Rows and columns of D, and numbers of A, at a time: a hundred small blocks take 60 ms to launch."""
_PRODUCTS = 2


def errors(
    result: torch.Tensor,
    a: torch.Tensor,
    b: torch.Tensor,
    a_codes: GemmOperand,
    b_codes: GemmOperand,
    *,
    flop_limit: int | None = None,
    between: Callable[[], None] = lambda: None,
) -> Errors:
    """Errors of result [M, N] against a [M, K] · b [N, K]ᵀ and against the product of the quantized operands.

    All products and sums are in fp64. Beyond `flop_limit` (default CAREFUL_FLOP) bands are left out; the map
    covers the others, in four digits. `between()` is called before each block of bands.
    """
    m, n = result.shape
    tall, wide = max(1, -(-m // BANDS)), max(1, -(-n // BANDS))
    work = 2 * _PRODUCTS * m * n * a.shape[1]
    every = max(1, -(-work // (flop_limit or CAREFUL_FLOP)))
    columns = wide * max(1, _BLOCK // wide)
    together = max(1, min(_BLOCK, _NUMBERS // max(1, a.shape[1])) // tall) if every == 1 else 1
    squares = torch.zeros(4, dtype=torch.float64, device=result.device)
    bands: list[list[float]] = []
    worst: list[Worst] = []
    rows = 0
    for top in range(0, m, tall * every * together):
        between()
        bottom = min(top + tall * together, m)
        rows, block = rows + bottom - top, [squares.new_zeros(-(-(bottom - top) // tall), 0)]
        left, left_codes = a[top:bottom].double(), exact_rows(a_codes, top, bottom)
        for start in range(0, n, columns):
            stop = min(start + columns, n)
            truth = left @ b[start:stop].double().T
            exact = left_codes @ exact_rows(b_codes, start, stop).T
            own = result[top:bottom, start:stop].double()
            error = (own - truth).abs()
            parts = (error, exact - truth, own - exact, truth)
            squares += torch.stack([part.square().sum() for part in parts])
            patches = torch.nn.functional.pad(error, (0, (start - stop) % wide, 0, (top - bottom) % tall))
            block.append(patches.unflatten(0, (-1, tall)).unflatten(2, (-1, wide)).amax((1, 3)))
            worst += _largest(error, truth, own, top, start)
            worst = sorted(worst, key=lambda one: -abs(one.result - one.truth))[:WORST]
        bands += torch.cat(block, 1).tolist()
    error, quantization, kernel, truth = squares.sqrt().tolist()
    rms = (truth / math.sqrt(rows * n) if rows * n else 0.0) or 1.0
    return Errors(
        rel_err=_ratio(error, truth),
        quantization_rel_err=_ratio(quantization, truth),
        kernel_rel_err=_ratio(kernel, truth),
        error_map=tuple(tuple(float(f"{patch / rms:.4g}") for patch in band) for band in bands),
        worst=tuple(worst),
        rows=rows,
    )


def _largest(
    error: torch.Tensor, truth: torch.Tensor, own: torch.Tensor, top: int, left: int
) -> Iterator[Worst]:
    places = error.flatten().topk(min(WORST, error.numel())).indices
    rows, columns = places // error.shape[1], places % error.shape[1]
    elements = torch.stack([rows + top, columns + left, truth[rows, columns], own[rows, columns]]).T
    yield from (Worst(m=int(i), n=int(j), truth=t, result=r) for i, j, t, r in elements.tolist())


def exact_rows(operand: GemmOperand, start: int, stop: int) -> torch.Tensor:
    """float64[stop - start, K]: rows of an operand, exactly."""
    if isinstance(operand, QuantizedTensor):
        return operand.exact_operand(start, stop)
    return operand[start:stop].double()


def _ratio(error: float, size: float) -> float:
    """error / size: 0 without an error, infinite for an error on a truth of zero."""
    return 0.0 if error == 0 else error / size if size else math.inf


def bits(x: torch.Tensor) -> torch.Tensor:
    """The bit patterns of a tensor, so that NaN equals itself."""
    return x.view({1: torch.uint8, 2: torch.int16, 4: torch.int32}[x.itemsize])


_NEAR = 1 / 8


def is_near(result: torch.Tensor, truth: torch.Tensor) -> bool:
    """True where D is within the rounding of another order along K, and no part of K is missing."""
    truth = truth.float()
    return bool((result.float() - truth).abs().max() <= _NEAR * truth.square().mean().sqrt())


SAMPLED = 48
"""Rows and columns of D that are predicted: seconds of numpy at the largest K."""

_ROWS_AT_ONCE = 12
_TWO_A_BYTE = 4


@dataclass(frozen=True)
class Sample:
    """Rows of an operand [mn, K] on the host.

    - numbers: float64[rows, K], operands of the tensor core: bf16, or values of codes with the scales that go
      onto them.
    - scale: float32[rows, k_tiles], factors of the sums, one for each tile_k; ones where there are none.
    """

    numbers: NDArray[np.float64]
    scale: NDArray[np.float32]
    tile_k: int

    @classmethod
    def of(cls, operand: GemmOperand, rows: torch.Tensor, side: Side, numerics: Numerics) -> "Sample":
        ones, (_, k) = np.ones((len(rows), 1), np.float32), operand_shape(operand)
        if isinstance(operand, torch.Tensor):
            return cls(operand[rows].double().cpu().numpy(), ones, k)
        packed, bits = operand.operand_bytes[rows].cpu().numpy(), operand.spec.format.packed_bits
        codes = unpack(packed, bits, packed.shape[1] * 8 // bits)[:, :k]
        scale = _expanded(operand.scale_values, operand.grid, operand, rows)
        sample = cls(operand.spec.format.decode(codes), *scale)
        if not numerics.on_codes(side):
            return sample
        outer = operand.operand.outer_grid(operand.shape)
        if outer is None or operand.outer_scale is None:
            return cls(sample.values(), ones, k)
        return cls(sample.values(), *_expanded(operand.outer_scale, outer, operand, rows))

    def values(self) -> NDArray[np.float64]:
        return self.numbers * np.repeat(self.scale, self.tile_k, 1)[:, : self.numbers.shape[1]]


def _expanded(
    scale: torch.Tensor, grid: TileGrid, operand: QuantizedTensor, rows: torch.Tensor
) -> tuple[NDArray[np.float32], int]:
    """(float32[rows, k_tiles], tile_k) of scales over the stored tensor."""
    tile_mn, tile_k = operand.operand.stored(grid.extents)
    turned = scale.T if operand.operand.k_is_rows else scale
    return turned[rows // tile_mn].cpu().numpy(), tile_k


def predictable(plan: GemmPlan, capability: tuple[int, int] | None) -> bool:
    return capability == HOPPER.capability and plan.numerics.arithmetic is not Arithmetic.NATIVE_MX


def predict(plan: GemmPlan, a: Sample, b: Sample) -> NDArray[np.float32]:
    """float32[rows of a, rows of b]: outputs, as numbers of the plan's out format."""
    total = _sum(plan, a, b)
    if plan.numerics.scales_at_end:
        first, second = a.scale[:, :1], b.scale[:, 0]
        if plan.numerics.has_two_scales and second.min(initial=np.inf) < first.min(initial=np.inf):
            first, second = second, first
        total = (total * first) * second
    out = plan.numerics.spec.out
    return out.decode(out.encode(total)).astype(np.float32)


def _sum(plan: GemmPlan, a: Sample, b: Sample) -> NDArray[np.float32]:
    left, right = (_in_order(plan, x.numbers) for x in (a, b))
    k = left.shape[1]
    _, steps = plan.blocks.splits(k)
    length = steps * plan.blocks.block_k
    parts = (slice(start, min(start + length, k)) for start in range(0, max(k, 1), length))
    if plan.numerics.scale_at is ScaleAt.K_LOOP:
        sums = (_scaled_in_loop(plan, a, b, part) for part in parts)
    else:
        sums = (_multiplied(plan, left[:, part], right[:, part], plan.numerics.accumulator) for part in parts)
    total = next(sums)
    for more in sums:
        total = total + more
    return total


def _in_order(plan: GemmPlan, numbers: NDArray[np.float64]) -> NDArray[np.float64]:
    """float64[rows, K or more]: numbers in the order along K in which they are multiplied.

    Codes of 4 bits that a kernel decodes in registers come two in a byte: of 32, the even ones come first.
    Within 16 the order is free, because the tensor core adds 16 products at once.
    """
    if plan.variant is not Variant.DECODING or values_order(plan.numerics, plan.blocks) != _TWO_A_BYTE:
        return numbers
    run = 2 * ACCUMULATORS["hopper_bf16"].fused_products
    rows, k = numbers.shape
    padded = np.zeros((rows, -(-k // run) * run))
    padded[:, :k] = numbers
    return padded.reshape(rows, -1, run // 2, 2).swapaxes(2, 3).reshape(rows, -1)


def _multiplied(
    plan: GemmPlan, a: NDArray[np.float64], b: NDArray[np.float64], accumulator: Accumulator
) -> NDArray[np.float32]:
    formats = plan.numerics.multiplied
    codes = (format_.encode(x) for x, format_ in zip((a, b), formats, strict=True))
    return matmul(*codes, *formats, accumulator)


def _scaled_in_loop(plan: GemmPlan, a: Sample, b: Sample, run: slice) -> NDArray[np.float32]:
    """One part of K: each promotion interval is summed alone and joins by one fused multiply-add."""
    total = np.zeros((a.numbers.shape[0], b.numbers.shape[0]))
    accumulator = replace(plan.numerics.accumulator, promotion=WHOLE)
    for start in range(run.start, run.stop, plan.numerics.promotion):
        part = slice(start, min(start + plan.numerics.promotion, run.stop))
        partial = _multiplied(plan, a.numbers[:, part], b.numbers[:, part], accumulator)
        scale = np.multiply.outer(a.scale[:, start // a.tile_k], b.scale[:, start // b.tile_k])
        total = fp32_sum([partial.astype(np.float64) * scale.astype(np.float64), total])
    return total.astype(np.float32)


@dataclass(frozen=True)
class Sampled:
    """Some outputs of D, float32[rows, columns] at these indices, and their operands."""

    plan: GemmPlan
    out: NDArray[np.float32]
    rows: NDArray[np.int64]
    columns: NDArray[np.int64]
    a: Sample
    b: Sample

    @classmethod
    def of(
        cls,
        plan: GemmPlan,
        a: GemmOperand,
        b: GemmOperand,
        out: torch.Tensor,
        seed: int,
        sampled: int = SAMPLED,
    ) -> "Sampled":
        """Up to sampled × sampled outputs that a seed draws. A and B are the arguments of gemm."""
        rng, places = np.random.default_rng(seed), []
        for size in out.shape:  # one row, or column, of each equal stretch: no block of D is left out
            edges = np.linspace(0, size, min(size, sampled) + 1).astype(np.int64)
            places.append(rng.integers(edges[:-1], edges[1:]))
        indices = [torch.from_numpy(x).to(out.device) for x in places]
        own = out[indices[0]][:, indices[1]].float().cpu().numpy()
        operands = zip(as_planned(plan, a, b), indices, Side, strict=True)
        return cls(
            plan, own, *places, *(Sample.of(x, rows, side, plan.numerics) for x, rows, side in operands)
        )

    def place(self, i: int, j: int) -> str:
        return f"D[{self.rows[i]}, {self.columns[j]}]"

    def prediction(self, between: Callable[[], None] = lambda: None) -> Prediction:
        """Compare their bits with the models'; any NaN equals any NaN."""
        parts = []
        for start in range(0, len(self.rows), _ROWS_AT_ONCE):
            between()
            some = slice(start, start + _ROWS_AT_ONCE)
            left = Sample(self.a.numbers[some], self.a.scale[some], self.a.tile_k)
            parts.append(predict(self.plan, left, self.b))
        model, own = np.concatenate(parts), self.out
        same = (own.view(np.uint32) == model.view(np.uint32)) | (np.isnan(own) & np.isnan(model))
        first = ""
        if not same.all():
            i, j = np.argwhere(~same)[0]
            first = f"{self.place(i, j)}: the model says {model[i, j]!s}, the GPU {own[i, j]!s}"
        return Prediction(outputs=same.size, equal=int(same.sum()), first_difference=first)
