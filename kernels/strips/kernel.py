"""Two layouts of one read, for tiles that are lines of a block, which waits at few barriers.

A program has a block of 128 rows and 128 columns, in words of two neighboring bf16 numbers. First it goes
down the block in strips of 32 rows. A row lies in one warp, so that a tile along it is found without a
barrier. Then the block is read again from shared memory, whole columns by each warp, and written down them.
"""

from triton.experimental import gluon
from triton.experimental.gluon import language as gl

from kernels.gemm.hopper.gluon_api import barrier
from kernels.strips import plan
from kernels.strips.words import column_weights, computed, loaded
from kernels.strips.write import write_along, write_down

EDGE, STRIP = gl.constexpr(plan.EDGE), gl.constexpr(plan.STRIP)


@gluon.jit
def strip_kernel(
    x_ptr,
    other_ptr,
    reciprocals_ptr,
    along_codes_ptr,
    along_scale_ptr,
    along_codes_stride,
    along_mn_tiles,
    down_codes_ptr,
    down_scale_ptr,
    down_codes_stride,
    down_mn_tiles,
    m,
    columns,
    x_stride,
    other_stride,
    across,
    up,
    SOURCE: gl.constexpr,
    AHEAD: gl.constexpr,
    EVEN: gl.constexpr,
    ALONG: gl.constexpr,
    DOWN: gl.constexpr,
):
    """Write both operands' codes and scales of what SOURCE computes of x [m, columns], as fused_kernel does.

    SOURCE "": of x itself. across: blocks beside each other, in one half. AHEAD: strips on their way while
    one is computed. EVEN: blocks have no rows beyond x.
    """
    STRIPS: gl.constexpr = EDGE // STRIP
    # A warp has four rows of a strip: eight threads with twice four words each.
    BY_ROWS: gl.constexpr = gl.BlockedLayout([1, 4], [4, 8], [gl.num_warps(), 1], [1, 0])
    # A warp has whole columns: eight threads with sixteen rows each, of two words.
    BY_COLUMNS: gl.constexpr = gl.BlockedLayout(
        [16, 16 // gl.num_warps()], [8, 4], [1, gl.num_warps()], [0, 1]
    )
    HELD: gl.constexpr = gl.SwizzledSharedLayout(8, 16, 2, [1, 0])
    HALVES: gl.constexpr = 2 if SOURCE == "swiglu backward" else 1
    block = gl.program_id(0)
    if SOURCE == "rms norm":
        # The L2 still holds what the pass before read last.
        block = gl.num_programs(0) - 1 - block
    row, column = block // across * EDGE, block % across * EDGE
    held = gl.allocate_shared_memory(gl.int32, [HALVES, EDGE, EDGE // 2], HELD)
    rows = gl.arange(0, STRIP, gl.SliceLayout(1, BY_ROWS))
    words = gl.arange(0, EDGE // 2, gl.SliceLayout(0, BY_ROWS)) + column // 2
    x_ptr = x_ptr.to(gl.pointer_type(gl.int32), bitcast=True)
    weights = ()
    if SOURCE == "rms norm":
        weights = column_weights(other_ptr, words, up)
    if SOURCE == "swiglu backward":
        other_ptr = other_ptr.to(gl.pointer_type(gl.int32), bitcast=True)
    tensors, sizes = (x_ptr, other_ptr, reciprocals_ptr), (m, columns, x_stride, other_stride)
    # Strips on their way. No load passes a store before it: that might be of the same memory.
    coming = ()
    for strip in gl.static_range(min(AHEAD, STRIPS)):
        lines = row + strip * STRIP + rows
        coming = coming + (loaded(tensors, sizes, lines, words, SOURCE, EVEN),)
    for strip in gl.static_range(STRIPS):
        if strip + AHEAD < STRIPS:
            lines = row + (strip + AHEAD) * STRIP + rows
            coming = coming + (loaded(tensors, sizes, lines, words, SOURCE, EVEN),)
        inside = row + strip * STRIP + rows < m
        made = computed(coming[strip], weights, inside, up, SOURCE, EVEN)
        for half in gl.static_range(HALVES):
            held.index(half).slice(strip * STRIP, STRIP).store(made[half])
            write_along(
                made[half],
                along_codes_ptr,
                along_scale_ptr,
                row + strip * STRIP,
                column + half * columns,
                along_codes_stride,
                along_mn_tiles,
                m,
                up,
                ALONG,
                EVEN,
            )
    barrier()
    for half in gl.static_range(HALVES):
        write_down(
            held.index(half).load(BY_COLUMNS),
            down_codes_ptr,
            down_scale_ptr,
            row,
            column + half * columns,
            down_codes_stride,
            down_mn_tiles,
            m,
            up,
            DOWN,
            EVEN,
        )
