"""Dequantizing: codes with power-of-two scales along K become their exact values as bf16.

A GEMM kernel does it with a block in registers, a pass with a whole operand. A pass also copies a bf16
operand to rows that TMA reads, or reorders it along K.
"""

from typing import TYPE_CHECKING, Any

import numpy as np
import triton
import triton.language as tl

from fp8core.accumulators import ACCUMULATORS
from fp8core.formats import FORMATS, Format
from fp8core.recipes import OperandSpec
from kernels.bits import BF16_CUT, FP8_SIGN, FP32_BIAS, FP32_BITS, FP32_MANTISSA, FP32_NAN, float_of
from kernels.device import DeviceKind, launch_context
from kernels.gemm.hopper.descriptors import is_aligned
from kernels.gemm.passes.decode import Decoding, decode_constants, decode_shift, decoding_of, pair_ptx
from kernels.launching.early_kernel import wait_for_kernels_before
from kernels.launching.launch import constant, early, empty, launch, operation
from kernels.quantize.facts import K_PADDING
from kernels.quantize.tensor import QuantizedTensor

if TYPE_CHECKING:
    import torch

_BF16, _FP32, _E4M3, _E8M0 = (FORMATS[name] for name in ("bf16", "fp32", "e4m3", "e8m0"))
PASS_BLOCK = (64, 128)

BF16_BIAS = tl.constexpr(_BF16.bias)
BF16_MANTISSA = tl.constexpr(_BF16.mantissa_bits)
LEAST_E8M0 = tl.constexpr(1 << (_FP32.mantissa_bits - 1))
"""The bits of 2**-127 in fp32, a subnormal number there and code 0 of E8M0."""
E8M0_NAN = tl.constexpr(_E8M0.nan_code)
E4M3_NAN = tl.constexpr(_E4M3.nan_code)
E4M3_CUT = tl.constexpr(_FP32.mantissa_bits - _E4M3.mantissa_bits)
E4M3_UNIT = tl.constexpr(_FP32.bias - _E4M3.bias)
"""e4m3's magnitude bits, read as fp32, are its value over 2 to this power."""
FUSED = tl.constexpr(ACCUMULATORS["hopper_bf16"].fused_products)
"""Products of bf16 that the tensor core adds at once: within so many along K, their order is free."""


def _widening(shift: int) -> str:
    """PTX that spreads the four codes of a register over two registers, 16 bits each.

    A code's sign goes to the top, its magnitude bits are shifted left by `shift`: `prmt` places two codes,
    and one shift moves both. Triton would shift each 16-bit number by itself.
    """
    both = 1 | 1 << _BF16.bits
    size, sign = both * (((1 << (_E4M3.bits - 1)) - 1) << shift), both << (_BF16.bits - 1)
    steps = "".join(
        f"prmt.b32 top, $2, 0, {pair}; shr.u32 low, top, {_E4M3.bits - shift}; and.b32 low, low, {size}; "
        f"and.b32 top, top, {sign}; or.b32 ${out}, top, low; "
        for out, pair in enumerate(("0x1404", "0x3424"))
    )
    return f"{{ .reg .b32 top, low; {steps}}}"


E4M3_SHIFT = tl.constexpr(decode_shift(FORMATS["e4m3"])[0])
WIDEN_E4M3 = tl.constexpr(_widening(E4M3_SHIFT.value))
WIDEN_E5M2 = tl.constexpr(_widening(decode_shift(FORMATS["e5m2"])[0]))


@triton.jit
def power_of_two(EXPONENT: tl.constexpr):
    """float32[1, 1]: 2**EXPONENT, put together from its bits. Products with it are exact."""
    return float_of(tl.full([1, 1], (FP32_BIAS + EXPONENT) << FP32_MANTISSA, tl.int32))


@triton.jit
def decoded_scale(stored, SCALE: tl.constexpr):
    """float32 of stored scales: fp32, or one byte in e8m0 or e4m3."""
    if stored.dtype == tl.float32:
        scale = stored
    elif SCALE == "e8m0":
        code = stored.to(tl.int32)
        bits = tl.where(code == 0, LEAST_E8M0, code << FP32_MANTISSA)
        scale = float_of(tl.where(code == E8M0_NAN, FP32_NAN, bits))
    else:
        tl.static_assert(SCALE == "e4m3")
        size = stored.to(tl.int32) & (FP8_SIGN - 1)
        scale = float_of(size << E4M3_CUT) * power_of_two(E4M3_UNIT)
        scale = tl.where(size == E4M3_NAN, float_of(tl.full([1, 1], FP32_NAN, tl.int32)), scale)
    return scale


