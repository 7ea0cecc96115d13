"""A block before it is scaled: it is loaded, it may come out of a saved copy, and it may be rotated."""

import triton
import triton.language as tl

from kernels.bits import expand_parts
from kernels.quantize import plan
from kernels.quantize.amax import part_amax
from kernels.quantize.encode import nearest
from kernels.quantize.pack import SIDE_BY_SIDE
from kernels.quantize.places import block_rows
from kernels.quantize.rotate import rotate
from kernels.quantize.scales import reciprocal_of, stored_scale

patch_of = triton.constexpr_function(plan.patch_of)


@triton.jit
def loaded_block(
    x_ptr,
    block_mn,
    block_k,
    mn,
    k,
    stride_mn,
    stride_k,
    BLOCK_MN: tl.constexpr,
    BLOCK_K: tl.constexpr,
    SIXTEENS: tl.constexpr,
    TURNED: tl.constexpr,
    ACROSS: tl.constexpr,
    AT_ONCE: tl.constexpr = SIDE_BY_SIDE,
):
    """[BLOCK_MN, BLOCK_K]: a block of x [mn, k] as it lies in memory; zero beyond x.

    SIXTEENS, TURNED, ACROSS, AT_ONCE: how a thread loads it, see QuantizePlan in plan.py.
    """
    rows = block_mn * BLOCK_MN + tl.arange(0, BLOCK_MN)
    columns = block_k * BLOCK_K + tl.arange(0, BLOCK_K)
    if SIXTEENS:
        x = _load_sixteens(x_ptr, rows, block_k * BLOCK_K, mn, k, stride_mn, stride_k, BLOCK_MN, BLOCK_K)
    elif TURNED > 0:
        x = loaded_runs(
            x_ptr, block_k, block_mn, k, mn, stride_k, stride_mn, BLOCK_K, BLOCK_MN, TURNED, ACROSS, AT_ONCE
        )
        x = turned_over(x, BLOCK_K, BLOCK_MN, TURNED)
    else:
        x = _load(x_ptr, rows[:, None], columns[None, :], mn, k, stride_mn, stride_k)
    return x


@triton.jit
def prepared(
    x,
    block_k,
    k,
    OPERAND: tl.constexpr,
    BLOCK_MN: tl.constexpr,
    BLOCK_K: tl.constexpr,
    CAST: tl.constexpr,
):
    """float32[BLOCK_MN, BLOCK_K]: a block of x [mn, k] as it is scaled. OPERAND: the operand's facts."""
    x = x.to(tl.float32)
    SAVED: tl.constexpr = OPERAND.saved
    ROTATION: tl.constexpr = OPERAND.rotation
    if SAVED is not None:
        x = _saved(x, SAVED, BLOCK_MN, BLOCK_K, CAST)
    if ROTATION is not None:
        x = rotate(x, block_k * BLOCK_K + tl.arange(0, BLOCK_K), k, ROTATION, BLOCK_MN, BLOCK_K, CAST)
    return x


@triton.jit
def _load(x_ptr, rows, columns, mn, k, stride_mn, stride_k):
    """x at rows [.., 1] and columns [1, ..]; zero beyond x [mn, k]."""
    offsets = rows.to(tl.int64) * stride_mn + columns.to(tl.int64) * stride_k
    return tl.load(x_ptr + offsets, mask=(rows < mn) & (columns < k), other=0.0)


