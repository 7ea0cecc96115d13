"""One element of D of a GEMM: its row of A, its column of B, and the sums along K."""

from dataclasses import dataclass

import numpy as np
from ml_dtypes import bfloat16

from fp8core.arrays import Float64
from fp8core.inputs import InputKind, draw_operand
from fp8core.linear import MATMULS, Matmul, Side
from fp8core.quantize import prepared, quantize_part, random_of, scales
from fp8core.recipes import RECIPES, Operand
from fp8core.recipes.text import own_recipe

MOST = 2**26
"""Numbers of A and B together: more take too long for one element."""


@dataclass(frozen=True, kw_only=True)
class ElementSum:
    """float64[K] each: a row of A and a column of B in bf16, and quantized by the reference."""

    a: Float64
    b: Float64
    a_rounded: Float64
    b_rounded: Float64

    @property
    def exact(self) -> Float64:
        return np.cumsum(self.a * self.b)

    @property
    def rounded(self) -> Float64:
        return np.cumsum(self.a_rounded * self.b_rounded)


def element_sum(
    recipe: str, matmul: str, mnk: tuple[int, int, int], kind: str, seed: int, element: tuple[int, int]
) -> ElementSum:
    """Element (m, n) of D[M, N] = A · B, with the draws of kernels.measure.

    `recipe` is a name or a line. Raises ValueError for more than MOST numbers.
    """
    m, n, k = mnk
    if (m + n) * k > MOST:
        raise ValueError(f"the sum of one element needs at most {MOST:,} numbers, got {(m + n) * k:,}")
    plays = MATMULS[matmul]
    data = RECIPES[recipe] if recipe in RECIPES else own_recipe(recipe)
    lines = [
        _lines(plays, side, data.operand(plays, side), mnk, InputKind(kind), 2 * seed + number, at)
        for number, (side, at) in enumerate(zip(Side, element, strict=True))
    ]
    (a, a_rounded), (b, b_rounded) = lines
    return ElementSum(a=a, b=b, a_rounded=a_rounded, b_rounded=b_rounded)


def _lines(
    matmul: Matmul,
    side: Side,
    operand: Operand | None,
    mnk: tuple[int, int, int],
    kind: InputKind,
    seed: int,
    at: int,
) -> tuple[Float64, Float64]:
    layer, tensor, k_is_rows = matmul.layer(*mnk), matmul.operand(side), matmul.k_is_rows(side)
    x = draw_operand(kind, tensor, layer.of(tensor), seed, fan_in=layer.in_)
    x = x.astype(bfloat16).astype(np.float32)
    line = slice(at, at + 1)
    rows, columns = (slice(0, x.shape[0]), line) if k_is_rows else (line, slice(0, x.shape[1]))
    exact = x[rows, columns].ravel().astype(np.float64)
    if operand is None:
        return exact, exact
    of_tensor, random = scales(x, operand), random_of(operand, x.shape, seed)
    codes = quantize_part(prepared(x, operand), operand, of_tensor.effective, rows, columns, random)
    ends = zip((rows, columns), operand.grid(x.shape).extents, strict=True)
    of_line = of_tensor.exact[np.ix_(*(np.arange(part.start, part.stop) // extent for part, extent in ends))]
    return exact, (operand.spec.format.decode(codes) * of_line).ravel()
