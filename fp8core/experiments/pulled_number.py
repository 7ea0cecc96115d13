"""A small matmul of recorded numbers, in which one number of A is pulled up.

A is three rows of eight numbers of a recorded operand, B a column of the other, D = A · B. A and B are
rounded; sums are exact.
"""

from dataclasses import dataclass, replace
from enum import Enum
from functools import lru_cache

import numpy as np

from fp8core.arrays import Bools, Float32, Float64, UInt8
from fp8core.formats.float_format import FloatFormat
from fp8core.inputs.recorded import Part, Step, tensor
from fp8core.linear import MATMULS, WGRAD, Axis, Matmul, Side
from fp8core.quantize import quantize
from fp8core.recipes import MatmulSpec, Operand, OperandSpec
from fp8core.rounding import Rounding
from fp8core.tiles import WHOLE, TileShape

ROWS, K = 3, 8
PART, STEP = Part.GATE_UP, Step.LATE
FIRST_CHANNEL, FIRST_TOKEN, COLUMN = 41, 67, 90
"""Case of a search: rows 1 and 3 go wrong with one scale, and not with a scale a row."""

_ROW = TileShape(1, WHOLE)


class Scales(Enum):
    NONE = "none"
    ONE = "one"
    ROWS = "rows"


@dataclass(frozen=True, kw_only=True, eq=False)
class Numbers:
    """a: float32[ROWS, K] and b: float32[K], as recorded."""

    a: Float32
    b: Float32


@dataclass(frozen=True, kw_only=True, eq=False)
class Pulled:
    """The matmul in each of F cases.

    a: float32[F, ROWS, K]. values: float64[F, ROWS, K], of its codes: uint8[F, ROWS, K]. scale: float64[F,
    ROWS], 1 without a scale. sums, exact: float64[F, ROWS, K], running sums of products of rounded and of
    exact numbers.
    """

    a: Float32
    values: Float64
    codes: UInt8
    scale: Float64
    sums: Float64
    exact: Float64

    @property
    def is_lost(self) -> Bools:
        """bool[F, ROWS, K]: numbers that became 0."""
        return (self.values == 0) & (self.a != 0)


@lru_cache(maxsize=len(MATMULS))
def recorded(matmul: Matmul = WGRAD) -> Numbers:
    """The recorded case. Raises FileNotFoundError."""
    first = {Axis.TOKENS: FIRST_TOKEN, Axis.OUT: FIRST_CHANNEL, Axis.IN: COLUMN}

    def crop(side: Side, count: int) -> Float32:
        x, row, k = tensor(PART, STEP, matmul.operand(side)), first[matmul.free(side)], first[matmul.k]
        return (x.T if matmul.k_is_rows(side) else x)[row : row + count, k : k + K].copy()

    return Numbers(a=crop(Side.A, ROWS), b=crop(Side.B, 1)[0])


def pulled(numbers: Numbers, index: int, factors: Float64, spec: MatmulSpec, scales: Scales) -> Pulled:
    """The matmul after number `index` of A, row by row, was multiplied by each of float64[F] `factors`.

    `spec`: formats and scale rules; `scales`: tiles. Raises ValueError for an index outside A, and for a
    matmul that is not `is_plain`.
    """
    if not is_plain(spec):
        raise ValueError(f"both operands need one scale a tile and rounding to nearest, got {spec}")
    if not 0 <= index < ROWS * K:
        raise ValueError(f"index is 0 to {ROWS * K - 1}, got {index}")
    a = np.repeat(numbers.a[None], len(factors), axis=0)
    a.reshape(len(factors), -1)[:, index] *= factors.astype(np.float32)
    # A tile is a row: of all numbers of a case, or of the eight numbers of a row of A.
    tiles = a.reshape(len(factors), -1) if scales is Scales.ONE else a.reshape(-1, K)
    values, codes, scale = _rounded(tiles, spec.a, is_scaled=scales is not Scales.NONE)
    b, _, _ = _rounded(numbers.b[None], spec.b, is_scaled=scales is not Scales.NONE)
    return Pulled(
        a=a,
        values=values.reshape(a.shape),
        codes=codes.reshape(a.shape),
        scale=np.broadcast_to(scale.reshape(len(factors), -1), a.shape[:2]),
        sums=np.cumsum(values.reshape(a.shape) * b, axis=-1),
        exact=np.cumsum(a.astype(np.float64) * numbers.b.astype(np.float64), axis=-1),
    )


def is_plain(spec: MatmulSpec) -> bool:
    """Return True if both operands have one level of current scales, nearest rounding and no rotation."""
    return all(
        operand is not None
        and isinstance(operand.format, FloatFormat)
        and operand.rounding is Rounding.NEAREST_EVEN
        and operand.rotation is None
        and operand.scale_rule.outer is None
        and not operand.scale_rule.history
        for operand in (spec.a, spec.b)
    )


def _rounded(x: Float32, spec: OperandSpec, *, is_scaled: bool) -> tuple[Float64, UInt8, Float64]:
    if not is_scaled:
        codes = spec.format.encode(x).astype(np.uint8)
        return spec.format.decode(codes), codes, np.ones(len(x))
    tensor = quantize(x, Operand(spec=replace(spec, tile=_ROW), k_is_rows=False))
    scale = tensor.scale.astype(np.float64)
    return spec.format.decode(tensor.codes) * scale, tensor.codes, scale[:, 0]
