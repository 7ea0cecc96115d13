"""A matrix from an uploaded .npy or .safetensors file, or one sentence on why not.

Nothing in a file is trusted, and a pickle is never opened. Numbers are read only if the header's shape fits
the bytes: `numpy.load` takes memory for any shape.
"""

import hashlib
import io
import math
from dataclasses import dataclass
from tokenize import TokenError
from typing import Any

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray
from safetensors import SafetensorError, deserialize

from fp8core.formats import FORMATS

MAX_MEGABYTES = 5
MAX_BYTES = MAX_MEGABYTES * 10**6  # as browsers count
MAX_TENSORS = 1000
SUFFIXES = ["npy", "safetensors"]
RULE = (
    f".npy or .safetensors, up to {MAX_MEGABYTES} MB. Its numbers are fp32, bf16, fp16, fp64, E4M3, E5M2 or "
    "integers, and finite. Of a tensor with more than two dims you choose one matrix. Pickles, such as .pt "
    "and .pkl, are never opened, because opening one can run any code."
)
_OTHER_FILE = (
    "This is no .npy or .safetensors file with a tensor. A pickle, such as a PyTorch checkpoint, is never "
    "opened, because opening one can run any code: save the tensor by numpy.save or safetensors."
)
_TYPES = "floating-point numbers or integers are needed"
_MAX_DIMS, _MAX_NAME = 8, 200
_NPY_HEADER_BYTES, _SAFETENSORS_HEADER_BYTES = 4096, 1 << 19
_NPY_HEADERS = {(1, 0): npy.read_array_header_1_0, (2, 0): npy.read_array_header_2_0}
_BF16 = np.dtype(FORMATS["bf16"].ml_dtype)
_SAFETENSORS_DTYPES: dict[str, np.dtype[Any]] = {
    "BF16": _BF16,
    "F8_E4M3": np.dtype(FORMATS["e4m3"].ml_dtype),
    "F8_E5M2": np.dtype(FORMATS["e5m2"].ml_dtype),
    **{f"F{8 * size}": np.dtype(f"<f{size}") for size in (2, 4, 8)},
    **{f"{kind.upper()}{8 * size}": np.dtype(f"<{kind}{size}") for kind in "iu" for size in (1, 2, 4, 8)},
}
# Errors of numpy's reader on a broken header.
_BROKEN = (
    ValueError,
    TypeError,
    LookupError,
    SyntaxError,
    TokenError,
    ArithmeticError,
    RecursionError,
    MemoryError,
)


@dataclass(frozen=True, kw_only=True)
class StoredTensor:
    """The last two dims are rows and columns; the others count matrices.

    Raises ValueError, with the end of a sentence, for a shape without a matrix.
    """

    name: str
    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    data: bytes
    by_columns: bool = False

    def __post_init__(self) -> None:
        if not 1 <= len(self.shape) <= _MAX_DIMS:
            raise ValueError(f"has {len(self.shape)} dims; from 1 to {_MAX_DIMS} can be used")
        if min(self.shape) < 1:
            raise ValueError("is empty: one of its dims has no length")

    @property
    def dims(self) -> tuple[int, int, int]:
        """Matrices, rows and columns."""
        rows, columns = (1, *self.shape)[-2:]
        return math.prod(self.shape[:-2]), rows, columns

    @property
    def words(self) -> str:
        return f"{_printable(self.name)}: {' × '.join(map(str, self.shape))}, {self.dtype.name}"

    def matrix(
        self, number: int = 0, *, corner: tuple[int, int] = (0, 0), size: tuple[int, int]
    ) -> NDArray[np.float32]:
        """float32[rows, columns], contiguous and finite: a part of a matrix, at most of `size`.

        Raises ValueError, with a sentence, for numbers that are not finite in fp32.
        """
        row, column = corner
        numbers = np.frombuffer(self.data, self.dtype).reshape(
            self.shape, order="F" if self.by_columns else "C"
        )
        matrix = numbers.reshape(self.dims)[number]
        with np.errstate(over="ignore", invalid="ignore"):
            part = matrix[row : row + size[0], column : column + size[1]].astype(np.float32, order="C")
        if len(bad := np.argwhere(~np.isfinite(part))):
            raise ValueError(
                f"{len(bad):,} of {part.size:,} numbers are not finite in fp32: the first is in row "
                f"{row + bad[0, 0]}, column {column + bad[0, 1]}."
            )
        return part