@triton.jit
def _load_sixteens(
    x_ptr, rows, start_k, mn, k, stride_mn, stride_k, BLOCK_MN: tl.constexpr, BLOCK_K: tl.constexpr
):
    """[BLOCK_MN, BLOCK_K], as `_load`: sixteen neighbors go to one thread.

    A thread loads eight numbers of 16 bits at once. Of twice eight in a row it packs two words, and it does
    half as often what is done for each tile.
    """
    HALF: tl.constexpr = 8
    place = tl.arange(0, BLOCK_K // 2)
    # Two dims, not three: of dims that look alike, Triton 3.6 would give a warp's threads the rows.
    columns = tl.max_contiguous(start_k + place // HALF * (2 * HALF) + place % HALF, HALF)
    left = _load(x_ptr, rows[:, None], columns[None, :], mn, k, stride_mn, stride_k)
    right = _load(x_ptr, rows[:, None], columns[None, :] + HALF, mn, k, stride_mn, stride_k)
    # [BLOCK_MN, runs, 8, 2] -> [BLOCK_MN, runs, 2, 8]
    pairs = tl.reshape(tl.join(left, right), [BLOCK_MN, BLOCK_K // (2 * HALF), HALF, 2])
    return tl.reshape(tl.permute(pairs, (0, 1, 3, 2)), [BLOCK_MN, BLOCK_K])


@triton.jit
def loaded_runs(
    x_ptr,
    block_mn,
    block_k,
    mn,
    k,
    stride_mn,
    stride_k,
    BLOCK_MN: tl.constexpr,
    BLOCK_K: tl.constexpr,
    EACH: tl.constexpr,
    ACROSS: tl.constexpr = 0,
    AT_ONCE: tl.constexpr = SIDE_BY_SIDE,
):
    """[BLOCK_MN, BLOCK_K], as `loaded_block`, with rows in the order of `block_rows`.

    A thread loads AT_ONCE neighbors along K, of several rows. Triton would give it rows that lie apart. In
    this order they are EACH neighbors. ACROSS, if any: neighbors along K of a warp, which goes on along mn.
    """
    if ACROSS > 0:
        # Triton 3.6 spreads threads over the last dim, then over the others from the first one on. What is
        # left are several numbers of a thread.
        run = tl.arange(0, BLOCK_MN // EACH)[:, None, None, None] * EACH
        rows = block_mn * BLOCK_MN + run + tl.arange(0, EACH)[None, None, :, None]
        strip = tl.arange(0, BLOCK_K // ACROSS)[None, :, None, None] * ACROSS
        columns = block_k * BLOCK_K + strip + tl.arange(0, ACROSS)[None, None, None, :]
        patches = _load(x_ptr, rows, columns, mn, k, stride_mn, stride_k)
        return tl.reshape(tl.permute(patches, (2, 0, 1, 3)), [BLOCK_MN, BLOCK_K])
    columns = tl.max_contiguous(block_k * BLOCK_K + tl.arange(0, BLOCK_K), AT_ONCE)
    rows = block_rows(block_mn, BLOCK_MN, EACH)
    return _load(x_ptr, rows[:, None], columns[None, :], mn, k, stride_mn, stride_k)


@triton.jit
def turned_over(x, BLOCK_MN: tl.constexpr, BLOCK_K: tl.constexpr, EACH: tl.constexpr):
    """[BLOCK_K, BLOCK_MN]: the transpose of what `loaded_runs` gave, in order.

    A thread keeps its numbers, and those that were neighbors along mn are neighbors along K.
    """
    x = tl.permute(tl.reshape(x, [EACH, BLOCK_MN // EACH, BLOCK_K]), (2, 1, 0))
    return tl.reshape(x, [BLOCK_K, BLOCK_MN])


@triton.jit
def _saved(x, SAVED: tl.constexpr, BLOCK_MN: tl.constexpr, BLOCK_K: tl.constexpr, CAST: tl.constexpr):
    """float32[BLOCK_MN, BLOCK_K]: the values of the copy that was saved of x, whose tiles fit the block."""
    # Triton 3.6 hands a part of a constant on only where it has a name of its own.
    ELEMENT: tl.constexpr = SAVED.element
    RULE: tl.constexpr = SAVED.rule
    amax = part_amax(x, BLOCK_MN, BLOCK_K, SAVED.part_mn, SAVED.part_k, CAST)
    scale = stored_scale(amax, amax, RULE)
    reciprocal = reciprocal_of(scale, RULE)
    q = x * expand_parts(reciprocal, BLOCK_MN, BLOCK_K, SAVED.part_mn, SAVED.part_k)
    # The scale of a broken tile is NaN, and so is each of its values.
    values = nearest(q, None, None, ELEMENT)
    return values * expand_parts(scale, BLOCK_MN, BLOCK_K, SAVED.part_mn, SAVED.part_k)
