"""A matrix from an uploaded .npy, .npz or .safetensors file, or one sentence on why not.

Nothing in a file is trusted, and a pickle is never opened. Numbers are unpacked only if the header's shape
fits the bytes: `numpy.load` takes memory for any shape.
"""

import hashlib
import io
import math
import struct
import threading
import zipfile
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from tokenize import TokenError
from typing import IO, Any

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray
from safetensors import SafetensorError, deserialize

from fp8core.formats import FORMATS

MAX_MEGABYTES, MAX_UNPACKED_MEGABYTES = 5, 32
MAX_BYTES, MAX_UNPACKED_BYTES = MAX_MEGABYTES * 10**6, MAX_UNPACKED_MEGABYTES * 10**6  # as browsers count
MAX_TENSORS = 1000
SUFFIXES = ["npy", "npz", "safetensors"]
RULE = (
    f".npy, .npz or .safetensors, up to {MAX_MEGABYTES} MB; an array of an .npz may unpack to "
    f"{MAX_UNPACKED_MEGABYTES} MB. Its numbers are fp32, bf16, fp16, fp64, E4M3, E5M2 or integers, and "
    "finite. Of a tensor with more than two dims you choose one matrix. Pickles, such as .pt and .pkl, are "
    "never opened, because opening one can run any code."
)
_OTHER_FILE = (
    "This is no .npy, .npz or .safetensors file with a tensor. A pickle, such as a PyTorch checkpoint, is "
    "never opened, because opening one can run any code: save the tensor by numpy.save or safetensors."
)
_TYPES = "floating-point numbers or integers are needed"
_DAMAGE = "is damaged: it cannot be unpacked"
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
# Errors of the readers on a broken file.
_BROKEN = (
    *(ValueError, TypeError, LookupError, SyntaxError, TokenError, ArithmeticError, RecursionError),
    *(MemoryError, EOFError, OSError, RuntimeError, struct.error, zlib.error, zipfile.BadZipFile),
)
# A full class needs the memory of one file at a time.
_one_at_a_time = threading.Lock()


@dataclass(frozen=True, kw_only=True)
class StoredTensor:
    """A header. The last two dims are rows and columns; the others count matrices.

    Raises ValueError, with the end of a sentence, for a shape without a matrix.
    """

    name: str
    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    by_columns: bool = False

    def __post_init__(self) -> None:
        if not 1 <= len(self.shape) <= _MAX_DIMS:
            raise ValueError(f"has {len(self.shape)} dims; from 1 to {_MAX_DIMS} can be used")
        if min(self.shape) < 1:
            raise ValueError("is empty: one of its dims has no length")

    @property
    def rows(self) -> int:
        return self.shape[-2] if len(self.shape) > 1 else 1

    @property
    def columns(self) -> int:
        return self.shape[-1]

    @property
    def matrices(self) -> int:
        return math.prod(self.shape[:-2])

    @property
    def words(self) -> str:
        return f"{_printable(self.name)}: {' × '.join(map(str, self.shape))}, {self.dtype.name}"


@dataclass(frozen=True, kw_only=True)
class TensorFile:
    """An uploaded file with sound headers, and a sentence for each unusable tensor."""

    name: str
    digest: str
    data: bytes
    tensors: tuple[StoredTensor, ...]
    refusals: tuple[str, ...]

    def matrix(
        self, at: int, number: int = 0, *, corner: tuple[int, int] = (0, 0), size: tuple[int, int]
    ) -> NDArray[np.float32]:
        """float32[rows, columns], contiguous and finite: a part of a matrix, at most of `size`.

        Raises ValueError, with a sentence, for damaged data and for numbers that are not finite in fp32.
        """
        tensor, (row, column) = self.tensors[at], corner
        with _one_at_a_time:
            try:
                numbers = np.frombuffer(_readers(self.data)[tensor.name]()[1](), tensor.dtype)
            except ValueError as problem:
                raise ValueError(f"This array {problem}.") from problem
            numbers = numbers.reshape(tensor.shape, order="F" if tensor.by_columns else "C")
            matrix = numbers.reshape(tensor.matrices, tensor.rows, tensor.columns)[number]
            with np.errstate(over="ignore", invalid="ignore"):
                part = matrix[row : row + size[0], column : column + size[1]].astype(np.float32, order="C")
        if len(bad := np.argwhere(~np.isfinite(part))):
            raise ValueError(
                f"{len(bad):,} of {part.size:,} numbers are not finite in fp32: the first is in row "
                f"{row + bad[0, 0]}, column {column + bad[0, 1]}."
            )
        return part


def read_tensor(name: str, data: bytes) -> TensorFile:
    """The tensors of an uploaded file, by RULE. Raises ValueError with a sentence."""
    if len(data) > MAX_BYTES:
        raise ValueError(f"This file has {len(data):,} bytes; at most {MAX_BYTES:,} can be used.")
    tensors, refusals = [], []
    with _one_at_a_time:
        readers = _readers(data)
        if len(readers) > MAX_TENSORS:
            raise ValueError(f"This file has {len(readers)} tensors; at most {MAX_TENSORS} can be used.")
        for own, read in readers.items():
            try:
                tensors.append(read()[0])
            except ValueError as problem:
                refusals.append(f"“{_printable(own)}” {problem}")
    if not tensors:
        raise ValueError(f"No tensor of this file can be used: {refusals[0]}." if refusals else _OTHER_FILE)
    return TensorFile(
        name=name,
        digest=hashlib.sha256(data).hexdigest(),
        data=data,
        tensors=tuple(tensors),
        refusals=tuple(refusals),
    )


