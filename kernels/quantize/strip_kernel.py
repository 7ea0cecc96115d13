"""Copies down the columns, and two layouts from one read, for tiles that are lines of a block.

A program has a block of 128 rows, in words of two neighboring bf16 numbers. It copies all of it to shared
memory at once, without registers, and computes it strip by strip. A row lies in one warp: the amax of a tile
along it needs no barrier. Then each warp reads whole columns from shared memory and writes down them.

Down a column a warp has eight threads with sixteen neighboring rows each. A strip has equally many rows of
each sixteen, so at the second read each thread has its part of every strip. Strips have separate memory: a
writer of one waits for no reader of another.

Sizes of bf16 numbers, as whole numbers of 15 bits, are ordered as the numbers are; a NaN's comes last. So
both sizes of a word are compared at once, and no NaN is lost.
"""

from triton.experimental import gluon
from triton.experimental.gluon import language as gl
from triton.experimental.gluon.language.nvidia.ampere import async_copy

from kernels.bits import FP32_NAN, float_bits, float_of
from kernels.gemm.hopper.gluon_api import barrier, copy_async
from kernels.quantize import strips
from kernels.quantize.amax import is_broken
from kernels.quantize.scales import reciprocal_of, scale_codes, stored_scale
from kernels.quantize.sources import sigmoid, silu_and_slope

