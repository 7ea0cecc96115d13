"""A matrix from an uploaded .npy, .npz or .safetensors file, or one sentence on why not.

Nothing in the file is trusted. Headers tell what it holds before anything is unpacked, and bound what is. A
pickle is never opened. One file is unpacked at a time, so that a full room does not need a full room's
memory.
"""

import hashlib
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any, assert_never

import numpy as np
from numpy.typing import NDArray

from pages.outliers.uploads import numpy_files, safe
from pages.outliers.uploads.stored import StoredTensor, shown

MAX_MEGABYTES = 5
MAX_BYTES = MAX_MEGABYTES * 10**6  # the browser counts so, too
MAX_NUMBERS = 1 << 22
MAX_TENSORS = 1000
SUFFIXES = ["npy", "npz", "safetensors"]

RULE = (
    f".npy, .npz or .safetensors, up to {MAX_MEGABYTES} MB; an array of an .npz may unpack to "
    f"{numpy_files.MAX_UNPACKED_MEGABYTES} MB. Its numbers are fp32, bf16, fp16, fp64, E4M3, E5M2 or "
    "integers, and finite. Of a tensor with more than two dims you choose one matrix. Pickles, such as .pt "
    "and .pkl, are never opened, because opening one can run any code."
)
_PICKLE = b"\x80"
_one_at_a_time = threading.Lock()


class Kind(Enum):
    """What a file is, by its first bytes; its name counts for nothing."""

    NPY = ".npy"
    NPZ = ".npz"
    SAFETENSORS = ".safetensors"


@dataclass(frozen=True, kw_only=True)
class TensorFile:
    """An uploaded file whose headers are sound. `tensors` are those that a matrix can be cut from.

    `left_out` says of each other what it is. `digest` tells files apart. It can be sent to another process.
    """

    name: str
    kind: Kind
    digest: str
    data: bytes
    tensors: tuple[StoredTensor, ...]
    left_out: tuple[str, ...]

    def tensor(self, name: str) -> StoredTensor:
        """The tensor with this name. Raises ValueError for a name that the file does not have."""
        for tensor in self.tensors:
            if tensor.name == name:
                return tensor
        raise ValueError(f"This file has no tensor {shown(name)}.")

    def matrix(
        self,
        name: str,
        leading: Sequence[int] = (),
        *,
        corner: tuple[int, int] = (0, 0),
        size: tuple[int, int] | None = None,
    ) -> NDArray[np.float32]:
        """float32[rows, columns]: a part of the tensor with this name, C-contiguous, all of it finite.

        `leading` is one index for each of its leading dims. `corner` is the part's first row and column,
        `size` its rows and columns, both cut at the tensor's edge; without a size it goes on to the edge.

        Raises ValueError with a sentence for the reader: for an index outside the tensor, for more than
        MAX_NUMBERS numbers, for damaged data, and for a number that is not finite in fp32.
        """
        tensor = self.tensor(name)
        index = _indices(tensor, leading)
        rows, columns = (
            _part(which, length, start, count)
            for which, length, start, count in zip(
                ("row", "column"), (tensor.rows, tensor.columns), corner, size or (None, None), strict=True
            )
        )
        if len(rows) * len(columns) > MAX_NUMBERS:
            raise ValueError(
                f"This part has {len(rows)} × {len(columns)} numbers; at most {MAX_NUMBERS:,} can be used."
            )
        with _one_at_a_time:
            stored = self._values(name)
            stored = stored.reshape(*tensor.leading, tensor.rows, tensor.columns)[index]
            part = stored[rows.start : rows.stop, columns.start : columns.stop]
            with np.errstate(over="ignore", invalid="ignore"):
                matrix = np.ascontiguousarray(part.astype(np.float32))
        return _finite(matrix, part, corner=(rows.start, columns.start))

    def _values(self, name: str) -> NDArray[Any]:
        match self.kind:
            case Kind.NPY:
                return numpy_files.read_header(name, self.data[: numpy_files.HEAD_BYTES]).values(self.data)
            case Kind.NPZ:
                return numpy_files.values(self.data, name)
            case Kind.SAFETENSORS:
                return safe.values(self.data, name)
            case _:
                assert_never(self.kind)