@triton.jit
def load_stored_scales(
    scale_ptr,
    start_mn,
    start_k,
    size_mn,
    size_k,
    stride_k,
    TILE_MN: tl.constexpr,
    TILE_K: tl.constexpr,
    BLOCK_MN: tl.constexpr,
    BLOCK_K: tl.constexpr,
):
    """[BLOCK_MN, tiles along K]: a block's stored scales, 0 beyond the operand. TILE 0: the whole dim."""
    TILES: tl.constexpr = BLOCK_K // TILE_K if TILE_K and TILE_K < BLOCK_K else 1
    rows = start_mn + tl.arange(0, BLOCK_MN)
    columns = start_k + tl.arange(0, TILES) * TILE_K
    inside = (rows < size_mn)[:, None] & (columns < size_k)[None, :]
    tile_mn = rows // TILE_MN if TILE_MN else rows * 0
    tile_k = columns // TILE_K if TILE_K else columns * 0
    pointers = scale_ptr + tile_k[None, :] * stride_k + tile_mn[:, None]
    return tl.load(pointers, mask=inside, other=0)


@triton.jit
def load_three_bytes(codes_ptr, rows, start, mn, stride, BLOCK_MN: tl.constexpr, GROUPS: tl.constexpr):
    """int32[BLOCK_MN, GROUPS]: three bytes each of rows uint8[mn, stride], 0 beyond them.

    Words are loaded: three words have four groups. So `start`, the first group, and the groups of a row are
    multiples of four, and a row starts at a multiple of four bytes.
    """
    columns = (start // 4 + tl.arange(0, GROUPS // 4)) * 12
    inside = (rows < mn)[:, None] & (columns < stride)[None, :]
    pointers = codes_ptr + rows.to(tl.int64)[:, None] * stride + columns[None, :]
    words = pointers.to(tl.pointer_type(tl.int32))
    first = tl.load(words, mask=inside, other=0)
    second = tl.load(words + 1, mask=inside, other=0)
    third = tl.load(words + 2, mask=inside, other=0)
    even = tl.join(first & 0xFFFFFF, ((second >> 16) & 0xFFFF) | (third & 0xFF) << 16)  # groups 0 and 2
    odd = tl.join(((first >> 24) & 0xFF) | (second & 0xFFFF) << 8, (third >> 8) & 0xFFFFFF)  # 1 and 3
    return tl.reshape(tl.join(even, odd), [BLOCK_MN, GROUPS])


@triton.jit
def load_codes_of_bits(
    codes_ptr, rows, start_k, mn, stride, BITS: tl.constexpr, BLOCK_MN: tl.constexpr, BLOCK_K: tl.constexpr
):
    """int32[BLOCK_MN, BLOCK_K]: codes of rows uint8[mn, stride], 0 beyond them.

    Two codes of 4 bits share a byte, four of 6 bits three bytes, the first in the lowest bits. start_k is a
    multiple of 16.
    """
    if BITS == 6:
        packed = load_three_bytes(codes_ptr, rows, start_k // 4, mn, stride, BLOCK_MN, BLOCK_K // 4)
        even = tl.join(packed & 63, (packed >> 12) & 63)  # codes 0 and 2
        odd = tl.join((packed >> 6) & 63, packed >> 18)  # codes 1 and 3
        codes = tl.join(even, odd)
    else:
        GROUP: tl.constexpr = 8 // BITS
        columns = start_k // GROUP + tl.arange(0, BLOCK_K // GROUP)
        inside = (rows < mn)[:, None] & (columns < stride)[None, :]
        pointers = codes_ptr + rows.to(tl.int64)[:, None] * stride + columns[None, :]
        codes = tl.load(pointers, mask=inside, other=0).to(tl.int32)
        if BITS == 4:
            codes = tl.join(codes & 15, codes >> 4)
    return tl.reshape(codes, [BLOCK_MN, BLOCK_K])


@triton.jit
def code_values(
    codes, table_ptr, BITS: tl.constexpr, DECODING: tl.constexpr, SHIFT: tl.constexpr, FACTOR: tl.constexpr
):
    """float32: the values of codes int32.

    - "shift": magnitude bits, moved by SHIFT to bf16's exponent and mantissa, are the value times 2**-FACTOR,
      subnormals included.
    - "integer": an integer in two's complement, times 2**FACTOR.
    - "table": float32[2**BITS] at table_ptr has the values.
    """
    SIGN: tl.constexpr = 1 << (BITS - 1)
    if DECODING == "table":
        value = tl.load(table_ptr + codes)
    elif DECODING == "integer":
        value = ((codes ^ SIGN) - SIGN).to(tl.float32) * power_of_two(FACTOR)
    else:
        size = (codes & (SIGN - 1)) << (SHIFT + BF16_CUT)
        value = float_of((codes & SIGN) << (FP32_BITS - BITS) | size) * power_of_two(FACTOR)
    return value


@triton.jit
def dequantize_block(
    codes,
    scale,
    TILE_K: tl.constexpr,
    SHIFT: tl.constexpr,
    FACTOR: tl.constexpr,
    BLOCK_MN: tl.constexpr,
    BLOCK_K: tl.constexpr,
    CAST: tl.constexpr,
):
    """bf16[BLOCK_MN, BLOCK_K] (fp32 in the interpreter): the values of codes uint8[BLOCK_MN, BLOCK_K].

    Shifted codes (see code_values) times 2**FACTOR, times the scale. Both products are exact while code ·
    scale is a bf16 number: for a scale 2**s with s from -124 to 119 (e4m3), from -117 to 112 (e5m2). Below,
    values under 2**-133 are rounded to a multiple of it. Above, a value of 2**128 or more becomes infinite.
    """
    if CAST:
        WIDEN: tl.constexpr = WIDEN_E4M3 if SHIFT == E4M3_SHIFT else WIDEN_E5M2
        value = tl.inline_asm_elementwise(WIDEN, "=r,=r,r", [codes], dtype=tl.bfloat16, is_pure=True, pack=4)
        scale = scale.to(tl.bfloat16)
        # 2**FACTOR, put together from its exponent
        unit = tl.full([1, 1], (BF16_BIAS + FACTOR) << BF16_MANTISSA, tl.int16).to(tl.bfloat16, bitcast=True)
        value = value * unit
    else:
        value = code_values(codes.to(tl.int32), codes, 8, "shift", SHIFT, FACTOR)
    # [BLOCK_MN, tiles, TILE_K] · [BLOCK_MN, tiles, 1]
    value = tl.reshape(value, [BLOCK_MN, BLOCK_K // TILE_K, TILE_K]) * scale[:, :, None]
    return tl.reshape(value, [BLOCK_MN, BLOCK_K])


@triton.jit
def in_order(values, ORDER: tl.constexpr, BLOCK_MN: tl.constexpr, BLOCK_K: tl.constexpr):
    """[BLOCK_MN, BLOCK_K] in the order along K of the codes in hopper/decoding/kernel.py.

    ORDER 8: of 16 along K, number 4j + 2i + h goes to place 8h + 2j + i. ORDER 4: of 32, number 2 (4j + 2i +
    h) + w goes to place 16w + 8h + 2j + i. ORDER 0: nothing moves.
    """
    if ORDER == 8:  # [BLOCK_MN, groups of 16, j, i, h] -> [BLOCK_MN, groups of 16, h, j, i]
        runs = tl.reshape(values, [BLOCK_MN, BLOCK_K // FUSED, FUSED // 4, 2, 2])
        values = tl.reshape(tl.permute(runs, [0, 1, 4, 2, 3]), [BLOCK_MN, BLOCK_K])
    elif ORDER == 4:  # [BLOCK_MN, groups of 32, j, i, h, w] -> [BLOCK_MN, groups of 32, w, h, j, i]
        runs = tl.reshape(values, [BLOCK_MN, BLOCK_K // (2 * FUSED), FUSED // 4, 2, 2, 2])
        values = tl.reshape(tl.permute(runs, [0, 1, 5, 4, 2, 3]), [BLOCK_MN, BLOCK_K])
    return values


@triton.jit
def dequantize_kernel(
    codes_ptr,
    scale_ptr,
    table_ptr,
    values_ptr,
    mn,
    k,
    codes_stride,
    values_stride,
    mn_tiles,
    TILE_MN: tl.constexpr,
    TILE_K: tl.constexpr,
    SCALE: tl.constexpr,
    ON_CODES: tl.constexpr,
    BITS: tl.constexpr,
    DECODING: tl.constexpr,
    SHIFT: tl.constexpr,
    FACTOR: tl.constexpr,
    CAST: tl.constexpr,
    EARLY: tl.constexpr,
    ORDER: tl.constexpr,
    PAIRS: tl.constexpr,
    BLOCK_MN: tl.constexpr,
    BLOCK_K: tl.constexpr,
):
    """Write values [mn, values_stride], bf16 (fp32 in the interpreter), of packed codes uint8[mn,
    codes_stride].

    ON_CODES: codes are multiplied by their scales. BITS, DECODING, SHIFT and FACTOR: see code_values. ORDER:
    see in_order. PAIRS: PTX that decodes two codes at once to bf16, or "". EARLY: see
    kernels.launching.early_kernel.
    """
    wait_for_kernels_before(EARLY)
    start_mn, start_k = tl.program_id(0) * BLOCK_MN, tl.program_id(1) * BLOCK_K
    rows = start_mn + tl.arange(0, BLOCK_MN)
    columns = start_k + tl.arange(0, BLOCK_K)
    codes = load_codes_of_bits(codes_ptr, rows, start_k, mn, codes_stride, BITS, BLOCK_MN, BLOCK_K)
    scale = tl.full([BLOCK_MN, 1], 1.0, tl.float32)
    if ON_CODES:
        stored = load_stored_scales(
            scale_ptr, start_mn, start_k, mn, k, mn_tiles, TILE_MN, TILE_K, BLOCK_MN, BLOCK_K
        )
        scale = decoded_scale(stored, SCALE)
    TILES: tl.constexpr = scale.shape[1]
    codes = tl.reshape(codes, [BLOCK_MN, TILES, BLOCK_K // TILES])
    if PAIRS != "":
        scale, codes = tl.broadcast(scale.to(tl.bfloat16)[:, :, None], codes.to(tl.int16))
        values = tl.inline_asm_elementwise(
            PAIRS, "=r,r,r", [codes, scale], dtype=tl.bfloat16, is_pure=True, pack=2
        )
    else:
        values = code_values(codes, table_ptr, BITS, DECODING, SHIFT, FACTOR) * scale[:, :, None]
    values = tl.reshape(values, [BLOCK_MN, BLOCK_K])
    values = in_order(values, ORDER, BLOCK_MN, BLOCK_K)
    inside = (rows < mn)[:, None] & (columns < values_stride)[None, :]
    offsets = rows.to(tl.int64)[:, None] * values_stride + columns[None, :]
    if CAST:
        values = values.to(values_ptr.dtype.element_ty)
    tl.store(values_ptr + offsets, values, mask=inside)


@triton.jit
def reorder_kernel(
    x_ptr,
    values_ptr,
    mn,
    k,
    x_stride_mn,
    x_stride_k,
    values_stride,
    ORDER: tl.constexpr,
    EARLY: tl.constexpr,
    BLOCK_MN: tl.constexpr,
    BLOCK_K: tl.constexpr,
):
    """Write values [mn, values_stride] of x [mn, k] of any strides, in_order along K, zero beyond k."""
    wait_for_kernels_before(EARLY)
    rows = tl.program_id(0) * BLOCK_MN + tl.arange(0, BLOCK_MN)
    columns = tl.program_id(1) * BLOCK_K + tl.arange(0, BLOCK_K)
    inside = (rows < mn)[:, None] & (columns < k)[None, :]
    offsets = rows.to(tl.int64)[:, None] * x_stride_mn + columns.to(tl.int64)[None, :] * x_stride_k
    values = tl.load(x_ptr + offsets, mask=inside, other=0.0)  # [BLOCK_MN, BLOCK_K]
    values = in_order(values, ORDER, BLOCK_MN, BLOCK_K)
    stored = (rows < mn)[:, None] & (columns < values_stride)[None, :]
    tl.store(values_ptr + rows.to(tl.int64)[:, None] * values_stride + columns[None, :], values, mask=stored)


def dequantize(
    operand: QuantizedTensor, kind: DeviceKind, *, on_codes: bool = True, order: int = 0
) -> "torch.Tensor":
    """bf16[mn, K] (fp32 in the interpreter): the exact values of an operand's codes times its stored scales.

    on_codes: False leaves the scales out. An outer scale is never multiplied in. order: see in_order; the
    zeros that pad K then lie among the other values.
    """
    import torch

    codes = operand.operand_bytes
    mn, k = operand.operand_shape
    dtype = torch.bfloat16 if kind is DeviceKind.GPU else torch.float32
    values = empty((mn, -(-k // K_PADDING) * K_PADDING), dtype, codes.device)
    is_table = decoding_of(operand.spec) is Decoding.TABLE
    table = _code_table(operand.spec.format.name, codes.device) if is_table else codes
    constants = pass_constants(operand.spec, PASS_BLOCK, kind)
    constants |= {"TILE_MN": operand.spec.tile.mn or 0, "ON_CODES": on_codes, "ORDER": order}
    constants["PAIRS"] = pair_ptx(operand.spec) if constants["CAST"] else ""
    blocks = (-(-mn // constants["BLOCK_MN"]), -(-values.shape[1] // constants["BLOCK_K"]))
    tensors = (codes, operand.scale, table, values)
    sizes = (mn, k, codes.stride(0), values.stride(0), operand.operand_scale.stride(1))
    launch(dequantize_kernel, blocks, *tensors, *sizes, **constants, **early(kind))
    return values if order else values[:, :k]


def pass_constants(spec: OperandSpec, block: tuple[int, int], kind: DeviceKind) -> dict[str, Any]:
    return {
        "TILE_K": spec.tile.k or 0,
        "SCALE": spec.scale_rule.format.name,
        **decode_constants(spec),
        "CAST": kind is DeviceKind.GPU,
        "BLOCK_MN": block[0],
        "BLOCK_K": block[1],
    }


@constant
def _code_table(name: str, device: "torch.device") -> "torch.Tensor":
    import torch

    format_: Format = FORMATS[name]
    codes = np.arange(1 << format_.bits, dtype=format_.code_dtype)
    return torch.from_numpy(format_.decode(codes).astype(np.float32)).to(device)


def laid_out(
    x: "torch.Tensor", kind: DeviceKind, order: int = 0, *, by_pointers: bool = False, mn_major: bool = False
) -> "torch.Tensor":
    """bf16[mn, K] (fp32 in the interpreter) of x in rows that TMA reads: x itself if TMA reads it.

    mn_major: the kernel also takes an x whose columns TMA reads. order: as in dequantize. by_pointers: a
    kernel without TMA reads up to the start of the next row, so all beyond K is zero.
    """
    import torch

    mn, k = x.shape
    whole = x.stride(0) == k or not by_pointers
    if kind is DeviceKind.GPU and not order and ((_readable(x) and whole) or (mn_major and _readable(x.T))):
        return x
    dtype = torch.bfloat16 if kind is DeviceKind.GPU else torch.float32
    values = empty((mn, -(-k // K_PADDING) * K_PADDING), dtype, x.device)
    if not order:
        operation(torch.Tensor.zero_, values[:, k:])
        operation(torch.Tensor.copy_, values[:, :k], x)
        return values[:, :k]
    block_mn, block_k = PASS_BLOCK
    sizes = (mn, k, *x.stride(), values.stride(0))
    with launch_context(x):
        launch(
            reorder_kernel,
            (-(-mn // block_mn), -(-values.shape[1] // block_k)),
            x.float() if kind is DeviceKind.INTERPRETER else x,  # the interpreter's bf16 loads are wrong
            values,
            *sizes,
            ORDER=order,
            BLOCK_MN=block_mn,
            BLOCK_K=block_k,
            **early(kind),
        )
    return values


def _readable(x: "torch.Tensor") -> bool:
    return is_aligned(x) and x.stride(0) >= x.shape[1]
