"""One tensor in an uploaded file: its name, shape and type, read from the file's header alone."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from fp8core.formats import FORMATS

MAX_DIMS = 8
MAX_NAME = 200
MAX_COUNT = 1 << 48
BF16 = np.dtype(FORMATS["bf16"].ml_dtype)
DTYPES: dict[str, np.dtype[Any]] = {
    "F64": np.dtype("<f8"),
    "F32": np.dtype("<f4"),
    "F16": np.dtype("<f2"),
    "BF16": BF16,
    "F8_E4M3": np.dtype(FORMATS["e4m3"].ml_dtype),
    "F8_E5M2": np.dtype(FORMATS["e5m2"].ml_dtype),
    **{f"{kind.upper()}{8 * size}": np.dtype(f"<{kind}{size}") for kind in "iu" for size in (1, 2, 4, 8)},
}
"""numpy's type for each of safetensors' that holds real numbers."""
NEEDED = "floating-point numbers or integers are needed"


@dataclass(frozen=True, kw_only=True)
class StoredTensor:
    """A tensor from which a matrix can be cut: `shape`, whose last two dims are rows and columns.

    Raises ValueError for a shape without a row and a column, for too many dims, and for too long a name.
    """

    name: str
    shape: tuple[int, ...]
    dtype: np.dtype[Any]

    def __post_init__(self) -> None:
        dims = "×".join(map(str, self.shape)) if len(self.shape) <= MAX_DIMS else f"{len(self.shape)} dims"
        if len(self.name) > MAX_NAME:
            raise ValueError(f"has a name of {len(self.name)} letters; at most {MAX_NAME} can be used")
        if not self.shape:
            raise ValueError("is a single number; rows and columns are needed")
        if len(self.shape) > MAX_DIMS:
            raise ValueError(f"has {len(self.shape)} dims; from 1 to {MAX_DIMS} can be used")
        if not all(self.shape):
            raise ValueError(f"is empty: its shape is {dims}")
        if self.count > MAX_COUNT:
            raise ValueError("has a shape of more numbers than any file has")

    @property
    def leading(self) -> tuple[int, ...]:
        """The lengths of the dims before the last two: a matrix takes one index of each."""
        return self.shape[:-2]

    @property
    def rows(self) -> int:
        """Rows of each matrix; a tensor of one dim is one row."""
        return self.shape[-2] if len(self.shape) > 1 else 1

    @property
    def columns(self) -> int:
        return self.shape[-1]

    @property
    def count(self) -> int:
        """The tensor's numbers."""
        return math.prod(self.shape)

    @property
    def words(self) -> str:
        """Name, shape and type on one line."""
        return f"{_printable(self.name)}: {' × '.join(map(str, self.shape))}, {self.dtype.name}"


def shown(name: str) -> str:
    """A name from a file, among words: on one line, and cut where it is long."""
    cut = name if len(name) <= MAX_NAME else name[:MAX_NAME] + "…"
    return f"“{_printable(cut)}”"


def _printable(text: str) -> str:
    return "".join(letter if letter.isprintable() else "\N{REPLACEMENT CHARACTER}" for letter in text)
