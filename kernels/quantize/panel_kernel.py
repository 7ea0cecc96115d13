"""A kernel for tiles that are whole columns: programs share some columns, a panel, and meet by panel.

Each program holds a block of its panel, and tells the others the amax of its part of each column. So x is
read once, though no program holds a whole column. While a panel's programs wait for each other, their blocks
of the next panels are on the way.
"""

import triton
import triton.language as tl

from kernels.quantize import meeting
from kernels.quantize.amax import part_amax
from kernels.quantize.prepare import loaded_block
from kernels.quantize.write import repair_block, write_block

FIRST = tl.constexpr(meeting.FIRST)
STORED = tl.constexpr("bar.sync 0; mov.b32 $0, $1;")
"""PTX for a barrier. One thread counts for its program: the stores of all come before that. With Triton's own
barrier, loads of a loop would not be started early.
"""
WAIT = tl.constexpr(
    "{ .reg .pred early; .reg .b32 come; again: ld.acquire.gpu.global.b32 come, [$1]; "
    "setp.lt.s32 early, come, $2; @early bra again; mov.b32 $0, come; }"
)
"""PTX that waits until a number in memory is as large as another one."""
LOAD = tl.constexpr("ld.relaxed.gpu.global.b32 $0, [$1];")
"""PTX for a load that sees what programs on other SMs have written."""


@triton.jit(do_not_specialize=["seed"])
def panel_kernel(
    x_ptr,
    state_ptr,
    partial_ptr,
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
    MEMBERS: tl.constexpr,
    STAGES: tl.constexpr,
    TURNED: tl.constexpr,
    ACROSS: tl.constexpr,
    CAST: tl.constexpr,
):
    """Write codes and scales as quantize_kernel does, of tiles that are one element along mn and all of K.

    - state_ptr: zeros, one for each panel and FIRST before: programs that have started, and that are done.
      The last one of these leaves zeros behind.
    - partial_ptr: int32[MEMBERS, panels · BLOCK_MN], the bits of the amax that each program finds.
    - members: programs of a panel, at most MEMBERS. As many must be able to run at once.
    - STAGES: blocks of a program that are on the way, or in use.

    A program takes its place in the order in which programs start: those that it waits for have started, or
    are the next to start.
    """
    place = tl.atomic_add(state_ptr, 1, sem="relaxed")
    block_k = place % members
    for block_mn in tl.range(place // members, panels, tl.num_programs(0) // members, num_stages=STAGES):
        x = loaded_block(
            x_ptr,
            block_mn,
            block_k,
            mn,
            k,
            x_stride_mn,
            x_stride_k,
            BLOCK_MN,
            BLOCK_K,
            False,
            TURNED,
            ACROSS,
        )
        own = part_amax(x.to(tl.float32), BLOCK_MN, BLOCK_K, 1, BLOCK_K, CAST)  # [BLOCK_MN, 1]
        columns = block_mn * BLOCK_MN + tl.arange(0, BLOCK_MN)
        width = panels * BLOCK_MN
        tl.store(partial_ptr + (block_k * width + columns)[:, None], own)
        amax = _whole_amax(partial_ptr + columns, state_ptr + FIRST + block_mn, width, members, MEMBERS, CAST)
        made = write_block(
            x,
            amax[:, None],
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
    done = tl.atomic_add(state_ptr + 1, 1, sem="acq_rel") + 1
    if done == tl.num_programs(0):
        words = FIRST + panels
        for start in range(0, words, 1024):
            word = start + tl.arange(0, 1024)
            tl.store(state_ptr + word, 0, mask=word < words)


@triton.jit
def _whole_amax(partial_ptrs, come_ptr, width, members, MEMBERS: tl.constexpr, CAST: tl.constexpr):
    """int32[BLOCK_MN]: the largest of what all programs of a panel have stored, once they have."""
    member = tl.arange(0, MEMBERS)[:, None]
    places = partial_ptrs[None, :] + tl.minimum(member, members - 1) * width
    if CAST:
        tl.inline_asm_elementwise(STORED, "=r,r", [members], tl.int32, is_pure=False, pack=1)
    tl.atomic_add(come_ptr, 1, sem="release")
    if CAST:
        come = tl.inline_asm_elementwise(WAIT, "=r,l,r", [come_ptr, members], tl.int32, is_pure=False, pack=1)
        # What is loaded must not be asked for before: the wait's result is a part of the place.
        places += tl.minimum(come - members, 0)
        every = tl.inline_asm_elementwise(LOAD, "=r,l", [places], tl.int32, is_pure=False, pack=1)
    else:
        every = tl.load(places)
    return tl.max(every, axis=0)
