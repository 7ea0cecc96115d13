"""Error of a layer's results y, dx and dw under a recipe.

Products are summed in float64, so the error is the operands'; fp8core.accumulators has the tensor core's. An
operand in bf16 has no error.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from fp8core.arrays import Float32, Float64, Floats
from fp8core.errors import rel_err
from fp8core.experiments.read_back import read_back
from fp8core.linear import MATMULS, LayerTensor, Matmul, Side
from fp8core.recipes import Recipe

Tensors = Mapping[LayerTensor, Float32]


@dataclass(frozen=True, kw_only=True)
class ResultError:
    """‖result - truth‖ / ‖truth‖, and 1 - cosine of their angle."""

    rel_err: float
    off_cosine: float

    @property
    def cosine(self) -> float:
        return 1.0 - self.off_cosine


def product(matmul: Matmul, operands: Mapping[Side, Floats]) -> Float64:
    a, b = (operands[side].astype(np.float64, copy=False) for side in Side)
    a = a.T if matmul.k_is_rows(Side.A) else a
    b = b if matmul.k_is_rows(Side.B) else b.T
    return a @ b


def truths(tensors: Tensors) -> dict[str, Float64]:
    return {
        name: product(matmul, {side: tensors[matmul.operand(side)] for side in Side})
        for name, matmul in MATMULS.items()
    }


def layer_errors(
    recipe: Recipe, tensors: Tensors, exact: Mapping[str, Float64], seed: int = 0
) -> dict[str, ResultError]:
    """Error of each matmul by name; `exact` has the `truths`.

    `seed` draws the bits of stochastic rounding, different ones for each operand.
    """
    values: dict[object, Floats] = {}
    errors = {}
    for name, matmul in MATMULS.items():
        operands = {}
        for place, side in enumerate(Side):
            tensor, operand = matmul.operand(side), recipe.operand(matmul, side)
            if operand is None:
                operands[side] = tensors[tensor]
                continue
            own_seed = len(Side) * (len(MATMULS) * seed + list(MATMULS).index(name)) + place
            key = tensor, operand, own_seed if operand.spec.is_random else 0
            if key not in values:
                values[key] = read_back(tensors[tensor], operand, own_seed).values
            operands[side] = values[key]
        errors[name] = result_error(product(matmul, operands), exact[name])
    return errors


def result_error(result: Float64, truth: Float64) -> ResultError:
    """Compare two results of one shape.

    1 - cosine comes from the unit vectors' difference: a cosine near 1 has no digits left.
    """
    sizes = [float(np.linalg.norm(part)) for part in (result, truth)]
    if 0.0 in sizes:
        off = 0.0 if sizes[0] == sizes[1] else 1.0
    else:
        apart = result / sizes[0] - truth / sizes[1]
        off = float(np.vdot(apart, apart)) / 2
    return ResultError(rel_err=rel_err(result, truth), off_cosine=off)
