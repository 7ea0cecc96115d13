"""Decoding in registers: codes and one-byte scales from shared memory become a wgmma's left factor.

kernels.gemm.passes.decode has the instructions, kernels.gemm.hopper.decoding.kernel the order along K.
"""

from triton.experimental import gluon
from triton.experimental.gluon import language as gl

from fp8core.formats import FORMATS
from kernels.gemm.hopper import sizes
from kernels.gemm.hopper.gluon_api import reinterpret
from kernels.gemm.hopper.ring import CONSUMERS
from kernels.gemm.passes import decode as passes_decode
from kernels.gemm.passes.dequantize import BF16_BIAS, BF16_MANTISSA, E4M3_SHIFT, FUSED

SLAB = gl.constexpr(sizes.SLAB)
_BF16, _E4M3, _E8M0 = FORMATS["bf16"], FORMATS["e4m3"], FORMATS["e8m0"]
LEAST_E8M0 = gl.constexpr(1 << (_BF16.mantissa_bits - 1))
"""The bits of 2**-127 in bf16, a subnormal number there and code 0 of E8M0."""
BF16_NAN = gl.constexpr(_BF16.nan_code)
E8M0_NAN = gl.constexpr(_E8M0.nan_code)
E4M3_NAN = gl.constexpr(_E4M3.nan_code)
E4M3_SIGN = gl.constexpr(_E4M3.sign_bit)
BF16_BITS = gl.constexpr(_BF16.bits)
LOW_HALF = gl.constexpr((1 << _BF16.bits) - 1)
E8M0_PAIR = gl.constexpr(passes_decode.E8M0_PAIR)
E4M3_UNIT = gl.constexpr(int(_BF16.encode(2.0 ** (_BF16.bias - _E4M3.bias))))
"""e4m3's magnitude bits, shifted to bf16's, times this power of two are its value."""


@gluon.jit
def bf16_of(bits):
    return bits.to(gl.int16).to(gl.bfloat16, bitcast=True)


@gluon.jit
def scale_numbers(stored, SCALE: gl.constexpr):
    """bf16 of the bytes of scales in SCALE, which is e8m0 or e4m3."""
    code = stored.to(gl.int32)
    if SCALE == "e8m0":
        bits = gl.where(code == 0, LEAST_E8M0, code << BF16_MANTISSA)
        scale = bf16_of(gl.where(code == E8M0_NAN, BF16_NAN, bits))
    else:
        size = code & (E4M3_SIGN - 1)
        unit = bf16_of(gl.full(size.shape, E4M3_UNIT, gl.int32, size.type.layout))
        scale = bf16_of(size << E4M3_SHIFT) * unit
        nan = bf16_of(gl.full(size.shape, BF16_NAN, gl.int32, size.type.layout))
        scale = gl.where(size == E4M3_NAN, nan, scale)
    return scale


@gluon.jit
def scale_pairs(stored, SCALE: gl.constexpr, ON_SCALES: gl.constexpr):
    """int32: a scale's bf16 number, times 2**ON_SCALES, in both halves. Infinity stands for NaN."""
    if SCALE == "e8m0" and ON_SCALES == 0:
        # As few instructions as there are: every thread has its rows' scales to read in every step.
        pairs = gl.inline_asm_elementwise(
            E8M0_PAIR, "=r,r", [stored.to(gl.int32)], dtype=gl.int32, is_pure=True, pack=1
        )
    else:
        scale = scale_numbers(stored, SCALE)
        if ON_SCALES != 0:
            bits = gl.full(scale.shape, (BF16_BIAS + ON_SCALES) << BF16_MANTISSA, gl.int32, scale.type.layout)
            scale = scale * bf16_of(bits)
        bits = scale.to(gl.int16, bitcast=True).to(gl.int32) & LOW_HALF
        pairs = bits | (bits << BF16_BITS)
    return pairs


@gluon.jit
def decode(stage, ring, PLACE: gl.constexpr):
    """bf16[SLAB, BLOCK_K]: the values of slab PLACE of a stage's codes, as a wgmma's left factor."""
    BYTES: gl.constexpr = gl.DotOperandLayout(0, ring.LAYOUT, 4)
    VALUES: gl.constexpr = gl.DotOperandLayout(0, ring.LAYOUT, 2)
    PLAIN: gl.constexpr = gl.SwizzledSharedLayout(1, 1, 1, [1, 0])
    ROW: gl.constexpr = ring.BLOCK_K * ring.BITS // 8
    GROUPS: gl.constexpr = ROW // FUSED
    parts = reinterpret(ring.codes, gl.uint8, [ring.STAGES * CONSUMERS, SLAB, ROW], ring.codes.layout)
    scales = reinterpret(ring.scales, gl.uint8, [ring.STAGES, ring.TILES, CONSUMERS * SLAB], PLAIN)
    codes = parts.index(stage * CONSUMERS + PLACE).load(BYTES)  # [SLAB, ROW]
    codes = codes.reshape([SLAB, ring.TILES, ROW // ring.TILES])
    scale = scales.index(stage).slice(PLACE * SLAB, SLAB, dim=1).permute([1, 0])  # [SLAB, TILES]
    scale = scale_pairs(scale.load(gl.SliceLayout(2, codes.type.layout)), ring.SCALE, ring.ON_SCALES)
    scale, codes = gl.broadcast(gl.expand_dims(scale, 2), codes)
    # Of each 4 bytes the PTX gives 0, 2, 1, 3, which the permutation says in words. All stays in its thread:
    # assert_trivial refuses to compile if it did not.
    if ring.BITS == 4:
        low, high = gl.inline_asm_elementwise(
            ring.DECODE,
            "=r,=r,=r,=r,r,r,r,r,r",
            [codes, scale],
            dtype=(gl.bfloat16, gl.bfloat16),
            is_pure=True,
            pack=4,
        )
        value = gl.join(low, high).reshape([SLAB, GROUPS, 4, 2, 2, 2]).permute([0, 1, 5, 3, 2, 4])
    else:
        value = gl.inline_asm_elementwise(
            ring.DECODE, "=r,=r,r,r,r,r,r", [codes, scale], dtype=gl.bfloat16, is_pure=True, pack=4
        )
        value = value.reshape([SLAB, GROUPS, 4, 2, 2]).permute([0, 1, 3, 2, 4])
    return gl.convert_layout(value.reshape([SLAB, ring.BLOCK_K]), VALUES, assert_trivial=True)