@dataclass(frozen=True, kw_only=True)
class TensorFile:
    """The usable tensors of an uploaded file, and a sentence for each other one."""

    name: str
    digest: str
    tensors: tuple[StoredTensor, ...]
    refusals: tuple[str, ...]


def read_tensor(name: str, data: bytes) -> TensorFile:
    """The tensors of an uploaded file, by RULE. Raises ValueError with a sentence."""
    if len(data) > MAX_BYTES:
        raise ValueError(f"This file has {len(data):,} bytes; at most {MAX_BYTES:,} can be used.")
    tensors, refusals = [], []
    is_npy = data.startswith(npy.MAGIC_PREFIX)
    for own, entry in [("array", {})] if is_npy else _safetensors(data):
        try:
            tensors.append(_npy(own, data) if is_npy else _tensor(own, entry))
        except ValueError as problem:
            refusals.append(f"“{_printable(own)}” {problem}")
    if not tensors:
        raise ValueError(f"No tensor of this file can be used: {refusals[0]}." if refusals else _OTHER_FILE)
    digest = hashlib.sha256(data).hexdigest()
    return TensorFile(name=name, digest=digest, tensors=tuple(tensors), refusals=tuple(refusals))


def _npy(name: str, data: bytes) -> StoredTensor:
    """An .npy file. Raises ValueError with the end of a sentence."""
    file = io.BytesIO(data)
    try:
        version = npy.read_magic(file)
        shape, by_columns, dtype = _NPY_HEADERS[version](file, max_header_size=_NPY_HEADER_BYTES)
    except _BROKEN as error:
        raise ValueError("is no .npy array, or has a damaged header") from error
    if dtype.hasobject:
        raise ValueError(f"holds Python objects, a pickle, which is never opened; {_TYPES}")
    if dtype.str in ("<V2", "|V2"):  # numpy has no name for bf16
        dtype = _BF16
    elif dtype.kind not in "fiu" or dtype.itemsize > 8:
        raise ValueError(f"holds {dtype.name}; {_TYPES}")
    numbers = file.read()
    if math.prod(shape) * dtype.itemsize != len(numbers):
        raise ValueError("is damaged: its header needs another number of bytes than it has")
    return StoredTensor(name=name, shape=shape, dtype=dtype, by_columns=by_columns, data=numbers)


def _safetensors(data: bytes) -> list[tuple[str, dict[str, Any]]]:
    """Names and entries; the library checks that shapes and numbers fill the file exactly.

    Raises ValueError with a sentence.
    """
    if data[8:9] != b"{":
        raise ValueError(_OTHER_FILE)
    if int.from_bytes(data[:8], "little") > _SAFETENSORS_HEADER_BYTES:
        raise ValueError("This .safetensors file says that its header is longer than can be used.")
    try:
        entries = deserialize(data)
    except (SafetensorError, UnicodeDecodeError) as error:
        raise ValueError("This .safetensors file is damaged: header and numbers do not fit.") from error
    if len(entries) > MAX_TENSORS:
        raise ValueError(f"This file has {len(entries)} tensors; at most {MAX_TENSORS} can be used.")
    return entries


def _tensor(name: str, entry: dict[str, Any]) -> StoredTensor:
    """An entry of a .safetensors file. Raises ValueError with the end of a sentence."""
    if entry["dtype"] not in _SAFETENSORS_DTYPES:
        raise ValueError(f"holds {entry['dtype']}; {_TYPES}")
    dtype = _SAFETENSORS_DTYPES[entry["dtype"]]
    return StoredTensor(name=name, shape=tuple(entry["shape"]), dtype=dtype, data=entry["data"])


def _printable(name: str) -> str:
    letters = (letter if letter.isprintable() else "\N{REPLACEMENT CHARACTER}" for letter in name)
    return "".join(letters)[:_MAX_NAME]
