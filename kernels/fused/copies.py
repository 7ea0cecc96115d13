"""Copies of a computed block: written along its rows, down its columns, or both."""

import triton
import triton.language as tl

from kernels.bits import FP32_INF
from kernels.quantize.amax import part_amax, whole_amax
from kernels.quantize.prepare import patch_of, turned_over
from kernels.quantize.write import store_repaired, write_block


@triton.jit
def write_copies(
    runs,
    block_row,
    block_column,
    rows,
    columns,
    along,
    down,
    ALONG: tl.constexpr,
    DOWN: tl.constexpr,
    BLOCK_ROWS: tl.constexpr,
    BLOCK_COLUMNS: tl.constexpr,
    EACH: tl.constexpr,
    IN_RUNS: tl.constexpr,
    SHARED: tl.constexpr,
    CAST: tl.constexpr,
):
    """Write the codes and scales of a block `runs` of a tensor [rows, columns] for one operand or two.

    ALONG: the facts of the operand whose K runs along the rows, DOWN: of the one whose K runs down the
    columns; None where there is none. `runs` has its rows in the order of EACH, and ALONG takes them so where
    IN_RUNS. along, down: what the kernel is given for each, from amax_ptr to outer_mn_tiles. SHARED: both ask
    for the same amax of the whole tensor.
    """
    ACROSS: tl.constexpr = patch_of(BLOCK_COLUMNS)
    if SHARED:
        # Each program looks for it once, not once for each operand.
        whole, outer_whole, own = along[0], along[1], along[5]
        if whole is not None:
            whole = whole_amax(whole, ALONG.partials)
        if outer_whole is not None:
            outer_whole = whole_amax(outer_whole, ALONG.partials)
        if own is not None:
            own = tl.max(part_amax(runs, BLOCK_ROWS, BLOCK_COLUMNS, BLOCK_ROWS, BLOCK_COLUMNS, CAST))
            tl.atomic_max(along[5], own, sem="relaxed")
    if EACH > 0:
        turned = turned_over(runs, BLOCK_ROWS, BLOCK_COLUMNS, EACH)
    if ALONG is not None:
        if IN_RUNS or EACH == 0:
            x = runs
            ORDER: tl.constexpr = EACH
        else:
            x = tl.trans(turned)
            ORDER: tl.constexpr = 0
        amax, outer_amax, codes, scale, outer_scale, new_amax, table, values, seed, stride, tiles, outer = (
            along
        )
        if SHARED:
            amax, outer_amax, new_amax = whole, outer_whole, own
        made = write_block(
            x,
            amax,
            outer_amax,
            codes,
            scale,
            outer_scale,
            new_amax,
            table,
            values,
            seed,
            block_row,
            block_column,
            rows,
            columns,
            stride,
            tiles,
            outer,
            ALONG,
            BLOCK_ROWS,
            BLOCK_COLUMNS,
            ORDER,
            CAST,
            EACH,
            ACROSS if ORDER > 0 else 0,
        )
        _repair(
            made,
            x,
            codes,
            table,
            seed,
            block_row,
            block_column,
            rows,
            columns,
            stride,
            ALONG,
            BLOCK_ROWS,
            BLOCK_COLUMNS,
            ORDER,
            CAST,
        )
    if DOWN is not None:
        amax, outer_amax, codes, scale, outer_scale, new_amax, table, values, seed, stride, tiles, outer = (
            down
        )
        if SHARED:
            amax, outer_amax, new_amax = whole, outer_whole, own
        made = write_block(
            turned,
            amax,
            outer_amax,
            codes,
            scale,
            outer_scale,
            new_amax,
            table,
            values,
            seed,
            block_column,
            block_row,
            columns,
            rows,
            stride,
            tiles,
            outer,
            DOWN,
            BLOCK_COLUMNS,
            BLOCK_ROWS,
            0,
            CAST,
            EACH,
            ACROSS,
        )
        _repair(
            made,
            turned,
            codes,
            table,
            seed,
            block_column,
            block_row,
            columns,
            rows,
            stride,
            DOWN,
            BLOCK_COLUMNS,
            BLOCK_ROWS,
            0,
            CAST,
        )


@triton.jit
def _repair(
    made,
    x,
    codes_ptr,
    table_ptr,
    seed,
    block_mn,
    block_k,
    mn,
    k,
    codes_stride_mn,
    OPERAND: tl.constexpr,
    BLOCK_MN: tl.constexpr,
    BLOCK_K: tl.constexpr,
    EACH: tl.constexpr,
    CAST: tl.constexpr,
):
    """Store the codes of a block x again if NaN or infinity is in it, which is rare."""
    ELEMENT: tl.constexpr = OPERAND.element
    _, _, worst = made
    if not (OPERAND.in_words or ELEMENT.encode_by == "cast") and tl.max(worst) >= FP32_INF:
        store_repaired(
            made,
            x,
            codes_ptr,
            table_ptr,
            seed,
            block_mn,
            block_k,
            mn,
            k,
            codes_stride_mn,
            OPERAND,
            BLOCK_MN,
            BLOCK_K,
            EACH,
            CAST,
        )
