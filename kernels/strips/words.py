"""Words of what is computed: two neighboring bf16 numbers each, of a strip of a block."""

from triton.experimental import gluon
from triton.experimental.gluon import language as gl

from kernels.bits import fp32
from kernels.fused.arithmetic import ONE, multiply_add, sigmoid
from kernels.gemm.hopper.gluon_api import copy_async
from kernels.strips import plan

LANES = gl.constexpr(plan.LANES)
RUN = gl.constexpr(plan.EDGE // plan.LANES)
"""Neighboring rows of a block, of which each strip has a part."""
WIDEN_WORD = gl.constexpr("mul.lo.u32 $0, $2, $3; and.b32 $1, $2, 0xffff0000;")
"""PTX for both numbers of a word: bits of it, and 2**16. A product is not for the busiest pipe."""
ROUND = gl.constexpr("cvt.rn.bf16x2.f32 $0, $2, $1;")
"""PTX for a word of two fp32 numbers, nearest even."""


@gluon.jit
def halves(words, up):
    """(float32, float32): both bf16 numbers of each word. up: 2**16, by which the first one is shifted."""
    return gl.inline_asm_elementwise(
        WIDEN_WORD, "=f,=f,r,r", [words, up], dtype=(gl.float32, gl.float32), is_pure=True, pack=1
    )


@gluon.jit
def rounded(low, high):
    """int32: words of two bf16 numbers, nearest even."""
    return gl.inline_asm_elementwise(ROUND, "=r,f,f", [low, high], dtype=gl.int32, is_pure=True, pack=1)


@gluon.jit
def swiglu_words(gate, up, by):
    """int32: SwiGLU of words."""
    gate0, gate1 = halves(gate, by)
    up0, up1 = halves(up, by)
    return rounded(gate0 * sigmoid(gate0, True) * up0, gate1 * sigmoid(gate1, True) * up1)


@gluon.jit
def gradients(dh, gate, up):
    """(float32, float32): the gradients of the gate and of up, not yet rounded."""
    share = sigmoid(gate, True)
    silu = gate * share
    slope = multiply_add(silu, fp32(ONE) - share, share, True)
    return dh * up * slope, dh * silu


@gluon.jit
def gradient_words(dh, gate, up, by):
    """(int32, int32): the gradients of the gate and of up, in words."""
    dh0, dh1 = halves(dh, by)
    gate0, gate1 = halves(gate, by)
    up0, up1 = halves(up, by)
    first0, second0 = gradients(dh0, gate0, up0)
    first1, second1 = gradients(dh1, gate1, up1)
    return rounded(first0, first1), rounded(second0, second1)


@gluon.jit
def normed_words(x, reciprocals, weights, up):
    """int32: x times its rows' reciprocal root mean squares, times both columns' weights, in words."""
    low, high = halves(x, up)
    by = gl.expand_dims(reciprocals, 1)
    return rounded(low * by * gl.expand_dims(weights[0], 0), high * by * gl.expand_dims(weights[1], 0))


@gluon.jit
def column_weights(weight_ptr, words, up):
    """(float32, float32): the weights of both columns of words. weight_ptr: of bf16 or fp32 numbers."""
    if weight_ptr.dtype.element_ty == gl.bfloat16:
        weights = halves(gl.load(weight_ptr.to(gl.pointer_type(gl.int32), bitcast=True) + words), up)
    else:
        weights = gl.load(weight_ptr + 2 * words), gl.load(weight_ptr + 2 * words + 1)
    return weights


@gluon.jit
def strip_rows(strip, STRIP: gl.constexpr, LAYOUT: gl.constexpr):
    """int32[STRIP]: the rows of a strip in its block: as many neighbors of each run of rows."""
    OWN: gl.constexpr = STRIP // LANES
    place = gl.arange(0, STRIP, gl.SliceLayout(1, LAYOUT))
    return place // OWN * RUN + place % OWN + strip * OWN


@gluon.jit
def copied(
    room,
    tensors,
    sizes,
    row,
    strip,
    words,
    STRIP: gl.constexpr,
    LAYOUT: gl.constexpr,
    SOURCE: gl.constexpr,
    EVEN: gl.constexpr,
):
    """Let a strip's words of each tensor that SOURCE is computed of come to shared memory; zero beyond x.

    tensors, sizes: those of strip_kernel, pointers to words where a tensor is read in words.
    """
    x_ptr, other_ptr, _ = tensors
    m, columns, x_stride, other_stride = sizes
    rows = row + strip_rows(strip, STRIP, LAYOUT)
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
def row_factors(reciprocals_ptr, m, row, strip, STRIP: gl.constexpr, LAYOUT: gl.constexpr):
    """float32[STRIP]: the reciprocal root mean squares of a strip's rows."""
    rows = row + strip_rows(strip, STRIP, LAYOUT)
    return gl.load(reciprocals_ptr + rows, mask=rows < m, other=0.0)


@gluon.jit
def computed(
    room,
    factors,
    weights,
    m,
    row,
    strip,
    up,
    STRIP: gl.constexpr,
    LAYOUT: gl.constexpr,
    SOURCE: gl.constexpr,
    EVEN: gl.constexpr,
):
    """Words of what SOURCE computes of a strip that has come: a strip of each half.

    factors, weights: of each strip's rows and of columns, where they are normed.
    """
    if SOURCE == "":
        made = (room[0].load(LAYOUT),)
    elif SOURCE == "swiglu":
        made = (swiglu_words(room[0].load(LAYOUT), room[1].load(LAYOUT), up),)
    elif SOURCE == "rms norm":
        normed = normed_words(room[0].load(LAYOUT), factors[strip], weights, up)
        if not EVEN:
            # A zero times a negative weight is -0, which is no padding.
            inside = row + strip_rows(strip, STRIP, LAYOUT) < m
            normed = gl.where(gl.expand_dims(inside, 1), normed, 0)
        made = (normed,)
    else:
        made = gradient_words(room[2].load(LAYOUT), room[0].load(LAYOUT), room[1].load(LAYOUT), up)
    return made
