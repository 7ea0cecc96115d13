"""The .safetensors files of model checkpoints, read by the library of that name."""

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError, deserialize

from pages.outliers.uploads.stored import DTYPES, NEEDED, StoredTensor

MAX_HEADER_BYTES = 1 << 19
_LENGTH_BYTES = 8


def looks_like(data: bytes) -> bool:
    """The file starts with a header's length and an opening brace."""
    return data[_LENGTH_BYTES : _LENGTH_BYTES + 1] == b"{"


def tensors(data: bytes) -> tuple[dict[str, StoredTensor], dict[str, str]]:
    """The tensors by name, and what the others are. Raises ValueError with a sentence about the file."""
    usable, other = {}, {}
    for name, stored in _entries(data):
        try:
            usable[name] = _tensor(name, stored)
        except ValueError as problem:
            other[name] = str(problem)
    if not usable and not other:
        raise ValueError("This .safetensors file holds no tensor.")
    return usable, other


def values(data: bytes, name: str) -> NDArray[Any]:
    """The numbers of the tensor with this name."""
    stored = dict(_entries(data))[name]
    tensor = _tensor(name, stored)
    return np.frombuffer(stored["data"], tensor.dtype).reshape(tensor.shape)


def _entries(data: bytes) -> list[tuple[str, dict[str, Any]]]:
    """Name, shape, dtype and bytes of each tensor. The library checks that they fill the file exactly."""
    length = int.from_bytes(data[:_LENGTH_BYTES], "little")
    if length > MAX_HEADER_BYTES:
        raise ValueError(
            f"This .safetensors file says that its header has {length:,} bytes; at most {MAX_HEADER_BYTES:,} "
            "can be used."
        )
    try:
        return deserialize(data)
    except (SafetensorError, UnicodeDecodeError) as error:
        raise ValueError(
            "This .safetensors file is damaged: header and numbers do not fit together."
        ) from error


def _tensor(name: str, stored: dict[str, Any]) -> StoredTensor:
    if stored["dtype"] not in DTYPES:
        raise ValueError(f"holds {stored['dtype']}; {NEEDED}")
    tensor = StoredTensor(name=name, shape=tuple(stored["shape"]), dtype=DTYPES[stored["dtype"]])
    assert len(stored["data"]) == math.prod(tensor.shape) * tensor.dtype.itemsize, (
        "safetensors checks lengths"
    )
    return tensor
