"""NumPy's .npz: a zip file of .npy arrays.

The directory is bounded before it is read. Of each array only the header is unpacked, until one is chosen. A
chosen array unpacks to what its header needs and no byte more.
"""

import io
import struct
import zipfile
import zlib
from typing import Any

from numpy.typing import NDArray

from pages.kit.uploads import npy
from pages.kit.uploads.stored import StoredTensor

MAGICS = (b"PK\x03\x04", b"PK\x05\x06")
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
    found, other = {}, {}
    with _opened(data) as file:
        for info in file.infolist():
            if not info.filename.endswith(_SUFFIX):
                continue
            name = info.filename.removesuffix(_SUFFIX)
            if name in found or name in other:
                raise ValueError("This .npz file holds two arrays of one name.")
            try:
                found[name] = _header(file, info).tensor
            except ValueError as problem:
                other[name] = str(problem)
    if not found and not other:
        raise ValueError(
            "This zip file holds no .npy array. A PyTorch checkpoint is such a file, and its pickle is never "
            "opened: save the tensor by numpy.save, numpy.savez or safetensors."
        )
    return found, other


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
    if len(end) < _END.size or not end.startswith(MAGICS[1]) or not end.endswith(b"\0\0"):
        raise ValueError("This .npz file is damaged: its directory is not at its end.")
    length = _END.unpack(end)[5]
    locator = data[-_END.size - _LOCATOR_BYTES : -_END.size]
    if length > MAX_DIRECTORY_BYTES or locator.startswith(_LOCATOR):
        raise ValueError(
            f"This .npz file has too many arrays: its directory may have {MAX_DIRECTORY_BYTES:,} bytes."
        )


def _header(file: zipfile.ZipFile, info: zipfile.ZipInfo) -> npy.Npy:
    """The array's header. Raises ValueError with the end of a sentence about the array."""
    if info.flag_bits & _ENCRYPTED:
        raise ValueError("is encrypted")
    if info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        raise ValueError("is compressed in a way that numpy does not use")
    head = _unpacked(file, info, min(npy.HEAD_BYTES, info.file_size))
    header = npy.read_header(info.filename.removesuffix(_SUFFIX), head)
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
