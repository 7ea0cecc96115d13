"""Contract: Philox 4x32-10 gives the published words; an element has its bits by its place and the seed."""

import numpy as np
import pytest

from fp8core.packing import PACKED_BITS, pack, packed_bytes, unpack
from fp8core.philox import philox, philox4x32, random_bits

# Random123's kat_vectors, "philox4x32 10": counter, key, words.
PUBLISHED = [
    ("00000000 00000000 00000000 00000000", "00000000 00000000", "6627e8d5 e169c58d bc57ac4c 9b00dbd8"),
    ("ffffffff ffffffff ffffffff ffffffff", "ffffffff ffffffff", "408f276d 41c83b0e a20bc7c6 6d5451fd"),
    ("243f6a88 85a308d3 13198a2e 03707344", "a4093822 299f31d0", "d16cfe09 94fdcceb 5001e420 24126ea1"),
]


def words(text: str) -> list[int]:
    return [int(word, 16) for word in text.split()]


@pytest.mark.parametrize(("counter", "key", "random"), PUBLISHED)
def test_the_published_vectors(counter, key, random) -> None:
    assert philox4x32(words(counter), tuple(words(key))).tolist() == words(random)


def test_seed_and_counter_fill_key_and_counter_from_their_low_words() -> None:
    rng = np.random.default_rng(0)
    counters = np.concatenate([[0, 1, 2**32 - 1, 2**32, 2**63 - 1], rng.integers(0, 2**63, 20)])
    for seed in (0, 1, 2**32 - 1, 2**32, 2**63 - 1):
        words = philox(seed, counters.reshape(5, 5))
        assert (words.shape, words.dtype) == ((5, 5, 4), np.uint32)
        for counter, four in zip(counters.tolist(), words.reshape(-1, 4).tolist(), strict=True):
            state = [counter & 0xFFFFFFFF, counter >> 32, 0, 0]
            assert philox4x32(state, (seed & 0xFFFFFFFF, seed >> 32)).tolist() == four


@pytest.mark.parametrize("shape", [(0, 5), (3, 0), (1, 1), (3, 16), (4, 37), (7, 100)])
def test_an_elements_bits_are_the_byte_at_its_place(shape) -> None:
    mn, k = shape
    bits = random_bits(shape, 99)
    assert (bits.shape, bits.dtype) == (shape, np.uint8)
    counters = (k + 15) // 16
    for m in range(mn):
        for i in range(k):
            word = int(philox(99, m * counters + i // 16)[i // 4 % 4])
            assert bits[m, i] == word >> 8 * (i % 4) & 0xFF


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
