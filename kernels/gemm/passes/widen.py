"""Widening: narrow codes become those of e4m3, one-byte scales become fp32."""

from typing import TYPE_CHECKING

import triton
import triton.language as tl

from fp8core.formats import FORMATS, Format
from kernels.bits import FP8_SIGN, FP32_BIAS, FP32_MANTISSA, float_bits, float_of
from kernels.device import launch_context
from kernels.gemm.block_scaled import NativeKind, instruction_format
from kernels.gemm.passes.dequantize import E4M3_CUT, decoded_scale, load_three_bytes
from kernels.launching.launch import empty, launch
from kernels.quantize.tensor import QuantizedTensor, float8

if TYPE_CHECKING:
    import torch

_E4M3, _FP32 = FORMATS["e4m3"], FORMATS["fp32"]
_BLOCK = (16, 128)
_SCALES = 1024

E4M3_REBIAS = tl.constexpr((_FP32.bias - _E4M3.bias) << _E4M3.mantissa_bits)
"""Difference of an fp32 number's top bits from the e4m3 code of its value."""
GROUP = tl.constexpr(4)
"""Codes that are widened together: a whole number of bytes when packed, a word when widened."""


@triton.jit
def widen_code(code, BITS: tl.constexpr, MANTISSA: tl.constexpr, BIAS: tl.constexpr):
    """int32 e4m3 codes of the values of narrow codes int32, whose exponents e4m3 has all among its normals.

    Magnitude bits in the place of fp32's exponent and mantissa are the value times a power of two, subnormals
    included. The product with that power is exact; its top bits are the e4m3 code.
    """
    SIGN: tl.constexpr = 1 << (BITS - 1)
    magnitude = code & (SIGN - 1)
    unit = float_of(tl.full([1, 1], (2 * FP32_BIAS - BIAS) << FP32_MANTISSA, tl.int32))
    value = float_of(magnitude << (FP32_MANTISSA - MANTISSA)) * unit
    size = tl.where(magnitude == 0, 0, (float_bits(value) >> E4M3_CUT) - E4M3_REBIAS)
    return size | tl.where((code & SIGN) != 0, FP8_SIGN, 0)


@triton.jit
def widen_kernel(
    packed_ptr,
    codes_ptr,
    mn,
    packed_stride,
    words,
    BITS: tl.constexpr,
    MANTISSA: tl.constexpr,
    BIAS: tl.constexpr,
    BLOCK_MN: tl.constexpr,
    BLOCK_WORDS: tl.constexpr,
):
    """Write e4m3 codes as int32[mn, words], four a word, of packed codes of BITS uint8[mn, packed_stride].

    Four codes take BITS / 2 bytes; the first has the lowest bits.
    """
    BYTES: tl.constexpr = GROUP * BITS // 8
    rows = tl.program_id(0) * BLOCK_MN + tl.arange(0, BLOCK_MN)
    start = tl.program_id(1) * BLOCK_WORDS
    columns = start + tl.arange(0, BLOCK_WORDS)
    inside = (rows < mn)[:, None] & (columns < words)[None, :]
    if BITS == 6:
        packed = load_three_bytes(packed_ptr, rows, start, mn, packed_stride, BLOCK_MN, BLOCK_WORDS)
    else:
        pointers = packed_ptr + rows.to(tl.int64)[:, None] * packed_stride + columns[None, :] * BYTES
        packed = tl.zeros([BLOCK_MN, BLOCK_WORDS], tl.int32)
        for byte in tl.static_range(BYTES):
            packed |= tl.load(pointers + byte, mask=inside, other=0).to(tl.int32) << (8 * byte)
    wide = tl.zeros([BLOCK_MN, BLOCK_WORDS], tl.int32)
    for number in tl.static_range(GROUP):
        code = (packed >> (BITS * number)) & ((1 << BITS) - 1)
        wide |= widen_code(code, BITS, MANTISSA, BIAS) << (8 * number)
    tl.store(codes_ptr + rows.to(tl.int64)[:, None] * words + columns[None, :], wide, mask=inside)


def widened_codes(codes: "torch.Tensor", format_: Format, kind: NativeKind) -> "torch.Tensor":
    """float8, or packed uint8: codes in a format that the block-scaled instruction takes, a row contiguous.

    codes: [mn, bytes] of rows that are a whole number of K_PADDING codes long: 6-bit ones are read as words.
    """
    import torch

    wide_format = instruction_format(kind, format_)
    if wide_format == format_:
        return codes
    mn, size = codes.shape
    wide = empty((mn, size * 8 // format_.bits), torch.uint8, codes.device)
    words = wide.shape[1] // GROUP.value
    blocks = (-(-mn // _BLOCK[0]), -(-words // _BLOCK[1]))
    arguments = (codes, wide.view(torch.int32), mn, codes.stride(0), words)
    constants = {"BITS": format_.bits, "MANTISSA": format_.mantissa_bits, "BIAS": format_.bias}
    constants |= {"BLOCK_MN": _BLOCK[0], "BLOCK_WORDS": _BLOCK[1]}
    launch(widen_kernel, blocks, *arguments, **constants)
    return wide.view(float8(wide_format))


@triton.jit
def widen_scales_kernel(stored_ptr, scale_ptr, size, SCALE: tl.constexpr, BLOCK: tl.constexpr):
    """Write float32[size] of as many bytes in the format SCALE."""
    offsets = (tl.program_id(0) * BLOCK + tl.arange(0, BLOCK))[None, :]
    stored = tl.load(stored_ptr + offsets, mask=offsets < size, other=0)
    tl.store(scale_ptr + offsets, decoded_scale(stored, SCALE), mask=offsets < size)


def widened_scale(operand: QuantizedTensor) -> "torch.Tensor":
    """float32[k_tiles, mn_tiles] in memory: an operand's stored scales."""
    import torch

    stored, rule = operand.operand_scale.T, operand.spec.scale_rule
    if stored.dtype == torch.float32:
        return stored
    scale = empty(stored.shape, torch.float32, stored.device)
    if scale.numel():
        with launch_context(stored):
            blocks, constants = (-(-scale.numel() // _SCALES),), {"SCALE": rule.format.name, "BLOCK": _SCALES}
            launch(widen_scales_kernel, blocks, stored, scale, scale.numel(), **constants)
    return scale
