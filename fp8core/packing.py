"""Codes of 4 and 6 bits in memory.

The first code lies in the lowest bits. Of two 4-bit codes in a byte the first is the low nibble, as in
PyTorch's float4_e2m1fn_x2 and Blackwell's FP4 operands. Of four 6-bit codes in three bytes, code i starts at
bit 6 i, lowest byte first, as in CUTLASS and TMA's 16U6 boxes.
"""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from fp8core.arrays import UInt8
from fp8core.checks import codes_of, whole

PACKED_BITS = (4, 6, 8)
_BYTE = np.iinfo(np.uint8).bits


def packed_bytes(n: int, bits: int) -> int:
    """Bytes of a row of n codes, rounded up. Raises ValueError as `pack`."""
    return -(-whole("a number of codes", n, 0) * _packable(bits) // _BYTE)


def pack(codes: ArrayLike, bits: int) -> UInt8:
    """uint8[..., n] → uint8[..., packed_bytes(n, bits)], row by row, padded with zero bits.

    Raises ValueError for other bits than 4, 6 or 8, codes that do not fit, and a single number.
    """
    codes = codes_of(f"{_packable(bits)} bits", bits, codes).astype(np.uint8)
    n = _last_axis("codes", codes)
    each = np.unpackbits(codes[..., None], axis=-1, count=bits, bitorder="little")
    return np.packbits(each.reshape(*codes.shape[:-1], n * bits), axis=-1, bitorder="little")


def unpack(packed: ArrayLike, bits: int, n: int) -> UInt8:
    """uint8[..., bytes] → uint8[..., n], the inverse of `pack`.

    Raises ValueError for other bits than 4, 6 or 8, and for rows of another length.
    """
    length = packed_bytes(n, bits)
    packed = codes_of("packed bytes", _BYTE, packed).astype(np.uint8)
    if _last_axis("packed bytes", packed) != length:
        raise ValueError(
            f"{n} codes of {bits} bits take {length} bytes a row, got {packed.shape[-1]} in {packed.shape}"
        )
    each = np.unpackbits(packed, axis=-1, count=n * bits, bitorder="little")
    return np.packbits(each.reshape(*packed.shape[:-1], n, bits), axis=-1, bitorder="little")[..., 0]


def _packable(bits: Any) -> int:
    if bits not in PACKED_BITS or isinstance(bits, bool):
        *rest, last = map(str, PACKED_BITS)
        raise ValueError(f"codes of {', '.join(rest)} or {last} bits are packed, got {bits!r} bits")
    return int(bits)


def _last_axis(what: str, array: UInt8) -> int:
    if array.ndim == 0:
        raise ValueError(f"{what} are rows along the last axis, got a single number")
    return int(array.shape[-1])
