"""NumPy's .npy: a header in Python's notation, then the numbers. Pickles inside are never opened.

Source: numpy.lib.format, versions 1 and 2. The header is read here, and not by `numpy.load`, which takes the
memory for whatever shape the header claims.
"""

import ast
import re
import struct
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pages.kit.uploads.stored import BF16, NEEDED, StoredTensor

MAGIC = b"\x93NUMPY"
MAX_HEADER_BYTES = 4096
HEAD_BYTES = len(MAGIC) + 6 + MAX_HEADER_BYTES
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
    if not head.startswith(MAGIC) or len(head) < len(MAGIC) + 4:
        raise ValueError("is no .npy array, or its beginning is damaged")
    version = head[len(MAGIC)]
    if version not in _LENGTH:
        raise ValueError(f"is .npy of version {version}; versions 1 and 2 hold plain numbers")
    text_at = len(MAGIC) + 2 + struct.calcsize(_LENGTH[version])
    if len(head) < text_at:
        raise ValueError("ends inside its header")
    (length,) = struct.unpack_from(_LENGTH[version], head, len(MAGIC) + 2)
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
