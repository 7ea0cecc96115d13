"""Store codes; pack those of 4 and 6 bits into 32-bit words, in the order of fp8core.packing.

Eight codes of 4 bits fill a word, the first in the lowest bits. Sixteen codes of 6 bits fill three.
"""

import triton
import triton.language as tl

from kernels.bits import FP32_BITS, expand_parts
from kernels.quantize.blocks import SIDE_BY_SIDE


def _cast_of_four(format_: str) -> str:
    """PTX that casts four numbers to 8-bit codes and joins 6 bits of each: the lowest five and the sign."""
    return (
        "{ .reg .b16 low, high; .reg .b32 codes, sign, odd; "
        f"cvt.rn.satfinite.{format_}x2.f32 low, $2, $1; cvt.rn.satfinite.{format_}x2.f32 high, $4, $3; "
        "mov.b32 codes, {low, high}; shr.u32 sign, codes, 2; "
        "and.b32 codes, codes, 0x1f1f1f1f; and.b32 sign, sign, 0x20202020; or.b32 codes, codes, sign; "
        "shr.u32 odd, codes, 2; and.b32 codes, codes, 0x003f003f; and.b32 odd, odd, 0x0fc00fc0; "
        "or.b32 codes, codes, odd; "
        "shr.u32 odd, codes, 4; and.b32 codes, codes, 0xfff; and.b32 odd, odd, 0xfff000; "
        "or.b32 $0, codes, odd; }"
    )


CAST_E4M3, CAST_E5M2 = tl.constexpr(_cast_of_four("e4m3")), tl.constexpr(_cast_of_four("e5m2"))


@triton.jit
def store_codes(
    codes_ptr,
    codes,
    broken,
    rows,
    block_k,
    mn,
    stride_mn,
    ELEMENT: tl.constexpr,
    AT_ONCE: tl.constexpr,
):
    """Store a block's codes [BLOCK_MN, BLOCK_K] of `encode` or `ready_to_cast`.

    - broken: a flag for each part of the block, whose words become 0; or None.
    - rows: int32[BLOCK_MN], positions along mn. A row has stride_mn bytes, or words of packed codes.
    - AT_ONCE: bytes that a thread stores at once, or 0 for the most.
    """
    EACH: tl.constexpr = 1 if ELEMENT.bits == 8 else 4 if ELEMENT.bits == 6 else 8
    COLUMNS: tl.constexpr = codes.shape[1] // EACH
    position = tl.arange(0, COLUMNS)
    columns = block_k * COLUMNS + position
    if ELEMENT.bits == 8:
        stored = (codes - ELEMENT.raised).to(tl.uint8)
    elif ELEMENT.bits == 6:
        stored = _pack_sixes(codes, ELEMENT)
        # The last of four neighbors stores nothing: together, a warp's others fill whole sectors.
        columns = columns // 4 * 3 + position % 4
    else:
        stored = _pack_fours(codes, ELEMENT.raised)
    inside = columns < stride_mn
    if ELEMENT.bits == 6:
        inside = inside & (position % 4 < 3)
    if broken is not None:
        PART_MN: tl.constexpr = codes.shape[0] // broken.shape[0]
        PART_COLUMNS: tl.constexpr = COLUMNS // broken.shape[1]
        stored &= expand_parts(tl.where(broken, 0, -1), PART_MN, PART_COLUMNS)
    if AT_ONCE > 0:
        columns = tl.max_contiguous(columns, AT_ONCE)
    offsets = rows.to(tl.int64)[:, None] * stride_mn + columns[None, :]
    tl.store(codes_ptr + offsets, stored, mask=(rows < mn)[:, None] & inside[None, :])


