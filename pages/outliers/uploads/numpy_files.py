"""NumPy's .npy, a header in Python's notation and then the numbers; and .npz, a zip file of them.

Pickles inside are never opened. Source: numpy.lib.format, versions 1 and 2. The header is read here, and not
by `numpy.load`, which takes the memory for whatever shape the header claims.

The directory of an .npz is bounded before it is read. Of each array only the header is unpacked, until one is
chosen. A chosen array unpacks to what its header needs and no byte more.
"""

import ast
import io
import re
import struct
import zipfile
import zlib
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pages.outliers.uploads.stored import BF16, NEEDED, StoredTensor

NPY_MAGIC = b"\x93NUMPY"
MAX_HEADER_BYTES = 4096
HEAD_BYTES = len(NPY_MAGIC) + 6 + MAX_HEADER_BYTES
"""Bytes from the start that hold the whole header."""
_LENGTH = {1: "<H", 2: "<I"}
_PLAIN_TYPE = re.compile(r"[<>=|]?[a-zA-Z][0-9]{0,5}")
_KEYS = {"descr", "fortran_order", "shape"}
# numpy keeps no name for bf16: it writes two bytes of no type.
_NAMELESS_BF16 = ("<V2", "|V2")


@dataclass(frozen=True, kw_only=True)
class Npy:
    """A header: the tensor, where its numbers start, and whether they lie column by column."""

    tensor: StoredTensor
    start: int
    by_columns: bool

    @property
    def size(self) -> int:
        """Bytes of the whole file."""
        return self.start + self.tensor.count * self.tensor.dtype.itemsize

    def values(self, data: bytes) -> NDArray[Any]:
        """The numbers as they lie in the file `data`, which has `size` bytes; a view of it."""
        flat = np.frombuffer(data, self.tensor.dtype, self.tensor.count, self.start)
        return flat.reshape(self.tensor.shape, order="F" if self.by_columns else "C")


def read_header(name: str, head: bytes) -> Npy:
    """The header at the start of an .npy file. Raises ValueError with the end of a sentence about the array:
    what it holds, and what is needed.
    """
    if not head.startswith(NPY_MAGIC) or len(head) < len(NPY_MAGIC) + 4:
        raise ValueError("is no .npy array, or its beginning is damaged")
    version = head[len(NPY_MAGIC)]
    if version not in _LENGTH:
        raise ValueError(f"is .npy of version {version}; versions 1 and 2 hold plain numbers")
    text_at = len(NPY_MAGIC) + 2 + struct.calcsize(_LENGTH[version])
    if len(head) < text_at:
        raise ValueError("ends inside its header")
    (length,) = struct.unpack_from(_LENGTH[version], head, len(NPY_MAGIC) + 2)
    if length > MAX_HEADER_BYTES:
        raise ValueError(
            f"has a header of {length:,} bytes; that of a plain array has at most {MAX_HEADER_BYTES:,}"
        )
    if len(head) < text_at + length:
        raise ValueError("ends inside its header")
    fields = _fields(head[text_at : text_at + length])
    shape, by_columns = fields["shape"], fields["fortran_order"]
    whole = isinstance(shape, tuple) and all(type(n) is int and n >= 0 for n in shape)
    if not whole or not isinstance(by_columns, bool):
        raise ValueError("has a damaged header: its shape is no list of lengths")
    tensor = StoredTensor(name=name, shape=shape, dtype=_dtype(fields["descr"]))
    return Npy(tensor=tensor, start=text_at + length, by_columns=by_columns)


def _fields(text: bytes) -> dict[str, Any]:
    try:
        fields = ast.literal_eval(text.decode("latin1").strip())
    except (SyntaxError, ValueError, TypeError, MemoryError, RecursionError) as error:
        raise ValueError("has a damaged header") from error
    if not isinstance(fields, dict) or fields.keys() != _KEYS:
        raise ValueError("has a damaged header: type, order and shape are needed")
    return fields


def _dtype(descr: Any) -> np.dtype[Any]:
    if isinstance(descr, list | tuple):
        raise ValueError(f"holds records of several fields; {NEEDED}")
    if descr in _NAMELESS_BF16:
        return BF16
    if not isinstance(descr, str) or not _PLAIN_TYPE.fullmatch(descr):
        raise ValueError(f"holds no plain numbers; {NEEDED}")
    try:
        dtype = np.dtype(descr)
    except (TypeError, ValueError) as error:
        raise ValueError(f"holds the type {descr}, which numpy does not know; {NEEDED}") from error
    if dtype.hasobject:
        raise ValueError(f"holds Python objects, a pickle, which is never opened; {NEEDED}")
    if dtype.kind not in "fiu" or not np.can_cast(dtype, np.float64, "same_kind") or dtype.itemsize > 8:
        raise ValueError(f"holds {dtype.name}; {NEEDED}")
    return dtype


