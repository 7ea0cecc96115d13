"""Packing: codes of 4 and 6 bits leave the kernel as they lie in memory (fp8core.packing), in 32-bit words.

Eight codes of 4 bits fill a word, the first in the lowest bits. Sixteen codes of 6 bits fill three.
"""

import triton
import triton.language as tl

from kernels.bits import FP32_BITS


@triton.jit
def store_codes(
    codes_ptr,
    codes,
    block_mn,
    block_k,
    mn,
    stride_mn,
    ELEMENT: tl.constexpr,
    BLOCK_MN: tl.constexpr,
    BLOCK_K: tl.constexpr,
):
    """Store a block's codes [BLOCK_MN, BLOCK_K], as `encode` gives them, in rows of stride_mn bytes, or of as
    many words where they are packed.
    """
    if ELEMENT.bits == 8:
        COLUMNS: tl.constexpr = BLOCK_K
        stored = codes.to(tl.uint8)
        place = tl.arange(0, COLUMNS)
        columns = block_k * COLUMNS + place
        inside = columns < stride_mn
    elif ELEMENT.bits == 6:
        # Of four neighbors the last one stores nothing: together, a warp's others fill whole sectors.
        COLUMNS: tl.constexpr = BLOCK_K // 4
        stored = _pack_sixes(codes, ELEMENT.raised, BLOCK_MN, BLOCK_K)
        place = tl.arange(0, COLUMNS)
        columns = block_k * (COLUMNS // 4 * 3) + place // 4 * 3 + place % 4
        inside = (columns < stride_mn) & (place % 4 < 3)
    else:
        COLUMNS: tl.constexpr = BLOCK_K // 8
        stored = _pack_fours(codes, ELEMENT.raised, BLOCK_MN, BLOCK_K)
        columns = block_k * COLUMNS + tl.arange(0, COLUMNS)
        inside = columns < stride_mn
    rows = block_mn * BLOCK_MN + tl.arange(0, BLOCK_MN)
    places = rows.to(tl.int64)[:, None] * stride_mn + columns[None, :]
    tl.store(codes_ptr + places, stored, mask=(rows < mn)[:, None] & inside[None, :])


@triton.jit
def _pack_fours(codes, RAISED: tl.constexpr, BLOCK_MN: tl.constexpr, BLOCK_K: tl.constexpr):
    """int32[BLOCK_MN, BLOCK_K / 8] of int32 codes [BLOCK_MN, BLOCK_K], each RAISED too high."""
    eights = tl.reshape(codes, [BLOCK_MN, BLOCK_K // 8, 8])
    # What the sum has too much is the same for all words, modulo 2**32.
    return tl.sum(eights << (4 * tl.arange(0, 8))[None, None, :], axis=2) - _word(RAISED * 0x11111111)


@triton.jit
def _pack_sixes(codes, RAISED: tl.constexpr, BLOCK_MN: tl.constexpr, BLOCK_K: tl.constexpr):
    """int32[BLOCK_MN, BLOCK_K / 4] of int32 codes [BLOCK_MN, BLOCK_K], each RAISED too high.

    Of four words, three hold sixteen codes; the last one is anything.
    """
    fours = tl.reshape(codes, [BLOCK_MN, BLOCK_K // 4, 4])
    bits_24 = tl.sum(fours << (6 * tl.arange(0, 4))[None, None, :], axis=2) - _word(RAISED * 0x41041)
    # [BLOCK_MN, runs of sixteen, 2, 2]: split takes the last dim apart.
    even, odd = tl.split(tl.reshape(bits_24, [BLOCK_MN, BLOCK_K // 16, 2, 2]))
    first, third = tl.split(even)
    second, fourth = tl.split(odd)
    low, middle, high = first | (second << 24), (second >> 8) | (third << 16), (third >> 16) | (fourth << 8)
    # [BLOCK_MN, runs, 2, 2]: of two that are joined, the first one is even along the new last dim.
    words = tl.join(tl.join(low, high), tl.join(middle, high))
    return tl.reshape(words, [BLOCK_MN, BLOCK_K // 4])


@triton.jit
def _word(BITS: tl.constexpr):
    """int32, a scalar: the lowest bits of these."""
    HALF: tl.constexpr = 2 ** (FP32_BITS - 1)
    return tl.full([], (BITS + HALF) % (2 * HALF) - HALF, tl.int32)
