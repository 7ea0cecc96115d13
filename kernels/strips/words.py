"""Words of what is computed: two neighboring bf16 numbers each, of a strip of a block."""

from triton.experimental import gluon
from triton.experimental.gluon import language as gl

from kernels.bits import NOTHING, WIDEN, fp32
from kernels.fused.arithmetic import ONE, multiply_add, sigmoid

ROUND = gl.constexpr("cvt.rn.bf16x2.f32 $0, $2, $1;")
"""PTX for a word of two fp32 numbers, nearest even."""


@gluon.jit
def nothing():
    """int32: zero. What is computed with it waits until all loads before are on their way (kernels.bits)."""
    return gl.inline_asm_elementwise(
        NOTHING, "=r,r", [gl.program_id(0)], dtype=gl.int32, is_pure=False, pack=1
    )


@gluon.jit
def halves(words, zero):
    """(float32, float32): the first and the second bf16 number of each word."""
    return gl.inline_asm_elementwise(
        WIDEN, "=f,=f,r,r", [words, zero], dtype=(gl.float32, gl.float32), is_pure=True, pack=1
    )


@gluon.jit
def rounded(low, high):
    """int32: words of two bf16 numbers, nearest even."""
    return gl.inline_asm_elementwise(ROUND, "=r,f,f", [low, high], dtype=gl.int32, is_pure=True, pack=1)


@gluon.jit
def swiglu_words(gate, up, zero):
    """int32: SwiGLU of words."""
    gate0, gate1 = halves(gate, zero)
    up0, up1 = halves(up, zero)
    return rounded(gate0 * sigmoid(gate0, True) * up0, gate1 * sigmoid(gate1, True) * up1)


@gluon.jit
def gradients(dh, gate, up):
    """(float32, float32): the gradients of the gate and of up, not yet rounded."""
    share = sigmoid(gate, True)
    silu = gate * share
    slope = multiply_add(silu, fp32(ONE) - share, share, True)
    return dh * up * slope, dh * silu


@gluon.jit
def gradient_words(dh, gate, up, zero):
    """(int32, int32): the gradients of the gate and of up, in words."""
    dh0, dh1 = halves(dh, zero)
    gate0, gate1 = halves(gate, zero)
    up0, up1 = halves(up, zero)
    first0, second0 = gradients(dh0, gate0, up0)
    first1, second1 = gradients(dh1, gate1, up1)
    return rounded(first0, first1), rounded(second0, second1)


@gluon.jit
def normed_words(x, reciprocals, weights, zero):
    """int32: x times its rows' reciprocal root mean squares, times both columns' weights, in words."""
    low, high = halves(x, zero)
    by = gl.expand_dims(reciprocals, 1)
    return rounded(low * by * gl.expand_dims(weights[0], 0), high * by * gl.expand_dims(weights[1], 0))


@gluon.jit
def column_weights(weight_ptr, words):
    """(float32, float32): the weights of both columns of words. weight_ptr: of bf16 or fp32 numbers."""
    if weight_ptr.dtype.element_ty == gl.bfloat16:
        weights = halves(gl.load(weight_ptr.to(gl.pointer_type(gl.int32), bitcast=True) + words), 0)
    else:
        weights = gl.load(weight_ptr + 2 * words), gl.load(weight_ptr + 2 * words + 1)
    return weights


@gluon.jit
def _load(at, inside, EVEN: gl.constexpr):
    """Words of rows, zero in rows that are not inside x. EVEN: all are."""
    if EVEN:
        words = gl.load(at)
    else:
        words = gl.load(at, mask=gl.expand_dims(inside, 1), other=0)
    return words


@gluon.jit
def loaded(tensors, sizes, rows, words, SOURCE: gl.constexpr, EVEN: gl.constexpr):
    """A strip's words of each tensor that SOURCE is computed of, at these rows and words. EVEN: as in _load.

    tensors, sizes: those of strip_kernel, pointers to words where a tensor is read in words.
    """
    x_ptr, other_ptr, reciprocals_ptr = tensors
    m, columns, x_stride, other_stride = sizes
    inside = rows < m
    from_x = x_ptr + gl.expand_dims(rows.to(gl.int64) * (x_stride // 2), 1) + gl.expand_dims(words, 0)
    if SOURCE == "":
        given = (_load(from_x, inside, EVEN),)
    elif SOURCE == "swiglu":
        given = (_load(from_x, inside, EVEN), _load(from_x + columns // 2, inside, EVEN))
    elif SOURCE == "rms norm":
        given = (_load(from_x, inside, EVEN), gl.load(reciprocals_ptr + rows, mask=inside, other=0.0))
    else:
        lines = gl.expand_dims(rows.to(gl.int64) * (other_stride // 2), 1)
        given = (
            _load(other_ptr + lines + gl.expand_dims(words, 0), inside, EVEN),
            _load(from_x, inside, EVEN),
            _load(from_x + columns // 2, inside, EVEN),
        )
    return given


@gluon.jit
def computed(given, weights, inside, SOURCE: gl.constexpr, EVEN: gl.constexpr):
    """Words of what SOURCE computes: a strip of each half."""
    if SOURCE == "":
        made = given
    elif SOURCE == "swiglu":
        made = (swiglu_words(given[0], given[1], nothing()),)
    elif SOURCE == "rms norm":
        normed = normed_words(given[0], given[1], weights, nothing())
        if not EVEN:
            # A zero times a negative weight is -0, which is no padding.
            normed = gl.where(gl.expand_dims(inside, 1), normed, 0)
        made = (normed,)
    else:
        made = gradient_words(given[0], given[1], given[2], nothing())
    return made
