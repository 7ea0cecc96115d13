"""Rotation: runs along K times a Hadamard matrix, in fp32, then rounded to bf16. It comes before scaling."""

import triton
import triton.language as tl

from kernels.bits import BF16_CUT, bf16_bits, float_bits, float_of, fp32
from kernels.quantize.facts import FP32

WORD = tl.constexpr(FP32.bits)
ROUND = tl.constexpr(
    "{ .reg .f32 first, second; .reg .b32 both; mov.b32 first, $2; mov.b32 second, $3; "
    f"cvt.rn.bf16x2.f32 both, second, first; shl.b32 $0, both, {BF16_CUT.value}; "
    f"and.b32 $1, both, {-1 << BF16_CUT.value & (1 << FP32.bits) - 1}; }}"
)
"""PTX that rounds two numbers to bf16 at once; Triton would round one after the other, an eighth as fast."""


@triton.jit
def rotate(
    x,
    columns,
    k,
    ROTATION: tl.constexpr,
    BLOCK_MN: tl.constexpr,
    BLOCK_K: tl.constexpr,
    CAST: tl.constexpr,
):
    """float32[BLOCK_MN, BLOCK_K]: x, which lies at `columns` int32[BLOCK_K] of K, rotated.

    Signs come first, then sums and differences of neighbors, of pairs, of fours and so on, then 1/sqrt(size).
    A last run that K cuts short is only rounded.
    """
    SIZE: tl.constexpr = ROTATION.size
    y = float_of(float_bits(x) ^ _negative(columns % SIZE, ROTATION)[None, :])
    STAGES: tl.constexpr = ROTATION.stages
    for stage in tl.static_range(STAGES):
        y = _butterfly(y, 1 << stage, BLOCK_MN, BLOCK_K)
    y *= fp32(ROTATION.factor_bits)
    whole = columns // SIZE * SIZE + SIZE <= k
    y = tl.where(whole[None, :], y, x)
    if CAST:
        bits = [float_bits(y)]
        y = float_of(tl.inline_asm_elementwise(ROUND, "=r,=r,r,r", bits, tl.int32, is_pure=True, pack=2))
    else:
        y = float_of(bf16_bits(y) << BF16_CUT)
    return y


@triton.jit
def _butterfly(y, HALF: tl.constexpr, BLOCK_MN: tl.constexpr, BLOCK_K: tl.constexpr):
    """float32[BLOCK_MN, BLOCK_K]: of numbers HALF apart, the first becomes a + b, the second a - b."""
    own = tl.reshape(y, [BLOCK_MN, BLOCK_K // (2 * HALF), 2, HALF])
    # The other one of a pair, by its bits: both, as whole numbers, less one's own.
    other = float_of(tl.sum(float_bits(own), axis=2)[:, :, None, :] - float_bits(own))
    # A minus in Triton 3.6 is a difference from +0, which has no -0.
    sign = (tl.arange(0, 2) << (WORD - 1))[None, None, :, None]
    return tl.reshape(other + float_of(float_bits(own) ^ sign), [BLOCK_MN, BLOCK_K])


@triton.jit
def _negative(place, ROTATION: tl.constexpr):
    """int32: fp32's sign bit where the sign of this place in a run is -1, else 0."""
    word = place * 0
    WORDS: tl.constexpr = ROTATION.words
    for number in tl.static_range(WORDS):
        word = tl.where(place // WORD == number, ROTATION.negative[number], word)
    return (word >> (place % WORD)) << (WORD - 1)
