"""A kernel for tiles that are whole columns: some programs look for the amax of columns, others write codes.

Programs go from one panel of columns to the next. Codes of a panel are written a little after its amax was
looked for, while the L2 still holds its numbers. So x comes from memory once.
"""

import triton
import triton.language as tl

from kernels.quantize import meeting
from kernels.quantize.amax import part_amax
from kernels.quantize.prepare import loaded_block
from kernels.quantize.write import repair_block, write_block

LINES, APART = tl.constexpr(meeting.LINES), tl.constexpr(meeting.APART)
STORED = tl.constexpr("bar.sync 0; mov.b32 $0, $1;")
"""PTX for a barrier: what one thread counts after it comes after the stores of all."""
WAIT = tl.constexpr(
    "{ .reg .pred other, early; .reg .b32 thread, come; mov.u32 thread, %tid.x; "
    "setp.ge.u32 other, thread, 32; @other bra done; again: ld.acquire.gpu.global.b32 come, [$1]; "
    "setp.lt.s32 early, come, $2; @early bra again; done: bar.sync 0; mov.b32 $0, 0; }"
)
"""PTX with which one warp waits until a number in memory is as large as another; all others wait for it."""
LOAD = tl.constexpr("ld.relaxed.gpu.global.b32 $0, [$1];")
"""PTX for a load that sees what programs on other SMs have written."""


@triton.jit(do_not_specialize=["seed"])
def panel_kernel(
    x_ptr,
    state_ptr,
    amax_ptr,
    codes_ptr,
    scale_ptr,
    table_ptr,
    values_ptr,
    seed,
    mn,
    k,
    x_stride_mn,
    x_stride_k,
    codes_stride_mn,
    mn_tiles,
    members,
    panels,
    OPERAND: tl.constexpr,
    BLOCK_MN: tl.constexpr,
    BLOCK_K: tl.constexpr,
    AHEAD: tl.constexpr,
    TURNED: tl.constexpr,
    ACROSS: tl.constexpr,
    CAST: tl.constexpr,
):
    """Write codes and scales as quantize_kernel does, of tiles that are one element along mn and all of K.

    - state_ptr: zeros: programs that have started, and the tasks of each panel that are done. Those that
      count last leave zeros behind.
    - amax_ptr: int32[panels · BLOCK_MN], zeros at first.
    - members: blocks of a panel. AHEAD: panels between those whose amax is looked for and those that are
      written.

    A program takes its task in the order in which programs start, so that those that it waits for have
    started before, and they wait for nobody.
    """
    task = tl.atomic_add(state_ptr, 1, sem="relaxed")
    if task == tl.num_programs(0) - 1:
        tl.store(state_ptr, 0)
    panel, member = task // (2 * members), task % (2 * members)
    tensor = (x_ptr, mn, k, x_stride_mn, x_stride_k)
    if member % 2 == 0:
        if panel < panels:
            _find(tensor, state_ptr, amax_ptr, panel, member // 2, BLOCK_MN, BLOCK_K, TURNED, ACROSS, CAST)
    else:
        if panel >= AHEAD:
            _write(
                tensor,
                (state_ptr, amax_ptr, members),
                (codes_ptr, scale_ptr, table_ptr, values_ptr, seed, codes_stride_mn, mn_tiles),
                panel - AHEAD,
                member // 2,
                OPERAND,
                BLOCK_MN,
                BLOCK_K,
                TURNED,
                ACROSS,
                CAST,
            )


@triton.jit
def _find(
    tensor,
    state_ptr,
    amax_ptr,
    block_mn,
    block_k,
    BLOCK_MN: tl.constexpr,
    BLOCK_K: tl.constexpr,
    TURNED: tl.constexpr,
    ACROSS: tl.constexpr,
    CAST: tl.constexpr,
):
    """Raise the amax of a panel's columns to that of one of its blocks, and count it."""
    x_ptr, mn, k, x_stride_mn, x_stride_k = tensor
    x = loaded_block(
        x_ptr, block_mn, block_k, mn, k, x_stride_mn, x_stride_k, BLOCK_MN, BLOCK_K, False, TURNED, ACROSS
    )
    own = part_amax(x.to(tl.float32), BLOCK_MN, BLOCK_K, 1, BLOCK_K, CAST)  # [BLOCK_MN, 1]
    columns = block_mn * BLOCK_MN + tl.arange(0, BLOCK_MN)
    tl.atomic_max(amax_ptr + columns[:, None], own, sem="relaxed")
    if CAST:
        tl.inline_asm_elementwise(STORED, "=r,r", [block_mn], tl.int32, is_pure=False, pack=1)
    tl.atomic_add(_counter(state_ptr, block_mn), 1, sem="release")


@triton.jit
def _counter(state_ptr, block_mn):
    """Where a panel's tasks are counted: neighbors lie in different lines of the L2."""
    place = block_mn * APART
    return state_ptr + APART + place % (LINES * APART) + place // (LINES * APART)


@triton.jit
def _write(
    tensor,
    found,
    out,
    block_mn,
    block_k,
    OPERAND: tl.constexpr,
    BLOCK_MN: tl.constexpr,
    BLOCK_K: tl.constexpr,
    TURNED: tl.constexpr,
    ACROSS: tl.constexpr,
    CAST: tl.constexpr,
):
    """Write codes and scales of a block once the amax of its panel is found."""
    x_ptr, mn, k, x_stride_mn, x_stride_k = tensor
    state_ptr, amax_ptr, members = found
    codes_ptr, scale_ptr, table_ptr, values_ptr, seed, codes_stride_mn, mn_tiles = out
    x = loaded_block(
        x_ptr, block_mn, block_k, mn, k, x_stride_mn, x_stride_k, BLOCK_MN, BLOCK_K, False, TURNED, ACROSS
    )
    counter = _counter(state_ptr, block_mn)
    places = amax_ptr + block_mn * BLOCK_MN + tl.arange(0, BLOCK_MN)[:, None]
    if CAST:
        # What is loaded must not be asked for before: the wait's result, a zero, is a part of the place.
        places += tl.inline_asm_elementwise(
            WAIT, "=r,l,r", [counter, members], tl.int32, is_pure=False, pack=1
        )
        amax = tl.inline_asm_elementwise(LOAD, "=r,l", [places], tl.int32, is_pure=False, pack=1)
    else:
        amax = tl.load(places)
    if tl.atomic_add(counter, 1, sem="relaxed") == 2 * members - 1:
        tl.store(counter, 0)
    made = write_block(
        x,
        amax,
        None,
        codes_ptr,
        scale_ptr,
        None,
        None,
        table_ptr,
        values_ptr,
        seed,
        block_mn,
        block_k,
        mn,
        k,
        codes_stride_mn,
        mn_tiles,
        1,
        OPERAND,
        BLOCK_MN,
        BLOCK_K,
        0,
        CAST,
        TURNED,
        ACROSS,
    )
    repair_block(
        made,
        x_ptr,
        codes_ptr,
        table_ptr,
        seed,
        block_mn,
        block_k,
        mn,
        k,
        x_stride_mn,
        x_stride_k,
        codes_stride_mn,
        OPERAND,
        BLOCK_MN,
        BLOCK_K,
        False,
        TURNED,
        ACROSS,
        0,
        CAST,
    )
