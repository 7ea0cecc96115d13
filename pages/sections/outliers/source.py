"""The numbers that recipes are compared on: drawn ones, or a matrix of the reader's.

The pool's processes import this module: it imports no Streamlit.
"""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from fp8core.experiments.error_curves import DRAWS, drawn_bands
from fp8core.experiments.read_back import as_bf16
from fp8core.inputs import InputKind, draw, draw_operand
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

    `tensor` says which of the three a recorded kind gives.
    """

    kind: str
    shape: tuple[int, int]
    seed: int
    tensor: LayerTensor = LayerTensor.X
    matrix: Matrix | None = None

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
        x = draw(InputKind(source.kind), source.shape, source.seed, tensor=source.tensor)
    x = as_bf16(x)
    if not x.any():
        raise ValueError("All of these numbers are zero in bf16: there is nothing to lose.")
    return x


@lru_cache(maxsize=_KEPT)
def bands(source: Source, k_is_rows: bool) -> tuple[NDArray[np.float32], ...]:
    """The draws of a tensor: BAND_LINES lines of other seeds, or equal bands of the matrix that there is.

    The lines run along the contracted dim, BAND_K of it, or all of a matrix's. Raises ValueError for a matrix
    with an empty or an all-zero band.
    """
    if source.matrix is None:
        return drawn_bands(InputKind(source.kind), source.seed, k_is_rows, source.tensor)
    parts = np.array_split(source.numbers(), DRAWS, axis=1 if k_is_rows else 0)
    if not all(part.any() for part in parts):
        raise ValueError(
            f"These are {DRAWS} bands of your matrix, and one of them is empty or all zero: "
            "choose a larger part of it."
        )
    return tuple(parts)
