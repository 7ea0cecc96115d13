"""One weight, two readers: do Fprop and Dgrad see equal numbers?

Fprop sums over `in`, Dgrad over `out`. Tiles longer along K turn with K: the weight is quantized twice, and
the gradient belongs to another weight than the forward pass used.
"""

from dataclasses import dataclass

import numpy as np

from fp8core.arrays import Float32, Float64
from fp8core.experiments.read_back import read_back
from fp8core.linear import DGRAD, FPROP, LayerTensor
from fp8core.recipes import Operand, OperandSpec, Recipe
from fp8core.recipes.operand import same_copy


@dataclass(frozen=True, kw_only=True)
class Disagreement:
    """Elements that the two readers see as different, and as zero for one only.

    `rel_err`: ‖Dgrad's - Fprop's‖ / ‖w‖.
    """

    elements: int
    differ: int
    zero_in_one: int
    rel_err: float


def weight_readers(recipe: Recipe) -> tuple[Operand | None, Operand | None]:
    """The weight as Fprop and as Dgrad have it."""
    fprop, dgrad = (recipe.operand(matmul, matmul.side_of(LayerTensor.W)) for matmul in (FPROP, DGRAD))
    return fprop, dgrad


def spec_readers(spec: OperandSpec) -> tuple[Operand, Operand]:
    """A weight that both matmuls quantize by one spec, each along its own K."""
    fprop, dgrad = (
        Operand(spec=spec, k_is_rows=matmul.k_is_rows(matmul.side_of(LayerTensor.W)))
        for matmul in (FPROP, DGRAD)
    )
    return fprop, dgrad


def copies(readers: tuple[Operand | None, Operand | None]) -> tuple[Operand | None, ...]:
    """Copies of the weight that the readers need: one for equal codes and scales."""
    first, second = readers
    if first is None or second is None:
        return (first,) if first is second else readers
    return (first,) if same_copy(first) == same_copy(second) else readers


def disagreement(w: Float32, readers: tuple[Operand | None, Operand | None], seed: int = 0) -> Disagreement:
    """Compare two readers of w: float32[out, in], rotated back; None reads w itself.

    Raises ValueError if all of w is zero.
    """
    if not w.any():
        raise ValueError("an all-zero weight is the same for every reader")
    first, second = (_values_read(w, operand, seed) for operand in readers)
    return Disagreement(
        elements=w.size,
        differ=int(np.count_nonzero(first != second)),
        zero_in_one=int(np.count_nonzero((first == 0) != (second == 0))),
        rel_err=float(np.linalg.norm(first - second) / np.linalg.norm(w.astype(np.float64))),
    )


def _values_read(w: Float32, operand: Operand | None, seed: int) -> Float64:
    if operand is None:
        return w.astype(np.float64)
    tensor = read_back(w, operand, seed)
    return tensor.in_place(tensor.values)
