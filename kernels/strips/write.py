"""Writing: codes and scales of words, along the rows of a strip and down the columns of a block.

A bf16 number's size, as a whole number of 15 bits, is ordered as the number is, and that of a NaN comes last.
So both sizes of a word are compared at once, and no NaN is lost.
"""

from triton.experimental import gluon
from triton.experimental.gluon import language as gl

from kernels.bits import FP32_NAN, float_bits, float_of
from kernels.quantize.amax import is_broken
from kernels.quantize.scales import reciprocal_of, scale_codes, stored_scale
from kernels.strips import plan
from kernels.strips.words import strip_rows

EDGE = gl.constexpr(plan.EDGE)
NAN_BITS = gl.constexpr(FP32_NAN.value)
SIZES = gl.constexpr(0x7FFF7FFF)
"""Both sizes of a word."""
UPPER = gl.constexpr(-(1 << 16))
"""The second number of a word, as fp32."""
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
def larger_pair(a, b):
    """int32: of each half, the larger one, as whole numbers without a sign."""
    return gl.inline_asm_elementwise(LARGER, "=r,r,r", [a, b], dtype=gl.int32, is_pure=True, pack=1)


@gluon.jit
def multiplier(scale, RULE: gl.constexpr):
    """float32: the reciprocals of scales. A broken tile's is NaN: all of its codes become NaN."""
    reciprocal = reciprocal_of(scale, RULE)
    return float_of(gl.where(is_broken(float_bits(scale)), NAN_BITS, float_bits(reciprocal)))


@gluon.jit
def write_along(
    words,
    codes_ptr,
    scale_ptr,
    row,
    strip,
    column,
    stride,
    mn_tiles,
    m,
    up,
    OPERAND: gl.constexpr,
    EVEN: gl.constexpr,
):
    """Write codes and scales of a strip along its rows. words: int32[STRIP, columns / 2]."""
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
    tiles = column // TILE + gl.arange(0, TILES, gl.SliceLayout(0, scale.type.layout))
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
    places = column // 2 + gl.arange(0, WORDS, gl.SliceLayout(0, LAYOUT))
    to = codes_ptr.to(gl.pointer_type(gl.int16), bitcast=True)
    inside = None if EVEN else gl.expand_dims(rows < m, 1)
    to += gl.expand_dims(rows.to(gl.int64) * (stride // 2), 1) + gl.expand_dims(places, 0)
    gl.store(to, codes, mask=inside)


@gluon.jit
def line_scales(low, high, to, mask, OPERAND: gl.constexpr):
    """(float32, float32): what the lines of both numbers of words are multiplied by. Their scales are stored.

    low, high: the bits of amax. to: where the scale of each first line goes; the second one's is beside it.
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

    by0, by1: what they are multiplied by, of a shape that goes with the words.
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
def write_down(
    words,
    codes_ptr,
    scale_ptr,
    row,
    column,
    stride,
    mn_tiles,
    m,
    up,
    OPERAND: gl.constexpr,
    EVEN: gl.constexpr,
):
    """Write codes and scales of a block down its columns. words: int32[EDGE, columns / 2]."""
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
        # Codes beyond x are zero, in a broken tile, too.
        held = gl.expand_dims(rows < m, 1)
        by0, by1 = gl.where(held, by0, 0.0), gl.where(held, by1, 0.0)
    first, second = down_codes(words, by0, by1, up)
    lines = gl.arange(0, WORDS, gl.SliceLayout(0, LAYOUT)) * 2 + column
    to = codes_ptr + gl.expand_dims(lines.to(gl.int64) * stride, 0) + gl.expand_dims(rows, 1)
    gl.store(to, first)
    gl.store(to + stride, second)