_Reader = Callable[[], tuple[StoredTensor, Callable[[], bytes]]]


def _readers(data: bytes) -> dict[str, _Reader]:
    """A function for each tensor: it reads the header and returns a function for the numbers.

    Raises ValueError with a sentence on the file; the functions raise it with the end of one.
    """
    if data.startswith(npy.MAGIC_PREFIX):
        return {"array": partial(_npy, "array", io.BytesIO(data), len(data))}
    if data.startswith(b"PK"):
        return _npz(data)
    if data[8:9] == b"{":
        return _safetensors(data)
    raise ValueError(_OTHER_FILE)


def _npz(data: bytes) -> dict[str, _Reader]:
    # The mark of an entry of the directory: its length is bounded before zipfile reads it.
    if data.count(b"PK\x01\x02") > MAX_TENSORS:
        raise ValueError(f"This .npz file has too many arrays: at most {MAX_TENSORS} can be used.")
    try:
        file = zipfile.ZipFile(io.BytesIO(data))
    except _BROKEN as error:
        raise ValueError("This .npz file is damaged: its directory cannot be read.") from error

    def read(name: str, info: zipfile.ZipInfo) -> tuple[StoredTensor, Callable[[], bytes]]:
        # Other compressions may unpack to more bytes than a read asks for.
        if info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            raise ValueError("is compressed in a way that numpy does not use")
        if info.file_size > MAX_UNPACKED_BYTES:
            raise ValueError(f"unpacks to {info.file_size:,} bytes; at most {MAX_UNPACKED_BYTES:,} can be")
        try:
            stream = file.open(info)
        except _BROKEN as error:
            raise ValueError(_DAMAGE) from error
        return _npy(name, stream, info.file_size)

    arrays = {info.filename.removesuffix(".npy"): info for info in file.infolist()}
    return {name: partial(read, name, info) for name, info in arrays.items() if name != info.filename}


def _npy(name: str, stream: IO[bytes], size: int) -> tuple[StoredTensor, Callable[[], bytes]]:
    """An .npy file of `size` bytes; before its header fits, no more than the longest header is unpacked."""
    head = io.BytesIO(_next_bytes(stream, min(size, 2 * _NPY_HEADER_BYTES)))
    try:
        version = npy.read_magic(head)
        shape, by_columns, dtype = _NPY_HEADERS[version](head, max_header_size=_NPY_HEADER_BYTES)
    except _BROKEN as error:
        raise ValueError("is no .npy array, or has a damaged header") from error
    if dtype.hasobject:
        raise ValueError(f"holds Python objects, a pickle, which is never opened; {_TYPES}")
    if dtype.str in ("<V2", "|V2"):  # numpy has no name for bf16
        dtype = _BF16
    elif dtype.kind not in "fiu" or dtype.itemsize > 8:
        raise ValueError(f"holds {dtype.name}; {_TYPES}")
    tensor = StoredTensor(name=name, shape=shape, dtype=dtype, by_columns=by_columns)
    if head.tell() + math.prod(shape) * dtype.itemsize != size:
        raise ValueError("is damaged: its header needs another number of bytes than it has")
    return tensor, lambda: head.read() + _next_bytes(stream, size - len(head.getvalue()))


def _next_bytes(stream: IO[bytes], count: int) -> bytes:
    """The next bytes; zipfile checks the checksum with the last of them."""
    try:
        data = stream.read(count)
    except _BROKEN as error:
        raise ValueError(_DAMAGE) from error
    if len(data) != count:
        raise ValueError(_DAMAGE)
    return data


def _safetensors(data: bytes) -> dict[str, _Reader]:
    """The library checks that shapes and numbers fill the file exactly."""
    if int.from_bytes(data[:8], "little") > _SAFETENSORS_HEADER_BYTES:
        raise ValueError("This .safetensors file says that its header is longer than can be used.")
    try:
        entries = deserialize(data)
    except (SafetensorError, UnicodeDecodeError) as error:
        raise ValueError("This .safetensors file is damaged: header and numbers do not fit.") from error

    def read(name: str, entry: dict[str, Any]) -> tuple[StoredTensor, Callable[[], bytes]]:
        if entry["dtype"] not in _SAFETENSORS_DTYPES:
            raise ValueError(f"holds {entry['dtype']}; {_TYPES}")
        dtype = _SAFETENSORS_DTYPES[entry["dtype"]]
        return StoredTensor(name=name, shape=tuple(entry["shape"]), dtype=dtype), lambda: entry["data"]

    return {name: partial(read, name, entry) for name, entry in entries}


def _printable(name: str) -> str:
    letters = (letter if letter.isprintable() else "\N{REPLACEMENT CHARACTER}" for letter in name)
    return "".join(letters)[:_MAX_NAME]
