"""Contract: a tensor map takes another address only if that is its first word and no other changes."""

import ctypes

import pytest

from kernels.launching.driver import Driver
from kernels.launching.parameters import MAP_WORDS, Uncacheable

ADDRESS = 0x7F12_3456_7890


class OwnMaps(Driver):
    """A driver whose maps are the words that a function makes of an address."""

    def __init__(self, words) -> None:
        self._words = words

    def _encode(self, destination, tensor_map, address):
        (ctypes.c_uint64 * MAP_WORDS).from_address(destination)[:] = self._words(address)


@pytest.mark.parametrize(
    ("words", "fits"),
    [
        (lambda address: [address, *range(1, MAP_WORDS)], True),
        (lambda address: [address & 0xFFFF_FFFF, *range(1, MAP_WORDS)], False),
        (lambda address: [7, address, *range(2, MAP_WORDS)], False),
        (lambda address: [address, *range(1, MAP_WORDS - 1), address >> 39], False),
    ],
    ids=["first word", "half of it", "second word", "high bits in the last word, too"],
)
def test_maps_that_change_in_more_than_their_first_word_are_not_cached(words, fits):
    memory = (ctypes.c_uint64 * MAP_WORDS)()
    encode = lambda: OwnMaps(words).encode(ctypes.addressof(memory), None, ADDRESS)  # noqa: E731
    if fits:
        encode()
        assert [*memory] == words(ADDRESS)
    else:
        with pytest.raises(Uncacheable, match="not an address and words that stay"):
            encode()