def read_tensor(name: str, data: bytes) -> TensorFile:
    """The tensors of an uploaded file, by RULE. Raises ValueError with a sentence for the reader."""
    if len(data) > MAX_BYTES:
        raise ValueError(f"This file has {len(data):,} bytes; at most {MAX_BYTES:,} can be used.")
    kind = _kind(data)
    with _one_at_a_time:
        usable, other = _listed(kind, data)
    if len(usable) + len(other) > MAX_TENSORS:
        raise ValueError(
            f"This file has {len(usable) + len(other)} tensors; at most {MAX_TENSORS} can be used."
        )
    left_out = tuple(f"{shown(one)} {problem}" for one, problem in other.items())
    if not usable:
        raise ValueError(f"No tensor of this file can be used: {left_out[0]}.")
    return TensorFile(
        name=name,
        kind=kind,
        digest=hashlib.sha256(data).hexdigest(),
        data=data,
        tensors=tuple(usable.values()),
        left_out=left_out,
    )


def _kind(data: bytes) -> Kind:
    if data.startswith(numpy_files.NPY_MAGIC):
        return Kind.NPY
    if data.startswith(numpy_files.NPZ_MAGICS):
        return Kind.NPZ
    if safe.looks_like(data):
        return Kind.SAFETENSORS
    if not data:
        raise ValueError("This file is empty.")
    if data.startswith(_PICKLE):
        raise ValueError(
            "This looks like a pickle. It is never opened, because opening one can run any code: save the "
            "tensor by numpy.save or safetensors."
        )
    raise ValueError("This is no .npy, .npz or .safetensors file, or its beginning is damaged.")


def _listed(kind: Kind, data: bytes) -> tuple[dict[str, StoredTensor], dict[str, str]]:
    match kind:
        case Kind.NPY:
            return _only_array(data)
        case Kind.NPZ:
            return numpy_files.tensors(data)
        case Kind.SAFETENSORS:
            return safe.tensors(data)
        case _:
            assert_never(kind)


def _only_array(data: bytes) -> tuple[dict[str, StoredTensor], dict[str, str]]:
    name = "array"
    try:
        header = numpy_files.read_header(name, data[: numpy_files.HEAD_BYTES])
    except ValueError as problem:
        raise ValueError(f"This array {problem}.") from problem
    if header.size != len(data):
        raise ValueError(
            f"This .npy file has {len(data):,} bytes, where its header needs {header.size:,}: it is damaged."
        )
    return {name: header.tensor}, {}


def _indices(tensor: StoredTensor, leading: Sequence[int]) -> tuple[int, ...]:
    lengths = tensor.leading
    inside = len(leading) == len(lengths) and all(0 <= i < n for i, n in zip(leading, lengths, strict=True))
    if not inside:
        raise ValueError(
            f"A matrix of {shown(tensor.name)} takes {len(lengths)} indices below {list(lengths)}, got "
            f"{list(leading)}."
        )
    return tuple(leading)


def _part(which: str, length: int, start: int, count: int | None) -> range:
    if not 0 <= start < length:
        raise ValueError(f"The first {which} is from 0 to {length - 1}, got {start}.")
    if count is not None and count < 1:
        raise ValueError(f"A part has at least one {which}, got {count}.")
    return range(start, length if count is None else min(start + count, length))


def _finite(matrix: NDArray[np.float32], part: NDArray[Any], corner: tuple[int, int]) -> NDArray[np.float32]:
    """The matrix, where each number is finite. `part` are its numbers as the file has them."""
    finite = np.isfinite(matrix)
    if finite.all():
        return matrix
    row, column = (int(i) for i in np.argwhere(~finite)[0])
    with np.errstate(invalid="ignore"):
        too_large = np.isfinite(part[row, column])
    problem = "too large for fp32" if too_large else "NaN or infinite"
    raise ValueError(
        f"{matrix.size - np.count_nonzero(finite):,} of {matrix.size:,} numbers are not finite in fp32: the "
        f"first, in row {corner[0] + row}, column {corner[1] + column}, is {problem}."
    )
