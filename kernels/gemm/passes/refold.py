"""Refolding: several scales along K become one, and codes are shifted to make up for it (fp8core.refold)."""

from dataclasses import replace

import triton
import triton.language as tl

from fp8core.refold import SQUARE, refolded
from fp8core.tiles import TileShape
from kernels.bits import (
    FP32_BIAS,
    FP32_INF,
    FP32_MANTISSA,
    cast_within,
    decode_by_cast,
    encode_by_bits,
    expand_parts,
    float_bits,
    float_of,
)
from kernels.device import current_device, launch_context
from kernels.gemm.passes.dequantize import code_values, decoded_scale, load_stored_scales, pass_constants
from kernels.launching.launch import empty, launch
from kernels.quantize.facts import fp32_bits
from kernels.quantize.tensor import QuantizedTensor, empty_scale

WARPS = 8


@triton.jit
def refold_kernel(
    codes_ptr,
    scale_ptr,
    refolded_codes_ptr,
    refolded_scale_ptr,
    mn,
    k,
    stride_mn,
    mn_tiles,
    refolded_mn_tiles,
    REFOLDED_MN: tl.constexpr,
    TILE_K: tl.constexpr,
    SCALE: tl.constexpr,
    SHIFT: tl.constexpr,
    FACTOR: tl.constexpr,
    MAX_BITS: tl.constexpr,
    MANTISSA: tl.constexpr,
    BIAS: tl.constexpr,
    CAST: tl.constexpr,
    BLOCK_MN: tl.constexpr,
    BLOCK_K: tl.constexpr,
):
    """Refold codes uint8[mn, stride_mn] in tiles of 1 × TILE_K to tiles of REFOLDED_MN × BLOCK_K.

    Writes codes of the same strides and scale float32[k / BLOCK_K rounded up, refolded_mn_tiles]. A new scale
    is the largest that it replaces. A program has BLOCK_MN / REFOLDED_MN new tiles.
    """
    start_mn, start_k = tl.program_id(0) * BLOCK_MN, tl.program_id(1) * BLOCK_K
    rows = start_mn + tl.arange(0, BLOCK_MN)
    columns = start_k + tl.arange(0, BLOCK_K)
    stored = load_stored_scales(scale_ptr, start_mn, start_k, mn, k, mn_tiles, 1, TILE_K, BLOCK_MN, BLOCK_K)
    bits = float_bits(decoded_scale(stored, SCALE))  # [BLOCK_MN, BLOCK_K / TILE_K]
    # Bits of non-negative floats are ordered as the floats are, and a NaN's come last. Beyond the operand the
    # scale is 0, the least.
    PARTS: tl.constexpr = BLOCK_MN // REFOLDED_MN
    largest = tl.max(tl.reshape(bits, [PARTS, REFOLDED_MN * (BLOCK_K // TILE_K)]), axis=1)
    tiles = tl.program_id(0) * PARTS + tl.arange(0, PARTS)
    refolded_scales = refolded_scale_ptr + tl.program_id(1) * refolded_mn_tiles + tiles
    tl.store(refolded_scales, float_of(largest), mask=tiles < refolded_mn_tiles)

    largest = expand_parts(largest[:, None], REFOLDED_MN, 1)
    # Both scales are powers of two: the exponent of their ratio is the difference of their exponent fields.
    # That holds for 2**-127 too, whose field is 0.
    lower = (largest >> FP32_MANTISSA) - (bits >> FP32_MANTISSA)
    # A ratio below 2**(1 - bias) leaves only zeros of any code: a smaller one need not be told apart.
    lower = tl.where(largest > FP32_INF, 0, tl.minimum(lower, FP32_BIAS - 1))
    ratio = float_of(-(lower - FP32_BIAS) << FP32_MANTISSA)
    inside = (rows < mn)[:, None] & (columns < stride_mn)[None, :]
    offsets = rows.to(tl.int64)[:, None] * stride_mn + columns[None, :]
    codes = tl.load(codes_ptr + offsets, mask=inside, other=0)  # [BLOCK_MN, BLOCK_K]
    # Codes with the largest scale stay as they are, and so does a NaN.
    each = expand_parts(ratio, 1, TILE_K)
    if CAST:
        moved = cast_within(decode_by_cast(codes, MANTISSA) * each, MANTISSA)
    else:
        value = code_values(codes.to(tl.int32), codes, 8, "shift", SHIFT, FACTOR)
        moved = encode_by_bits(value * each, MAX_BITS, MANTISSA, BIAS)
    tl.store(refolded_codes_ptr + offsets, tl.where(each < 1.0, moved, codes), mask=inside)


def refold(tensor: QuantizedTensor, tile: TileShape) -> QuantizedTensor:
    """Refold a tensor to fp8core.refold's LINE or SQUARE, into other memory, laid out as the quantizer does.

    Raises NoTriton, and ValueError where fp8core.refold.refolded does.
    """
    import torch

    kind = current_device().kind
    operand = replace(tensor.operand, spec=refolded(tensor.spec, tile))
    codes = tensor.operand_codes.view(torch.uint8)
    mn, k = codes.shape
    refolded_codes = empty((mn, codes.stride(0)), torch.uint8, codes.device)
    # In fp32 whatever the rule's format: the GEMM that follows multiplies sums by them.
    scale = empty_scale(operand, tuple(tensor.codes.shape), codes.device, dtype=torch.float32)
    k_tiles, mn_tiles = scale.shape
    constants, format_ = pass_constants(tensor.spec, (SQUARE.mn, SQUARE.k), kind), tensor.spec.format
    del constants["BITS"], constants["DECODING"]  # always bytes, which a shift decodes
    constants |= {"REFOLDED_MN": tile.mn, "MAX_BITS": fp32_bits(format_.max)}
    constants |= {"MANTISSA": format_.mantissa_bits, "BIAS": format_.bias}
    blocks = (-(-mn // constants["BLOCK_MN"]), k_tiles)
    if codes.numel():
        with launch_context(codes):
            tensors = (codes, tensor.scale, refolded_codes, scale)
            sizes = (mn, k, codes.stride(0), tensor.operand_scale.stride(1), mn_tiles)
            launch(refold_kernel, blocks, *tensors, *sizes, **constants, num_warps=WARPS)
    return QuantizedTensor.of(operand, refolded_codes, scale, k)
