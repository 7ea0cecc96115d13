"""Words of what is computed: two neighboring bf16 numbers each, of a strip of a block."""

from triton.experimental import gluon
from triton.experimental.gluon import language as gl

from kernels.bits import fp32
from kernels.fused.arithmetic import ONE, multiply_add, sigmoid

LOADED = gl.constexpr(8)
"""Words of a tensor that a thread has of a strip; two loads bring four each."""
BOTH_COME = gl.constexpr(
    "{ .reg .b32 t; or.b32 t, $8, $12; and.b32 t, t, $16; "
    + "".join(f"mov.b32 ${each}, t; " for each in range(LOADED.value))
    + "}"
)
"""PTX: a word of each load, or-ed, and then with a zero."""
REGISTERS = gl.constexpr(",".join(["=r"] * LOADED.value + ["r"] * 2 * LOADED.value))
WIDEN_WORD = gl.constexpr("mad.lo.u32 $0, $2, $4, $3; lop3.b32 $1, $2, 0xffff0000, $3, 0xEA;")
"""PTX for both numbers of a word: bits of it, of a zero, and 2**16. A product is not for the busiest pipe."""
ROUND = gl.constexpr("cvt.rn.bf16x2.f32 $0, $2, $1;")
"""PTX for a word of two fp32 numbers, nearest even."""


@gluon.jit
def all_come(given, nil):
    """int32: zero for each word, once all of a thread's words have come. nil: zero, as nobody knows before.

    What is computed with it waits for them. ptxas would save registers instead: load some numbers, compute,
    and load the next into the same registers. A program would wait for memory many times.
    """
    zero = nil
    for each in gl.static_range(len(given)):
        zero = gl.inline_asm_elementwise(
            BOTH_COME, REGISTERS, [given[each], zero], dtype=gl.int32, is_pure=True, pack=LOADED
        )
    return zero


@gluon.jit
def halves(words, zero, up):
    """(float32, float32): both bf16 numbers of each word. up: 2**16, by which the first one is shifted."""
    return gl.inline_asm_elementwise(
        WIDEN_WORD, "=f,=f,r,r,r", [words, zero, up], dtype=(gl.float32, gl.float32), is_pure=True, pack=1
    )


@gluon.jit
def rounded(low, high):
    """int32: words of two bf16 numbers, nearest even."""
    return gl.inline_asm_elementwise(ROUND, "=r,f,f", [low, high], dtype=gl.int32, is_pure=True, pack=1)


@gluon.jit
def swiglu_words(gate, up, zero, by):
    """int32: SwiGLU of words."""
    gate0, gate1 = halves(gate, zero, by)
    up0, up1 = halves(up, zero, by)
    return rounded(gate0 * sigmoid(gate0, True) * up0, gate1 * sigmoid(gate1, True) * up1)


@gluon.jit
def gradients(dh, gate, up):
    """(float32, float32): the gradients of the gate and of up, not yet rounded."""
    share = sigmoid(gate, True)
    silu = gate * share
    slope = multiply_add(silu, fp32(ONE) - share, share, True)
    return dh * up * slope, dh * silu


@gluon.jit
def gradient_words(dh, gate, up, zero, by):
    """(int32, int32): the gradients of the gate and of up, in words."""
    dh0, dh1 = halves(dh, zero, by)
    gate0, gate1 = halves(gate, zero, by)
    up0, up1 = halves(up, zero, by)
    first0, second0 = gradients(dh0, gate0, up0)
    first1, second1 = gradients(dh1, gate1, up1)
    return rounded(first0, first1), rounded(second0, second1)


@gluon.jit
def normed_words(x, reciprocals, weights, zero, up):
    """int32: x times its rows' reciprocal root mean squares, times both columns' weights, in words."""
    low, high = halves(x, zero, up)
    by = gl.expand_dims(reciprocals, 1)
    return rounded(low * by * gl.expand_dims(weights[0], 0), high * by * gl.expand_dims(weights[1], 0))


@gluon.jit
def column_weights(weight_ptr, words, up):
    """(float32, float32): the weights of both columns of words. weight_ptr: of bf16 or fp32 numbers."""
    if weight_ptr.dtype.element_ty == gl.bfloat16:
        weights = halves(gl.load(weight_ptr.to(gl.pointer_type(gl.int32), bitcast=True) + words), 0, up)
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
def computed(given, weights, inside, up, SOURCE: gl.constexpr, EVEN: gl.constexpr):
    """Words of what SOURCE computes: a strip of each half."""
    if SOURCE == "":
        made = given
    elif SOURCE == "swiglu":
        made = (swiglu_words(given[0], given[1], all_come(given, up >> 31), up),)
    elif SOURCE == "rms norm":
        normed = normed_words(given[0], given[1], weights, all_come(given[:1], up >> 31), up)
        if not EVEN:
            # A zero times a negative weight is -0, which is no padding.
            normed = gl.where(gl.expand_dims(inside, 1), normed, 0)
        made = (normed,)
    else:
        made = gradient_words(given[0], given[1], given[2], all_come(given, up >> 31), up)
    return made
