"""Lines down whole columns, from one read: the programs of a panel hold it in shared memory, and meet.

A panel has all rows of 64 columns, in words of two neighboring bf16 numbers. Each of its programs copies a
part of the rows into shared memory and raises the columns' amax. When all of them have, each writes the codes
of its part. Programs start in the order of their numbers, so that those of a panel run at once.

`up` is 2**16, as `words.py` says; columns are a multiple of 64, rows of ROWS.
"""

from triton.experimental import gluon
from triton.experimental.gluon import language as gl
from triton.experimental.gluon.language.nvidia.ampere import async_copy

from kernels.gemm.hopper.gluon_api import barrier, copy_async
from kernels.strips import plan
from kernels.strips.write import SIZES, UPPER, down_codes, larger_pair, line_scales

WORDS = gl.constexpr(plan.PANEL // 2)


@gluon.jit
def panel_kernel(
    x_ptr,
    amax_ptr,
    counters_ptr,
    codes_ptr,
    scale_ptr,
    x_stride,
    codes_stride,
    programs,
    up,
    OPERAND: gl.constexpr,
    ROWS: gl.constexpr,
):
    """Write codes [columns, rows] and scales [columns] of x [rows, columns]; a program has ROWS rows.

    amax_ptr: int32[columns], counters_ptr: int32[panels], both of zeros. programs: those of a panel.
    """
    WARPS: gl.constexpr = gl.num_warps()
    BY_ROWS: gl.constexpr = gl.BlockedLayout([1, 4], [4, 8], [WARPS, 1], [1, 0])
    # Four warps beside each other have all columns: eight threads of each with sixteen rows, of two words.
    BY_COLUMNS: gl.constexpr = gl.BlockedLayout([16, 2], [8, 4], [WARPS // 4, 4], [0, 1])
    HELD: gl.constexpr = gl.SwizzledSharedLayout(8, 16, 2, [1, 0])
    panel, place = gl.program_id(0) // programs, gl.program_id(0) % programs
    held = gl.allocate_shared_memory(gl.int32, [ROWS, WORDS], HELD)
    rows = (place * ROWS + gl.arange(0, ROWS, gl.SliceLayout(1, BY_ROWS))).to(gl.int64)
    words = panel * WORDS + gl.arange(0, WORDS, gl.SliceLayout(0, BY_ROWS))
    x_ptr = x_ptr.to(gl.pointer_type(gl.int32), bitcast=True)
    from_x = x_ptr + gl.expand_dims(rows * (x_stride // 2), 1) + gl.expand_dims(words, 0)
    copy_async(held, from_x)
    async_copy.commit_group()
    async_copy.wait_group(0)
    barrier()  # each thread has waited for its own part alone
    pairs = gl.reduce(held.load(BY_COLUMNS) & SIZES, 0, larger_pair)
    lines = 2 * (panel * WORDS + gl.arange(0, WORDS, gl.SliceLayout(0, BY_COLUMNS)))
    gl.atomic_max(amax_ptr + lines, pairs << 16, sem="relaxed")
    gl.atomic_max(amax_ptr + lines + 1, pairs & UPPER, sem="relaxed")
    barrier()  # all threads have raised amax before one of them says so
    come = gl.atomic_add(counters_ptr + panel, 1, sem="acq_rel") + 1
    while come < programs:
        come = gl.atomic_add(counters_ptr + panel, 0, sem="acquire")
    low, high = gl.load(amax_ptr + lines, volatile=True), gl.load(amax_ptr + lines + 1, volatile=True)
    scales = line_scales(low, high, scale_ptr + lines, place == 0, OPERAND)
    by0, by1 = gl.expand_dims(scales[0], 0), gl.expand_dims(scales[1], 0)
    # Read again: kept till here, the words would take most registers.
    first, second = down_codes(held.load(BY_COLUMNS), by0, by1, up)
    out = place * ROWS + gl.arange(0, ROWS, gl.SliceLayout(1, BY_COLUMNS))
    to = codes_ptr + gl.expand_dims(lines.to(gl.int64) * codes_stride, 0) + gl.expand_dims(out, 1)
    gl.store(to, first)
    gl.store(to + codes_stride, second)
