"""Random bits from a counter: Philox 4x32 with ten rounds.

Source: Salmon, Moraes, Dror, Shaw, "Parallel random numbers: as easy as 1, 2, 3", SC 2011. Numbers depend on
counter and key alone, so a kernel and the reference draw an element's bits alike. `philox` is Triton's
`tl.randint4x`, bit for bit.
"""

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fp8core.arrays import UInt8
from fp8core.checks import codes_of, whole

ROUNDS = 10
WORDS = 4
KEY_WORDS = 2
_WORD_BITS = np.iinfo(np.uint32).bits
_LOW_WORD = np.iinfo(np.uint32).max
_MULTIPLIERS = (np.uint64(0xD2511F53), np.uint64(0xCD9E8D57))
_KEY_STEPS = (0x9E3779B9, 0xBB67AE85)
MAX_SEED = np.iinfo(np.int64).max
_BYTES = WORDS * np.dtype(np.uint32).itemsize


def philox4x32(counters: ArrayLike, key: tuple[int, int]) -> NDArray[np.uint32]:
    """uint32[..., 4]: random words of counters uint32[..., 4] under a key of two 32-bit words.

    Raises ValueError for other counters or keys.
    """
    words = codes_of("a counter's words", _WORD_BITS, counters).astype(np.uint64)
    if words.ndim == 0 or words.shape[-1] != WORDS:
        raise ValueError(f"a counter has {WORDS} words along the last axis, got shape {words.shape}")
    if len(key) != KEY_WORDS:
        raise ValueError(f"a key has {KEY_WORDS} words, got {len(key)}")
    first, second = (whole("a key's word", word, 0, _LOW_WORD) for word in key)
    c0, c1, c2, c3 = np.ascontiguousarray(np.moveaxis(words, -1, 0))
    for _ in range(ROUNDS):
        low, high = _MULTIPLIERS[0] * c0, _MULTIPLIERS[1] * c2
        c0, c1 = (high >> _WORD_BITS) ^ c1 ^ np.uint64(first), high & _LOW_WORD
        c2, c3 = (low >> _WORD_BITS) ^ c3 ^ np.uint64(second), low & _LOW_WORD
        first, second = (first + _KEY_STEPS[0]) & _LOW_WORD, (second + _KEY_STEPS[1]) & _LOW_WORD
    return np.stack([c0, c1, c2, c3], axis=-1).astype(np.uint32)


def philox(seed: int, counters: ArrayLike) -> NDArray[np.uint32]:
    """uint32[..., 4]: random words of counters int64[...], as `tl.randint4x(seed, counters)`.

    Raises ValueError for a seed or counters out of range.
    """
    seed = whole("a seed", seed, 0, MAX_SEED)
    counters = codes_of("philox's counters", MAX_SEED.bit_length(), counters).astype(np.uint64)
    words = np.zeros((*counters.shape, WORDS), np.uint32)
    words[..., 0], words[..., 1] = counters & _LOW_WORD, counters >> _WORD_BITS
    return philox4x32(words, (seed & _LOW_WORD, seed >> _WORD_BITS))


def random_bits(shape: tuple[int, int], seed: int) -> UInt8:
    """uint8[mn, k]: eight random bits for each element of an operand.

    One counter serves 16 elements along K: element (m, i) takes byte i % 4, from the lowest, of word
    (i // 4) % 4 of counter m · ceil(k / 16) + i // 16. Raises ValueError for a negative length or seed.
    """
    if len(shape) != 2:
        raise ValueError(f"an operand has 2 lengths, got {len(shape)}")
    mn, k = (whole("a length of an operand", length, 0) for length in shape)
    counters = -(-k // _BYTES)
    words = philox(seed, np.arange(mn * counters).reshape(mn, counters))
    return words.astype("<u4", copy=False).view(np.uint8).reshape(mn, counters * _BYTES)[:, :k]