NPZ_MAGICS = (b"PK\x03\x04", b"PK\x05\x06")
MAX_UNPACKED_MEGABYTES = 32
MAX_UNPACKED_BYTES = MAX_UNPACKED_MEGABYTES * 10**6
MAX_DIRECTORY_BYTES = 1 << 16
_SUFFIX = ".npy"
_END = struct.Struct("<4s4H2LH")
_LOCATOR_BYTES, _LOCATOR = 20, b"PK\x06\x07"
_ENCRYPTED = 1
_CANNOT = "is damaged: it cannot be unpacked"
# What zipfile and zlib raise where a file is not what it says.
_BROKEN = (
    *(EOFError, LookupError, NotImplementedError, OSError, RuntimeError, ValueError, OverflowError),
    *(struct.error, zipfile.BadZipFile, zipfile.LargeZipFile, zlib.error),
)


def tensors(data: bytes) -> tuple[dict[str, StoredTensor], dict[str, str]]:
    """The arrays by name, and what the others are. Raises ValueError with a sentence about the file."""
    usable, other = {}, {}
    with _opened(data) as file:
        for info in file.infolist():
            if not info.filename.endswith(_SUFFIX):
                continue
            name = info.filename.removesuffix(_SUFFIX)
            if name in usable or name in other:
                raise ValueError("This .npz file holds two arrays of one name.")
            try:
                usable[name] = _header(file, info).tensor
            except ValueError as problem:
                other[name] = str(problem)
    if not usable and not other:
        raise ValueError(
            "This zip file holds no .npy array. A PyTorch checkpoint is such a file, and its pickle is never "
            "opened: save the tensor by numpy.save, numpy.savez or safetensors."
        )
    return usable, other


def values(data: bytes, name: str) -> NDArray[Any]:
    """The numbers of the array with this name, unpacked. Raises ValueError with a sentence."""
    with _opened(data) as file:
        info = file.getinfo(name + _SUFFIX)
        try:
            header = _header(file, info)
            unpacked = _unpacked(file, info, info.file_size)
        except ValueError as problem:
            raise ValueError(f"This array {problem}.") from problem
    return header.values(unpacked)


def _opened(data: bytes) -> zipfile.ZipFile:
    _check_directory(data)
    try:
        return zipfile.ZipFile(io.BytesIO(data))
    except _BROKEN as error:
        raise ValueError("This .npz file is damaged: its directory cannot be read.") from error


def _check_directory(data: bytes) -> None:
    """Raise ValueError for a directory that is not where numpy writes it, at the end, or that is too long."""
    end = data[-_END.size :]
    if len(end) < _END.size or not end.startswith(NPZ_MAGICS[1]) or not end.endswith(b"\0\0"):
        raise ValueError("This .npz file is damaged: its directory is not at its end.")
    length = _END.unpack(end)[5]
    locator = data[-_END.size - _LOCATOR_BYTES : -_END.size]
    if length > MAX_DIRECTORY_BYTES or locator.startswith(_LOCATOR):
        raise ValueError(
            f"This .npz file has too many arrays: its directory may have {MAX_DIRECTORY_BYTES:,} bytes."
        )


def _header(file: zipfile.ZipFile, info: zipfile.ZipInfo) -> Npy:
    """The array's header. Raises ValueError with the end of a sentence about the array."""
    if info.flag_bits & _ENCRYPTED:
        raise ValueError("is encrypted")
    if info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        raise ValueError("is compressed in a way that numpy does not use")
    head = _unpacked(file, info, min(HEAD_BYTES, info.file_size))
    header = read_header(info.filename.removesuffix(_SUFFIX), head)
    if header.size > MAX_UNPACKED_BYTES:
        raise ValueError(
            f"has {header.size:,} bytes when it is unpacked; at most {MAX_UNPACKED_BYTES:,} can be used"
        )
    if info.file_size != header.size:
        raise ValueError(
            f"has {info.file_size:,} bytes, where its header needs {header.size:,}: the file is damaged"
        )
    return header


def _unpacked(file: zipfile.ZipFile, info: zipfile.ZipInfo, count: int) -> bytes:
    """The first `count` bytes of an array's file; all of them have the right checksum."""
    try:
        with file.open(info) as member:
            unpacked = member.read(count)
    except _BROKEN as error:
        raise ValueError(_CANNOT) from error
    if len(unpacked) != count:
        raise ValueError(_CANNOT)
    return unpacked
