"""Copies down the columns, and two layouts of one read, for tiles that are lines of a block.

A program has a block of 128 rows, in words of two neighboring bf16 numbers. All of it is on its way to shared
memory at once, and takes no registers until it is computed, strip by strip. A row lies in one warp, so that a
tile along it is found without a barrier. Then the block is read again from shared memory, whole columns by
each warp, and written down them.

Down a column a warp has eight threads with sixteen neighboring rows each. A strip has as many of each
sixteen: where it is read again, each of these threads finds its part. Strips lie apart in memory, so that who
writes one waits for no reader of another.
"""

from triton.experimental import gluon
from triton.experimental.gluon import language as gl
from triton.experimental.gluon.language.nvidia.ampere import async_copy

from kernels.gemm.hopper.gluon_api import barrier
from kernels.strips import plan
from kernels.strips.words import column_weights, computed, copied, row_factors
from kernels.strips.write import write_along, write_down

EDGE, LANES = gl.constexpr(plan.EDGE), gl.constexpr(plan.LANES)
OWN_ROWS = gl.constexpr(4)
"""Rows of a strip that a warp has. LANES threads beside each other have one."""


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
    COLUMNS: gl.constexpr,
    EVEN: gl.constexpr,
    ALONG: gl.constexpr,
    DOWN: gl.constexpr,
):
    """Write operands' codes and scales of what SOURCE computes of x [m, columns], as fused_kernel does.

    SOURCE "": of x itself. COLUMNS: those of a block. across: blocks beside each other, in one half. EVEN:
    blocks have no rows beyond x. ALONG is None where nothing is written along rows.
    """
    WORDS: gl.constexpr = COLUMNS // 2
    STRIP: gl.constexpr = OWN_ROWS * gl.num_warps()
    STRIPS: gl.constexpr = EDGE // STRIP
    # A thread loads and stores four words at once.
    BY_ROWS: gl.constexpr = gl.BlockedLayout([1, 4], [OWN_ROWS, LANES], [gl.num_warps(), 1], [1, 0])
    # Threads that read beside each other have words of different banks, along rows and down columns.
    HELD: gl.constexpr = gl.SwizzledSharedLayout(4, STRIP // LANES, LANES, [1, 0])
    INPUTS: gl.constexpr = 3 if SOURCE == "swiglu backward" else (2 if SOURCE == "swiglu" else 1)
    HALVES: gl.constexpr = 2 if SOURCE == "swiglu backward" else 1
    block = gl.program_id(0)
    if SOURCE == "rms norm":
        # The L2 still holds what the pass before read last.
        block = gl.num_programs(0) - 1 - block
    row, column = block // across * EDGE, block % across * COLUMNS
    words = gl.arange(0, WORDS, gl.SliceLayout(0, BY_ROWS)) + column // 2
    x_ptr = x_ptr.to(gl.pointer_type(gl.int32), bitcast=True)
    if SOURCE == "swiglu backward":
        other_ptr = other_ptr.to(gl.pointer_type(gl.int32), bitcast=True)
    tensors, sizes = (x_ptr, other_ptr, reciprocals_ptr), (m, columns, x_stride, other_stride)
    coming = ()
    for strip in gl.static_range(STRIPS):
        coming = coming + (_rooms(INPUTS, STRIP, WORDS, HELD),)
        copied(coming[strip], tensors, sizes, row, strip, words, STRIP, BY_ROWS, SOURCE, EVEN)
        async_copy.commit_group()
    weights, factors = (), ()
    if SOURCE == "rms norm":
        weights = column_weights(other_ptr, words, up)
        for strip in gl.static_range(STRIPS):
            factors = factors + (row_factors(reciprocals_ptr, m, row, strip, STRIP, BY_ROWS),)
    held = ()
    for strip in gl.static_range(STRIPS):
        async_copy.wait_group(STRIPS - 1 - strip)
        made = computed(coming[strip], factors, weights, m, row, strip, up, STRIP, BY_ROWS, SOURCE, EVEN)
        if SOURCE == "":
            room = coming[strip]
        elif strip > 0:
            # A thread copies, reads and writes the same places of a strip, and has read those of the last.
            room = coming[strip - 1]
        else:
            room = _rooms(HALVES, STRIP, WORDS, HELD)
        held = held + (room,)
        for half in gl.static_range(HALVES):
            if SOURCE != "":
                room[half].store(made[half])
            if ALONG is not None:
                write_along(
                    made[half],
                    along_codes_ptr,
                    along_scale_ptr,
                    row,
                    strip,
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
            _gathered(held, half, STRIP, WORDS),
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


@gluon.jit
def _rooms(count: gl.constexpr, STRIP: gl.constexpr, WORDS: gl.constexpr, LAYOUT: gl.constexpr):
    """Shared memory for so many strips, each by itself."""
    made = ()
    for _ in gl.static_range(count):
        made = made + (gl.allocate_shared_memory(gl.int32, [STRIP, WORDS], LAYOUT),)
    return made


@gluon.jit
def _gathered(held, half: gl.constexpr, STRIP: gl.constexpr, WORDS: gl.constexpr):
    """int32[EDGE, WORDS]: a block's rows in their order, of its strips; a warp has whole columns."""
    STRIPS: gl.constexpr = EDGE // STRIP
    OWN: gl.constexpr = STRIP // LANES
    EACH: gl.constexpr = WORDS // (4 * gl.num_warps())
    OF_STRIP: gl.constexpr = gl.BlockedLayout([OWN, EACH], [LANES, 4], [1, gl.num_warps()], [0, 1])
    OF_BLOCK: gl.constexpr = gl.BlockedLayout([EDGE // LANES, EACH], [LANES, 4], [1, gl.num_warps()], [0, 1])
    parts = ()
    for strip in gl.static_range(STRIPS):
        parts = parts + (held[strip][half].load(OF_STRIP),)
    # The first dim that is added is the highest bit of a strip's number. A thread keeps what it has.
    for _ in gl.static_range(STRIPS.bit_length() - 1):
        pairs = ()
        for place in gl.static_range(len(parts) // 2):
            pairs = pairs + (gl.join(parts[place], parts[place + len(parts) // 2]),)
        parts = pairs
    joined = parts[0].reshape([LANES, OWN, WORDS, STRIPS]).permute([0, 3, 1, 2])
    return gl.convert_layout(joined.reshape([EDGE, WORDS]), OF_BLOCK)