@triton.jit
def store_patches(
    codes_ptr,
    codes,
    position,
    stride_mn,
    ELEMENT: tl.constexpr,
    THREAD_ROWS: tl.constexpr,
    PATCH: tl.constexpr,
    TURNED: tl.constexpr,
):
    """Store codes of 8 bits from the threads that have them: nothing goes through shared memory.

    codes: [BLOCK_MN, BLOCK_K] of a block of `load_runs` with this PATCH; if TURNED, of its transpose. Triton
    3.6 gives a store with this order of dims the threads of that load.
    """
    BLOCK_MN: tl.constexpr = codes.shape[0]
    BLOCK_K: tl.constexpr = codes.shape[1]
    block_mn, block_k, mn, _ = position
    stored = (codes - ELEMENT.raised).to(tl.uint8)
    if TURNED:
        SIDE: tl.constexpr = SIDE_BY_SIDE
        STRIPS: tl.constexpr = BLOCK_MN // PATCH
        LANES: tl.constexpr = PATCH // SIDE
        RUNS: tl.constexpr = BLOCK_K // THREAD_ROWS
        # [STRIPS, LANES, SIDE, RUNS, THREAD_ROWS] ->
        stored = tl.permute(tl.reshape(stored, [STRIPS, LANES, SIDE, RUNS, THREAD_ROWS]), (1, 3, 0, 2, 4))
        strip = tl.arange(0, STRIPS)[None, None, :, None, None] * PATCH
        lane = tl.arange(0, LANES)[:, None, None, None, None] * SIDE
        rows = block_mn * BLOCK_MN + strip + lane + tl.arange(0, SIDE)[None, None, None, :, None]
        run = tl.arange(0, RUNS)[None, :, None, None, None] * THREAD_ROWS
        columns = block_k * BLOCK_K + run + tl.arange(0, THREAD_ROWS)[None, None, None, None, :]
    else:
        STRIPS: tl.constexpr = BLOCK_K // PATCH
        RUNS: tl.constexpr = BLOCK_MN // THREAD_ROWS
        stored = tl.permute(tl.reshape(stored, [THREAD_ROWS, RUNS, STRIPS, PATCH]), (1, 2, 0, 3))
        run = tl.arange(0, RUNS)[:, None, None, None] * THREAD_ROWS
        rows = block_mn * BLOCK_MN + run + tl.arange(0, THREAD_ROWS)[None, None, :, None]
        strip = tl.arange(0, STRIPS)[None, :, None, None] * PATCH
        columns = block_k * BLOCK_K + strip
        columns += tl.max_contiguous(tl.arange(0, PATCH), SIDE_BY_SIDE)[None, None, None, :]
    offsets = rows.to(tl.int64) * stride_mn + columns
    tl.store(codes_ptr + offsets, stored, mask=(rows < mn) & (columns < stride_mn))


@triton.jit
def _pack_fours(codes, RAISED: tl.constexpr):
    """int32[BLOCK_MN, BLOCK_K / 8] of int32 codes [BLOCK_MN, BLOCK_K], each RAISED too high."""
    eights = tl.reshape(codes, [codes.shape[0], codes.shape[1] // 8, 8])
    # The sum's excess is the same for all words, modulo 2**32.
    return tl.sum(eights << (4 * tl.arange(0, 8))[None, None, :], axis=2) - _word(RAISED * 0x11111111)


@triton.jit
def _pack_sixes(codes, ELEMENT: tl.constexpr):
    """int32[BLOCK_MN, BLOCK_K / 4] of codes: three of four words hold sixteen; the last is anything."""
    BLOCK_MN: tl.constexpr = codes.shape[0]
    BLOCK_K: tl.constexpr = codes.shape[1]
    if codes.dtype == tl.float32:
        bits_24 = _cast_fours(codes, ELEMENT)
    else:
        fours = tl.reshape(codes.to(tl.int32), [BLOCK_MN, BLOCK_K // 4, 4])
        bits_24 = tl.sum(fours << (6 * tl.arange(0, 4))[None, None, :], axis=2)
        bits_24 -= _word(ELEMENT.raised * 0x41041)
    # [BLOCK_MN, runs of sixteen, 2, 2]: split takes the last dim apart.
    even, odd = tl.split(tl.reshape(bits_24, [BLOCK_MN, BLOCK_K // 16, 2, 2]))
    first, third = tl.split(even)
    second, fourth = tl.split(odd)
    low, middle, high = first | (second << 24), (second >> 8) | (third << 16), (third >> 16) | (fourth << 8)
    # [BLOCK_MN, runs, 2, 2]: join interleaves along a new last dim.
    words = tl.join(tl.join(low, high), tl.join(middle, high))
    return tl.reshape(words, [BLOCK_MN, BLOCK_K // 4])


@triton.jit
def _cast_fours(q, ELEMENT: tl.constexpr):
    """int32[BLOCK_MN, BLOCK_K / 4]: 24 bits, the codes of four numbers of `ready_to_cast`."""
    even, odd = tl.split(tl.reshape(q, [q.shape[0], q.shape[1] // 4, 2, 2]))
    first, third = tl.split(even)
    second, fourth = tl.split(odd)
    CAST: tl.constexpr = CAST_E4M3 if ELEMENT.mantissa == 3 else CAST_E5M2
    fours = [first, second, third, fourth]
    return tl.inline_asm_elementwise(CAST, "=r,f,f,f,f", fours, dtype=tl.int32, is_pure=True, pack=1)


@triton.jit
def _word(BITS: tl.constexpr):
    """int32, a scalar: the lowest 32 bits of BITS."""
    HALF: tl.constexpr = 2 ** (FP32_BITS - 1)
    return tl.full([], (BITS + HALF) % (2 * HALF) - HALF, tl.int32)
