"""Packing: codes of 4 and 6 bits leave the kernel as they lie in memory (fp8core.packing), in 32-bit words.

Eight codes of 4 bits fill a word, the first in the lowest bits. Sixteen codes of 6 bits fill three.
"""

import triton
import triton.language as tl


@triton.jit
def store_codes(
    codes_ptr,
    codes,
    block_mn,
    block_k,
    mn,
    stride_mn,
    BITS: tl.constexpr,
    BLOCK_MN: tl.constexpr,
    BLOCK_K: tl.constexpr,
):
    """Store the codes [BLOCK_MN, BLOCK_K] of a block in rows of stride_mn bytes, or words where they are
    packed.
    """
    if BITS == 8:
        _store(codes_ptr, codes.to(tl.uint8), block_mn, block_k, mn, stride_mn, 1, 0, BLOCK_MN, BLOCK_K)
    elif BITS == 6:
        RUNS: tl.constexpr = BLOCK_K // 16
        first, second, third = _pack_sixes(codes, BLOCK_MN, BLOCK_K)
        _store(codes_ptr, first, block_mn, block_k, mn, stride_mn, 3, 0, BLOCK_MN, RUNS)
        _store(codes_ptr, second, block_mn, block_k, mn, stride_mn, 3, 1, BLOCK_MN, RUNS)
        _store(codes_ptr, third, block_mn, block_k, mn, stride_mn, 3, 2, BLOCK_MN, RUNS)
    else:
        words = _pack_fours(codes, BLOCK_MN, BLOCK_K)
        _store(codes_ptr, words, block_mn, block_k, mn, stride_mn, 1, 0, BLOCK_MN, BLOCK_K // 8)


@triton.jit
def _store(
    codes_ptr,
    stored,
    block_mn,
    block_k,
    mn,
    stride_mn,
    EVERY: tl.constexpr,
    START: tl.constexpr,
    BLOCK_MN: tl.constexpr,
    COLUMNS: tl.constexpr,
):
    """Store [BLOCK_MN, COLUMNS] bytes or words, one in EVERY from START on."""
    rows = block_mn * BLOCK_MN + tl.arange(0, BLOCK_MN)
    columns = (block_k * COLUMNS + tl.arange(0, COLUMNS)) * EVERY + START
    mask = (rows < mn)[:, None] & (columns < stride_mn)[None, :]
    tl.store(codes_ptr + rows.to(tl.int64)[:, None] * stride_mn + columns[None, :], stored, mask=mask)


@triton.jit
def _pack_fours(codes, BLOCK_MN: tl.constexpr, BLOCK_K: tl.constexpr):
    """int32[BLOCK_MN, BLOCK_K / 8] of int32 codes [BLOCK_MN, BLOCK_K]."""
    eights = tl.reshape(codes, [BLOCK_MN, BLOCK_K // 8, 8])
    return tl.sum(eights << (4 * tl.arange(0, 8))[None, None, :], axis=2)


@triton.jit
def _pack_sixes(codes, BLOCK_MN: tl.constexpr, BLOCK_K: tl.constexpr):
    """Three int32[BLOCK_MN, BLOCK_K / 16] of int32 codes [BLOCK_MN, BLOCK_K]: the words of sixteen codes."""
    fours = tl.reshape(codes, [BLOCK_MN, BLOCK_K // 4, 4])
    bits_24 = tl.sum(fours << (6 * tl.arange(0, 4))[None, None, :], axis=2)
    # [BLOCK_MN, runs of sixteen, 2, 2]: split takes the last dim apart.
    even, odd = tl.split(tl.reshape(bits_24, [BLOCK_MN, BLOCK_K // 16, 2, 2]))
    first, third = tl.split(even)
    second, fourth = tl.split(odd)
    return first | (second << 24), (second >> 8) | (third << 16), (third >> 16) | (fourth << 8)