EDGE, LANES = gl.constexpr(strips.EDGE), gl.constexpr(strips.LANES)
PANEL_WORDS = gl.constexpr(strips.PANEL // 2)
OWN_ROWS = gl.constexpr(4)
"""Rows of a warp in a strip: LANES threads beside each other have one row."""
RUN = gl.constexpr(strips.EDGE // strips.LANES)
"""Neighboring rows of a thread in a block; each strip has a part of them."""
WIDEN_WORD = gl.constexpr("mul.lo.u32 $0, $2, $3; and.b32 $1, $2, 0xffff0000;")
"""PTX for both numbers of a word, by a product with 2**16, which spares the busiest pipe."""
ROUND = gl.constexpr("cvt.rn.bf16x2.f32 $0, $2, $1;")
NAN_BITS = gl.constexpr(FP32_NAN.value)
SIZES = gl.constexpr(0x7FFF7FFF)
"""Mask of both sizes of a word."""
UPPER = gl.constexpr(-(1 << 16))
"""Mask of the second number of a word, as fp32."""
LARGER = gl.constexpr("max.u16x2 $0, $1, $2;")
_TIMES = (
    "mul.lo.u32 {1}, {0}, {5}; and.b32 {2}, {0}, 0xffff0000; "
    "mul.rn.f32 {1}, {1}, {3}; mul.rn.f32 {2}, {2}, {4}; "
)
_CAST = (
    "cvt.rn.satfinite.e4m3x2.f32 low, {2}, {1}; cvt.rn.satfinite.e4m3x2.f32 high, {4}, {3}; "
    "mov.b32 {0}, {{low, high}}; "
)
ALONG_CAST = gl.constexpr(
    "{ .reg .b32 a, b, c, d; .reg .b16 low, high; "
    + _TIMES.format("$1", "a", "b", "$3", "$3", "$5")
    + _TIMES.format("$2", "c", "d", "$4", "$4", "$5")
    + _CAST.format("$0", "a", "b", "c", "d")
    + "}"
)
"""PTX for the codes of four neighbors in a row: two words, times the reciprocals of their scales."""
DOWN_CAST = gl.constexpr(
    "{ .reg .b32 a, b, c, d, e, f, g, h; .reg .b16 low, high; "
    + _TIMES.format("$2", "a", "b", "$6", "$10", "$14")
    + _TIMES.format("$3", "c", "d", "$7", "$11", "$14")
    + _TIMES.format("$4", "e", "f", "$8", "$12", "$14")
    + _TIMES.format("$5", "g", "h", "$9", "$13", "$14")
    + _CAST.format("$0", "a", "c", "e", "g")
    + _CAST.format("$1", "b", "d", "f", "h")
    + "}"
)
"""PTX for the codes of two columns in four neighboring rows: four words, times both columns' reciprocals."""


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
    """Write codes and scales of SOURCE's result from x [m, columns], as quantize_kernel does.

    COLUMNS: of a block. across: blocks beside each other in one half. EVEN: no block has rows beyond x.
    ALONG: None for no output along rows. up: 2**16.
    """
    WORDS: gl.constexpr = COLUMNS // 2
    STRIP: gl.constexpr = OWN_ROWS * gl.num_warps()
    STRIPS: gl.constexpr = EDGE // STRIP
    # A thread loads and stores four words at once.
    BY_ROWS: gl.constexpr = gl.BlockedLayout([1, 4], [OWN_ROWS, LANES], [gl.num_warps(), 1], [1, 0])
    # Neighboring threads read words of different banks, along rows and down columns.
    HELD: gl.constexpr = gl.SwizzledSharedLayout(4, STRIP // LANES, LANES, [1, 0])
    INPUTS: gl.constexpr = 3 if SOURCE == "swiglu backward" else (2 if SOURCE == "swiglu" else 1)
    HALVES: gl.constexpr = 2 if SOURCE == "swiglu backward" else 1
    along = (along_codes_ptr, along_scale_ptr, along_codes_stride, along_mn_tiles)
    down = (down_codes_ptr, down_scale_ptr, down_codes_stride, down_mn_tiles)
    block = gl.program_id(0)
    if SOURCE == "rms norm":
        # The L2 still holds the end of the earlier pass's reads.
        block = gl.num_programs(0) - 1 - block
    row, column = block // across * EDGE, block % across * COLUMNS
    words = gl.arange(0, WORDS, gl.SliceLayout(0, BY_ROWS)) + column // 2
    x_ptr = x_ptr.to(gl.pointer_type(gl.int32), bitcast=True)
    if SOURCE == "swiglu backward":
        other_ptr = other_ptr.to(gl.pointer_type(gl.int32), bitcast=True)
    tensors, sizes = (x_ptr, other_ptr, reciprocals_ptr), (m, columns, x_stride, other_stride)
    inputs = ()
    for strip in gl.static_range(STRIPS):
        inputs = inputs + (_rooms(INPUTS, STRIP, WORDS, HELD),)
        copy_strip(inputs[strip], tensors, sizes, row, strip, words, BY_ROWS, SOURCE, EVEN)
        async_copy.commit_group()
    weights, factors = (), ()
    if SOURCE == "rms norm":
        weights = column_weights(other_ptr, words, up)
        for strip in gl.static_range(STRIPS):
            rows = row + strip_rows(strip, STRIP, BY_ROWS)
            factors = factors + (gl.load(reciprocals_ptr + rows, mask=rows < m, other=0.0),)
    rooms = ()
    for strip in gl.static_range(STRIPS):
        async_copy.wait_group(STRIPS - 1 - strip)
        outputs = compute_strip(inputs[strip], factors, weights, m, row, strip, up, BY_ROWS, SOURCE, EVEN)
        if SOURCE == "":
            room = inputs[strip]
        elif strip > 0:
            # A thread copies, reads and writes the same words of each strip, and has read the strip before.
            room = inputs[strip - 1]
        else:
            room = _rooms(HALVES, STRIP, WORDS, HELD)
        rooms = rooms + (room,)
        for half in gl.static_range(HALVES):
            if SOURCE != "":
                room[half].store(outputs[half])
            if ALONG is not None:
                write_along(outputs[half], along, row, strip, column + half * columns, m, up, ALONG, EVEN)
    barrier()
    for half in gl.static_range(HALVES):
        words = _gathered(rooms, half, STRIP, WORDS)
        write_down(words, down, row, column + half * columns, m, up, DOWN, EVEN)


@gluon.jit
def _rooms(count: gl.constexpr, STRIP: gl.constexpr, WORDS: gl.constexpr, LAYOUT: gl.constexpr):
    rooms = ()
    for _ in gl.static_range(count):
        rooms = rooms + (gl.allocate_shared_memory(gl.int32, [STRIP, WORDS], LAYOUT),)
    return rooms


@gluon.jit
def _gathered(rooms, half: gl.constexpr, STRIP: gl.constexpr, WORDS: gl.constexpr):
    """int32[EDGE, WORDS]: a block's rows in order, from its strips; a warp has whole columns."""
    STRIPS: gl.constexpr = EDGE // STRIP
    OWN: gl.constexpr = STRIP // LANES
    EACH: gl.constexpr = WORDS // (4 * gl.num_warps())
    OF_STRIP: gl.constexpr = gl.BlockedLayout([OWN, EACH], [LANES, 4], [1, gl.num_warps()], [0, 1])
    OF_BLOCK: gl.constexpr = gl.BlockedLayout([EDGE // LANES, EACH], [LANES, 4], [1, gl.num_warps()], [0, 1])
    parts = ()
    for strip in gl.static_range(STRIPS):
        parts = parts + (rooms[strip][half].load(OF_STRIP),)
    # The first new dim is the highest bit of a strip's number. No number leaves its thread.
    for _ in gl.static_range(STRIPS.bit_length() - 1):
        pairs = ()
        for number in gl.static_range(len(parts) // 2):
            pairs = pairs + (gl.join(parts[number], parts[number + len(parts) // 2]),)
        parts = pairs
    joined = parts[0].reshape([LANES, OWN, WORDS, STRIPS]).permute([0, 3, 1, 2])
    return gl.convert_layout(joined.reshape([EDGE, WORDS]), OF_BLOCK)


@gluon.jit
def halves(words, up):
    """(float32, float32): both bf16 numbers of each word. up: 2**16, which shifts the first."""
    return gl.inline_asm_elementwise(
        WIDEN_WORD, "=f,=f,r,r", [words, up], dtype=(gl.float32, gl.float32), is_pure=True, pack=1
    )


@gluon.jit
def rounded(low, high):
    """int32: words of two bf16 numbers, nearest even."""
    return gl.inline_asm_elementwise(ROUND, "=r,f,f", [low, high], dtype=gl.int32, is_pure=True, pack=1)


@gluon.jit
def swiglu_words(gate, up, by):
    gate0, gate1 = halves(gate, by)
    up0, up1 = halves(up, by)
    return rounded(gate0 * sigmoid(gate0, True) * up0, gate1 * sigmoid(gate1, True) * up1)


@gluon.jit
def gradients(dh, gate, up):
    """(float32, float32): gradients of the gate and of up, not rounded."""
    silu, slope = silu_and_slope(gate, True)
    return dh * up * slope, dh * silu


@gluon.jit
def gradient_words(dh, gate, up, by):
    dh0, dh1 = halves(dh, by)
    gate0, gate1 = halves(gate, by)
    up0, up1 = halves(up, by)
    first0, second0 = gradients(dh0, gate0, up0)
    first1, second1 = gradients(dh1, gate1, up1)
    return rounded(first0, first1), rounded(second0, second1)


@gluon.jit
def normed_words(x, reciprocals, weights, up):
    low, high = halves(x, up)
    by = gl.expand_dims(reciprocals, 1)
    return rounded(low * by * gl.expand_dims(weights[0], 0), high * by * gl.expand_dims(weights[1], 0))


@gluon.jit
def column_weights(weight_ptr, words, up):
    """(float32, float32): weights, bf16 or fp32 in memory, of both columns of words."""
    if weight_ptr.dtype.element_ty == gl.bfloat16:
        weights = halves(gl.load(weight_ptr.to(gl.pointer_type(gl.int32), bitcast=True) + words), up)
    else:
        weights = gl.load(weight_ptr + 2 * words), gl.load(weight_ptr + 2 * words + 1)
    return weights


@gluon.jit
def strip_rows(strip, STRIP: gl.constexpr, LAYOUT: gl.constexpr):
    """int32[STRIP]: a strip's rows in its block: equally many neighbors of each run of rows."""
    OWN: gl.constexpr = STRIP // LANES
    number = gl.arange(0, STRIP, gl.SliceLayout(1, LAYOUT))
    return number // OWN * RUN + number % OWN + strip * OWN


@gluon.jit
def copy_strip(
    room, tensors, sizes, row, strip, words, LAYOUT: gl.constexpr, SOURCE: gl.constexpr, EVEN: gl.constexpr
):
    """Copy a strip's words of SOURCE's tensors to shared memory, zero beyond x.

    tensors, sizes: as in strip_kernel, with pointers to words.
    """
    x_ptr, other_ptr, _ = tensors
    m, columns, x_stride, other_stride = sizes
    rows = row + strip_rows(strip, room[0].shape[0], LAYOUT)
    inside = None if EVEN else gl.expand_dims(rows < m, 1)
    rows = gl.expand_dims(rows.to(gl.int64), 1)
    words = gl.expand_dims(words, 0)
    from_x = x_ptr + rows * (x_stride // 2) + words
    copy_async(room[0], from_x, mask=inside)
    if SOURCE == "swiglu" or SOURCE == "swiglu backward":
        copy_async(room[1], from_x + columns // 2, mask=inside)
    if SOURCE == "swiglu backward":
        copy_async(room[2], other_ptr + rows * (other_stride // 2) + words, mask=inside)


@gluon.jit
def compute_strip(
    room, factors, weights, m, row, strip, up, LAYOUT: gl.constexpr, SOURCE: gl.constexpr, EVEN: gl.constexpr
):
    """Words of SOURCE's result from a strip in shared memory: a strip of each half.

    factors, weights: of rows and columns, for a norm.
    """
    if SOURCE == "":
        words = (room[0].load(LAYOUT),)
    elif SOURCE == "swiglu":
        words = (swiglu_words(room[0].load(LAYOUT), room[1].load(LAYOUT), up),)
    elif SOURCE == "rms norm":
        normed = normed_words(room[0].load(LAYOUT), factors[strip], weights, up)
        if not EVEN:
            # A zero times a negative weight is -0, which is no padding.
            inside = row + strip_rows(strip, room[0].shape[0], LAYOUT) < m
            normed = gl.where(gl.expand_dims(inside, 1), normed, 0)
        words = (normed,)
    else:
        words = gradient_words(room[2].load(LAYOUT), room[0].load(LAYOUT), room[1].load(LAYOUT), up)
    return words


@gluon.jit
def larger_pair(a, b):
    """int32: the larger of each half, as unsigned numbers."""
    return gl.inline_asm_elementwise(LARGER, "=r,r,r", [a, b], dtype=gl.int32, is_pure=True, pack=1)


@gluon.jit
def multiplier(scale, RULE: gl.constexpr):
    """float32: reciprocals of scales, NaN for a broken tile, so that all its codes become NaN."""
    reciprocal = reciprocal_of(scale, RULE)
    return float_of(gl.where(is_broken(float_bits(scale)), NAN_BITS, float_bits(reciprocal)))


@gluon.jit
def write_along(words, output, row, strip, column, m, up, OPERAND: gl.constexpr, EVEN: gl.constexpr):
    """Write codes and scales of a strip along its rows. words: int32[STRIP, columns / 2].

    output, here and below: (codes_ptr, scale_ptr, stride of codes, tiles along mn).
    """
    codes_ptr, scale_ptr, stride, mn_tiles = output
    RULE: gl.constexpr = OPERAND.rule
    TILE: gl.constexpr = OPERAND.tile_k
    STRIP: gl.constexpr = words.shape[0]
    WORDS: gl.constexpr = words.shape[1]
    TILES: gl.constexpr = 2 * WORDS // TILE
    LAYOUT: gl.constexpr = words.type.layout
    pairs = gl.reduce((words & SIZES).reshape([STRIP, TILES, TILE // 2]), 2, larger_pair)
    amax = gl.maximum(pairs & UPPER, pairs << 16)  # [STRIP, TILES]
    scale = stored_scale(amax, amax, RULE)
    BY_TILES: gl.constexpr = scale.type.layout
    rows = row + strip_rows(strip, STRIP, BY_TILES)
    tiles = column // TILE + gl.arange(0, TILES, gl.SliceLayout(0, BY_TILES))
    stored = scale_codes(scale, RULE) if RULE.in_bytes else scale
    inside = None if EVEN else gl.expand_dims(rows < m, 1)
    gl.store(scale_ptr + gl.expand_dims(tiles, 0) * mn_tiles + gl.expand_dims(rows, 1), stored, mask=inside)
    by = gl.expand_dims(multiplier(scale, RULE), 2)
    _, by = gl.broadcast(words.reshape([STRIP, TILES, TILE // 2]), by)
    by = gl.convert_layout(by.reshape([STRIP, WORDS]), LAYOUT, assert_trivial=True)
    codes = gl.inline_asm_elementwise(
        ALONG_CAST, "=r,r,r,r,r,r,r", [words, by, up], dtype=gl.int16, is_pure=True, pack=2
    )
    rows = row + strip_rows(strip, STRIP, LAYOUT)
    columns = column // 2 + gl.arange(0, WORDS, gl.SliceLayout(0, LAYOUT))
    to = codes_ptr.to(gl.pointer_type(gl.int16), bitcast=True)
    inside = None if EVEN else gl.expand_dims(rows < m, 1)
    to += gl.expand_dims(rows.to(gl.int64) * (stride // 2), 1) + gl.expand_dims(columns, 0)
    gl.store(to, codes, mask=inside)


@gluon.jit
def line_scales(low, high, to, mask, OPERAND: gl.constexpr):
    """(float32, float32): multipliers of the lines of both numbers of words. Stores their scales.

    low, high: bits of amax. to: pointers to scales of the first lines; the second's follows each.
    """
    RULE: gl.constexpr = OPERAND.rule
    by = ()
    for amax in gl.static_range(2):
        scale = stored_scale(low if amax == 0 else high, low if amax == 0 else high, RULE)
        stored = scale_codes(scale, RULE) if RULE.in_bytes else scale
        gl.store(to + amax, stored, mask=mask)
        by = by + (multiplier(scale, RULE),)
    return by


@gluon.jit
def down_codes(words, by0, by1, up):
    """(uint8, uint8): codes of both numbers of words, of which a thread has four in a line.

    by0, by1: multipliers, of a shape that broadcasts to the words.
    """
    _, by0 = gl.broadcast(words, by0)
    _, by1 = gl.broadcast(words, by1)
    return gl.inline_asm_elementwise(
        DOWN_CAST,
        "=r,=r,r,r,r,r,r,r,r,r,r,r,r,r,r,r,r,r",
        [words, by0, by1, up],
        dtype=(gl.uint8, gl.uint8),
        is_pure=True,
        pack=4,
    )


@gluon.jit
def write_down(words, output, row, column, m, up, OPERAND: gl.constexpr, EVEN: gl.constexpr):
    """Write codes and scales of a block down its columns. words: int32[EDGE, columns / 2]."""
    codes_ptr, scale_ptr, stride, mn_tiles = output
    TILE: gl.constexpr = OPERAND.tile_k
    WORDS: gl.constexpr = words.shape[1]
    TILES: gl.constexpr = EDGE // TILE
    LAYOUT: gl.constexpr = words.type.layout
    tiled = words.reshape([TILES, TILE, WORDS])
    pairs = gl.reduce(tiled & SIZES, 1, larger_pair)  # [TILES, EDGE / 2]
    tiles = row // TILE + gl.arange(0, TILES, gl.SliceLayout(1, pairs.type.layout))
    own = column + 2 * gl.arange(0, WORDS, gl.SliceLayout(0, pairs.type.layout))
    to = scale_ptr + gl.expand_dims(tiles, 1) * mn_tiles + gl.expand_dims(own, 0)
    inside = None if EVEN else gl.expand_dims(tiles * TILE < m, 1)
    by = line_scales(pairs << 16, pairs & UPPER, to, inside, OPERAND)
    _, by0 = gl.broadcast(tiled, gl.expand_dims(by[0], 1))
    _, by1 = gl.broadcast(tiled, gl.expand_dims(by[1], 1))
    by0 = gl.convert_layout(by0.reshape([EDGE, WORDS]), LAYOUT, assert_trivial=True)
    by1 = gl.convert_layout(by1.reshape([EDGE, WORDS]), LAYOUT, assert_trivial=True)
    rows = gl.arange(0, EDGE, gl.SliceLayout(1, LAYOUT)) + row
    if not EVEN:
        # Codes beyond x are zero, also in a broken tile.
        inside_rows = gl.expand_dims(rows < m, 1)
        by0, by1 = gl.where(inside_rows, by0, 0.0), gl.where(inside_rows, by1, 0.0)
    first, second = down_codes(words, by0, by1, up)
    lines = gl.arange(0, WORDS, gl.SliceLayout(0, LAYOUT)) * 2 + column
    to = codes_ptr + gl.expand_dims(lines.to(gl.int64) * stride, 0) + gl.expand_dims(rows, 1)
    gl.store(to, first)
    gl.store(to + stride, second)


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
    """Write codes [columns, rows] and scales [columns] of x [rows, columns], lines down whole columns.

    A panel has all rows of 64 columns, in words. Each of its programs copies ROWS rows into shared memory and
    raises the columns' amax. After all have, each writes the codes of its part. Programs start in the order
    of their numbers, so those of a panel run at once. Columns are a multiple of 64, rows of ROWS.

    amax_ptr: int32[columns], counters_ptr: int32[panels], both zero. programs: of a panel.
    """
    WARPS: gl.constexpr = gl.num_warps()
    BY_ROWS: gl.constexpr = gl.BlockedLayout([1, 4], [4, 8], [WARPS, 1], [1, 0])
    # Four warps beside each other have all columns: eight threads of each, with sixteen rows of two words.
    BY_COLUMNS: gl.constexpr = gl.BlockedLayout([16, 2], [8, 4], [WARPS // 4, 4], [0, 1])
    HELD: gl.constexpr = gl.SwizzledSharedLayout(8, 16, 2, [1, 0])
    panel, number = gl.program_id(0) // programs, gl.program_id(0) % programs
    room = gl.allocate_shared_memory(gl.int32, [ROWS, PANEL_WORDS], HELD)
    rows = (number * ROWS + gl.arange(0, ROWS, gl.SliceLayout(1, BY_ROWS))).to(gl.int64)
    words = panel * PANEL_WORDS + gl.arange(0, PANEL_WORDS, gl.SliceLayout(0, BY_ROWS))
    x_ptr = x_ptr.to(gl.pointer_type(gl.int32), bitcast=True)
    from_x = x_ptr + gl.expand_dims(rows * (x_stride // 2), 1) + gl.expand_dims(words, 0)
    copy_async(room, from_x)
    async_copy.commit_group()
    async_copy.wait_group(0)
    barrier()  # each thread has waited for its own copies alone
    pairs = gl.reduce(room.load(BY_COLUMNS) & SIZES, 0, larger_pair)
    lines = 2 * (panel * PANEL_WORDS + gl.arange(0, PANEL_WORDS, gl.SliceLayout(0, BY_COLUMNS)))
    gl.atomic_max(amax_ptr + lines, pairs << 16, sem="relaxed")
    gl.atomic_max(amax_ptr + lines + 1, pairs & UPPER, sem="relaxed")
    barrier()  # all threads have raised amax before one counts the arrival
    arrivals = gl.atomic_add(counters_ptr + panel, 1, sem="acq_rel") + 1
    while arrivals < programs:
        arrivals = gl.atomic_add(counters_ptr + panel, 0, sem="acquire")
    low, high = gl.load(amax_ptr + lines, volatile=True), gl.load(amax_ptr + lines + 1, volatile=True)
    scales = line_scales(low, high, scale_ptr + lines, number == 0, OPERAND)
    by0, by1 = gl.expand_dims(scales[0], 0), gl.expand_dims(scales[1], 0)
    # Read again: the words would take most registers until here.
    first, second = down_codes(room.load(BY_COLUMNS), by0, by1, up)
    out = number * ROWS + gl.arange(0, ROWS, gl.SliceLayout(1, BY_COLUMNS))
    to = codes_ptr + gl.expand_dims(lines.to(gl.int64) * codes_stride, 0) + gl.expand_dims(out, 1)
    gl.store(to, first)
    gl.store(to + codes_stride, second)
