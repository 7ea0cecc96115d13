"""Contract: a row of codes is one little-endian number with a code every `bits` bits, in whole bytes."""

import numpy as np
import pytest

from fp8core.packing import PACKED_BITS, pack, packed_bytes, unpack

by_bits = pytest.mark.parametrize("bits", PACKED_BITS)


def one_number(row: np.ndarray, bits: int) -> bytes:
    """A row as Python's own integers have it."""
    number = sum(int(code) << bits * i for i, code in enumerate(row))
    return number.to_bytes(-(-row.size * bits // 8), "little")


@by_bits
def test_rows_of_random_shapes_lie_as_one_number_each_and_come_back(bits) -> None:
    rng = np.random.default_rng(bits)
    for _ in range(60):
        shape = (*rng.integers(0, 6, rng.integers(0, 3)), int(rng.integers(0, 40)))
        codes = rng.integers(0, 1 << bits, shape, dtype=np.uint8)
        packed = pack(codes, bits)
        rows = codes.reshape(int(np.prod(shape[:-1])), shape[-1])
        assert packed.dtype == np.uint8
        assert packed.shape == (*shape[:-1], packed_bytes(shape[-1], bits))
        assert packed.tobytes() == b"".join(one_number(row, bits) for row in rows)
        np.testing.assert_array_equal(unpack(packed, bits, shape[-1]), codes)


@by_bits
def test_an_array_that_is_not_contiguous_lies_as_its_copy(bits) -> None:
    codes = np.random.default_rng(0).integers(0, 1 << bits, (9, 14), dtype=np.uint8).T
    np.testing.assert_array_equal(pack(codes, bits), pack(codes.copy(), bits))


def test_the_order_by_hand() -> None:
    assert pack([0xA, 0x3, 0xF], 4).tolist() == [0x3A, 0x0F]
    assert pack([0b000001, 0b000010, 0b000011, 0b100000], 6).tolist() == [0b10000001, 0b00110000, 0b10000000]
    assert pack([0x80, 7], 8).tolist() == [0x80, 7]
