"""Blocks of x: loads, order of rows, tiles of parts, saved copies, rotations.

The argument `position` is (block along mn, block along K, mn, K).
"""

import triton
import triton.language as tl

from kernels.bits import bf16_values, expand_parts, float_bits, float_of, fp32
from kernels.quantize import plan
from kernels.quantize.amax import part_amax
from kernels.quantize.encode import nearest
from kernels.quantize.facts import FP32
from kernels.quantize.scales import reciprocal_of, stored_scale

SIDE_BY_SIDE = tl.constexpr(plan.SIDE_BY_SIDE)
WORD = tl.constexpr(FP32.bits)


@triton.jit
def block_rows(block_mn, BLOCK_MN: tl.constexpr, THREAD_ROWS: tl.constexpr):
    """int32[BLOCK_MN]: positions along mn of a block's rows.

    THREAD_ROWS 0: in order. Else in the order of `load_runs`: the first of each THREAD_ROWS neighbors, then
    the second of each, and so on.
    """
    position = tl.arange(0, BLOCK_MN)
    if THREAD_ROWS > 0:
        RUNS: tl.constexpr = BLOCK_MN // THREAD_ROWS
        position = position % RUNS * THREAD_ROWS + position // RUNS
    return block_mn * BLOCK_MN + position


@triton.jit
def part_tiles(
    position,
    rows,
    mn_tiles,
    TILE_MN: tl.constexpr,
    TILE_K: tl.constexpr,
    PART_MN: tl.constexpr,
    PART_K: tl.constexpr,
    BLOCK_K: tl.constexpr,
):
    """(tiles, inside, first), each [parts along mn, parts along K], of a block's parts.

    tiles: int32, the part's tile in a buffer [k_tiles, mn_tiles]. inside: the part has elements of the
    tensor. first: the part is the first of its tile. TILE 0: the whole dim. rows: those of `block_rows`, in
    order unless parts span one row, or all.
    """
    BLOCK_MN: tl.constexpr = rows.shape[0]
    block_mn, block_k, mn, k = position
    if PART_MN > 1:
        rows = block_mn * BLOCK_MN + tl.arange(0, BLOCK_MN // PART_MN) * PART_MN
    columns = block_k * BLOCK_K + tl.arange(0, BLOCK_K // PART_K) * PART_K
    tile_mn = rows // TILE_MN if TILE_MN else rows * 0
    tile_k = columns // TILE_K if TILE_K else columns * 0
    tiles = tile_k[None, :] * mn_tiles + tile_mn[:, None]
    inside = (rows < mn)[:, None] & (columns < k)[None, :]
    first_mn = rows == tile_mn * TILE_MN if TILE_MN else rows == 0
    first_k = columns == tile_k * TILE_K if TILE_K else columns == 0
    return tiles, inside, inside & first_mn[:, None] & first_k[None, :]


@triton.jit
def load_block(x_ptr, position, strides, PLAN: tl.constexpr):
    """[BLOCK_MN, BLOCK_K]: a block of x [mn, k] for one operand, zero beyond x.

    If the operand lies down the columns, the load transposes the block.
    """
    if PLAN.down is not None:
        block_mn, block_k, mn, k = position
        stride_mn, stride_k = strides
        runs = load_runs(x_ptr, (block_k, block_mn, k, mn), (stride_k, stride_mn), PLAN)
        x = turn_over(runs, PLAN.thread_rows)
    else:
        x = load_rows(x_ptr, position, strides, PLAN)
    return x


@triton.jit
def load_rows(x_ptr, position, strides, PLAN: tl.constexpr):
    """[PLAN.rows, PLAN.columns], as `load_block`, rows in order.

    PLAN.sixteens: sixteen neighbors go to one thread. It loads eight numbers of 16 bits at once, and packs
    sixteen into two words: half the work a tile.
    """
    block_mn, block_k, mn, k = position
    stride_mn, stride_k = strides
    BLOCK_MN: tl.constexpr = PLAN.rows
    BLOCK_K: tl.constexpr = PLAN.columns
    HALF: tl.constexpr = 8
    rows = (block_mn * BLOCK_MN + tl.arange(0, BLOCK_MN))[:, None]
    if PLAN.sixteens:
        start_k = block_k * BLOCK_K
        position = tl.arange(0, BLOCK_K // 2)
        # Two dims, not three: of dims that look alike, Triton 3.6 would give a warp's threads the rows.
        columns = tl.max_contiguous(start_k + position // HALF * (2 * HALF) + position % HALF, HALF)
        left = _load(x_ptr, rows, columns[None, :], mn, k, stride_mn, stride_k)
        right = _load(x_ptr, rows, columns[None, :] + HALF, mn, k, stride_mn, stride_k)
        # [BLOCK_MN, runs, 8, 2] -> [BLOCK_MN, runs, 2, 8]
        pairs = tl.reshape(tl.join(left, right), [BLOCK_MN, BLOCK_K // (2 * HALF), HALF, 2])
        x = tl.reshape(tl.permute(pairs, (0, 1, 3, 2)), [BLOCK_MN, BLOCK_K])
    else:
        columns = (block_k * BLOCK_K + tl.arange(0, BLOCK_K))[None, :]
        x = _load(x_ptr, rows, columns, mn, k, stride_mn, stride_k)
    return x


@triton.jit
def _load(x_ptr, rows, columns, mn, k, stride_mn, stride_k):
    """x at rows [.., 1] and columns [1, ..]; zero beyond x [mn, k]."""
    offsets = rows.to(tl.int64) * stride_mn + columns.to(tl.int64) * stride_k
    return tl.load(x_ptr + offsets, mask=(rows < mn) & (columns < k), other=0.0)


@triton.jit
def load_runs(x_ptr, position, strides, PLAN: tl.constexpr):
    """[PLAN.rows, PLAN.columns], as `load_block`, with rows in the order of `block_rows`.

    A thread loads PLAN.at_once neighbors along K of PLAN.thread_rows neighboring rows. In plain order, Triton
    would give it rows far apart.
    """
    block_mn, block_k, mn, k = position
    stride_mn, stride_k = strides
    BLOCK_MN: tl.constexpr = PLAN.rows
    BLOCK_K: tl.constexpr = PLAN.columns
    THREAD_ROWS: tl.constexpr = PLAN.thread_rows
    PATCH: tl.constexpr = PLAN.patch
    AT_ONCE: tl.constexpr = PLAN.at_once
    if PATCH > 0:
        # Triton 3.6 spreads threads over the last dim, then over the others from the first one on; a thread
        # gets several numbers of the rest.
        run = tl.arange(0, BLOCK_MN // THREAD_ROWS)[:, None, None, None] * THREAD_ROWS
        rows = block_mn * BLOCK_MN + run + tl.arange(0, THREAD_ROWS)[None, None, :, None]
        strip = tl.arange(0, BLOCK_K // PATCH)[None, :, None, None] * PATCH
        columns = block_k * BLOCK_K + strip + tl.arange(0, PATCH)[None, None, None, :]
        patches = _load(x_ptr, rows, columns, mn, k, stride_mn, stride_k)
        return tl.reshape(tl.permute(patches, (2, 0, 1, 3)), [BLOCK_MN, BLOCK_K])
    columns = tl.max_contiguous(block_k * BLOCK_K + tl.arange(0, BLOCK_K), AT_ONCE)
    rows = block_rows(block_mn, BLOCK_MN, THREAD_ROWS)
    return _load(x_ptr, rows[:, None], columns[None, :], mn, k, stride_mn, stride_k)


@triton.jit
def turn_over(x, THREAD_ROWS: tl.constexpr):
    """A transposed block of `load_runs`, rows in order. No number leaves its thread."""
    BLOCK_MN: tl.constexpr = x.shape[0]
    BLOCK_K: tl.constexpr = x.shape[1]
    x = tl.permute(tl.reshape(x, [THREAD_ROWS, BLOCK_MN // THREAD_ROWS, BLOCK_K]), (2, 1, 0))
    return tl.reshape(x, [BLOCK_K, BLOCK_MN])


@triton.jit
def prepare(x, block_k, k, OPERAND: tl.constexpr, CAST: tl.constexpr):
    """float32: a block of x [mn, k], ready to scale. OPERAND: OperandFacts."""
    x = x.to(tl.float32)
    SAVED: tl.constexpr = OPERAND.saved
    ROTATION: tl.constexpr = OPERAND.rotation
    if SAVED is not None:
        x = _saved(x, SAVED, CAST)
    if ROTATION is not None:
        x = _rotated(x, block_k, k, ROTATION, CAST)
    return x


@triton.jit
def _saved(x, SAVED: tl.constexpr, CAST: tl.constexpr):
    """float32: values of x's saved copy, whose tiles fit the block."""
    # Triton 3.6 passes a part of a constant on only by a name of its own.
    ELEMENT: tl.constexpr = SAVED.element
    RULE: tl.constexpr = SAVED.rule
    amax = part_amax(x, SAVED.part_mn, SAVED.part_k, CAST)
    scale = stored_scale(amax, amax, RULE)
    reciprocal = reciprocal_of(scale, RULE)
    q = x * expand_parts(reciprocal, SAVED.part_mn, SAVED.part_k)
    # The scale of a broken tile is NaN, and so is each of its values.
    values = nearest(q, None, None, ELEMENT)
    return values * expand_parts(scale, SAVED.part_mn, SAVED.part_k)


@triton.jit
def _rotated(x, block_k, k, ROTATION: tl.constexpr, CAST: tl.constexpr):
    """float32: runs of x times a Hadamard matrix, in fp32, then rounded to bf16.

    Signs come first, then sums and differences of neighbors, of
    pairs, of fours and so on, then 1/sqrt(size). A last run that K cuts short is only rounded.
    """
    SIZE: tl.constexpr = ROTATION.size
    columns = block_k * x.shape[1] + tl.arange(0, x.shape[1])
    y = float_of(float_bits(x) ^ _negative(columns % SIZE, ROTATION)[None, :])
    STAGES: tl.constexpr = ROTATION.stages
    for stage in tl.static_range(STAGES):
        y = _butterfly(y, 1 << stage)
    y *= fp32(ROTATION.factor_bits)
    whole = columns // SIZE * SIZE + SIZE <= k
    y = tl.where(whole[None, :], y, x)
    return bf16_values(y, CAST)


@triton.jit
def _butterfly(y, HALF: tl.constexpr):
    """float32: numbers a and b, HALF apart, become a + b and a - b."""
    own = tl.reshape(y, [y.shape[0], y.shape[1] // (2 * HALF), 2, HALF])
    # The other number of a pair, by its bits: the sum of both, as whole numbers, less its own.
    other = float_of(tl.sum(float_bits(own), axis=2)[:, :, None, :] - float_bits(own))
    # A minus in Triton 3.6 is a difference from +0, which has no -0.
    sign = (tl.arange(0, 2) << (WORD - 1))[None, None, :, None]
    return tl.reshape(other + float_of(float_bits(own) ^ sign), [y.shape[0], y.shape[1]])


@triton.jit
def _negative(position, ROTATION: tl.constexpr):
    """int32: fp32's sign bit if the sign of this position in a run is -1, else 0."""
    word = position * 0
    WORDS: tl.constexpr = ROTATION.words
    for number in tl.static_range(WORDS):
        word = tl.where(position // WORD == number, ROTATION.negative[number], word)
    return (word >> (position % WORD)) << (WORD - 1)
