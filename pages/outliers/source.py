"""The numbers that recipes are compared on: drawn ones, or a matrix of the reader's.

The pool's processes import this module: it imports no Streamlit.
"""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from fp8core.experiments.read_back import as_bf16
from fp8core.inputs import OUTLIER_FACTOR, InputKind, draw, draw_operand
from fp8core.linear import LayerTensor

_KEPT = 4


@dataclass(frozen=True)
class Matrix:
    """An uploaded matrix: float32[rows, columns] as bytes; `digest` tells matrices apart."""

    digest: str
    shape: tuple[int, int]
    data: bytes

    @property
    def nbytes(self) -> int:
        """Bytes that it takes wherever it is kept."""
        return len(self.data)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Matrix) and self.digest == other.digest

    def __hash__(self) -> int:
        return hash(self.digest)


@dataclass(frozen=True, kw_only=True)
class Source:
    """Where the numbers come from: a kind of input with a seed, or an uploaded matrix.

    `tensor` says which of the three a recorded kind gives, and `factor` how much larger outliers are.
    """

    kind: str
    shape: tuple[int, int]
    seed: int
    tensor: LayerTensor = LayerTensor.X
    matrix: Matrix | None = None
    factor: float = OUTLIER_FACTOR

    @property
    def nbytes(self) -> int:
        """Bytes of an uploaded matrix; 0 for a seed."""
        return 0 if self.matrix is None else self.matrix.nbytes

    def numbers(self) -> NDArray[np.float32]:
        """float32[rows, columns], rounded to bf16. Raises ValueError where all of them are zero."""
        return _numbers(self)

    def weight(self) -> NDArray[np.float32]:
        """float32[out, in], rounded to bf16: the matrix, or the weight that goes with this kind of input."""
        return self.numbers() if self.matrix is not None else _weight(self)


@lru_cache(maxsize=1)
def _weight(source: Source) -> NDArray[np.float32]:
    kind, shape = InputKind(source.kind), source.shape
    return as_bf16(draw_operand(kind, LayerTensor.W, shape, source.seed, fan_in=shape[1]))


@lru_cache(maxsize=_KEPT)
def _numbers(source: Source) -> NDArray[np.float32]:
    if source.matrix is not None:
        x = np.frombuffer(source.matrix.data, np.float32).reshape(source.matrix.shape)
    else:
        more = {"tensor": source.tensor, "outlier_factor": source.factor}
        x = draw(InputKind(source.kind), source.shape, source.seed, **more)
    x = as_bf16(x)
    if not x.any():
        raise ValueError("All of these numbers are zero in bf16: there is nothing to lose.")
    return x
