"""GEMM bodies: D[M, N] = A[M, K] · B[N, K]ᵀ, both operands contiguous along K, scales applied inside.

Operands come as tensor descriptors, which read zeros beyond M, N and K. Scales lie as float32[k_tiles,
mn_tiles]; a TILE of 0 is the whole dim. Where a tile spans a block, one scale serves all of the block.
"""

import triton
import triton.language as tl

from fp8core.formats import FORMATS
from kernels.quantize_kernel import FP32_INF, FP32_MANTISSA, FP32_NAN, FP32_SIZE_MASK, float_bits

_BF16 = FORMATS["bf16"]
_FP32 = FORMATS["fp32"]
BF16_CUT = tl.constexpr(_FP32.mantissa_bits - _BF16.mantissa_bits)
BF16_HALF = tl.constexpr((1 << (_FP32.mantissa_bits - _BF16.mantissa_bits - 1)) - 1)
BF16_BIAS = tl.constexpr(_BF16.bias)
BF16_MANTISSA = tl.constexpr(_BF16.mantissa_bits)
BF16_BITS = tl.constexpr(_BF16.bits)
FP8_SIGN = tl.constexpr(FORMATS["e4m3"].sign_bit)
FP8_BITS = tl.constexpr(FORMATS["e4m3"].bits)


@triton.jit
def block_of(program, m, n, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, GROUP_M: tl.constexpr):
    """(block row, block column) of a program: GROUP_M block rows go together, so that L2 holds their B."""
    rows, columns = tl.cdiv(m, BLOCK_M), tl.cdiv(n, BLOCK_N)
    in_group = GROUP_M * columns
    first = program // in_group * GROUP_M
    height = min(rows - first, GROUP_M)
    return first + program % in_group % height, program % in_group // height


@triton.jit
def load_scale(scale_ptr, tile_k, start, size, stride_k, TILE_MN: tl.constexpr, BLOCK_MN: tl.constexpr):
    """float32[BLOCK_MN], or [1] where one tile spans the block: the scales of rows start… at a place along K."""
    if TILE_MN == 0:
        scale = tl.load(scale_ptr + tile_k * stride_k + tl.arange(0, 1))
    elif TILE_MN % BLOCK_MN == 0:
        scale = tl.load(scale_ptr + tile_k * stride_k + start // TILE_MN + tl.arange(0, 1))
    else:
        rows = start + tl.arange(0, BLOCK_MN)
        scale = tl.load(scale_ptr + tile_k * stride_k + rows // TILE_MN, mask=rows < size, other=0.0)
    return scale


@triton.jit
def to_bf16_by_bits(x):
    """fp32 -> bf16, nearest even, in integer arithmetic: Triton's interpreter truncates in its cast."""
    bits = float_bits(x)
    rounded = (bits + BF16_HALF + ((bits >> BF16_CUT) & 1)) >> BF16_CUT
    rounded = tl.where((bits & FP32_SIZE_MASK) > FP32_INF, FP32_NAN >> BF16_CUT, rounded)
    return rounded.to(tl.int16).to(tl.bfloat16, bitcast=True)


@triton.jit
def store_block(
    out_ptr, value, block_m, block_n, m, n, stride_m, stride_n,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, ACCUMULATE: tl.constexpr, CAST: tl.constexpr,
):
    rows = block_m * BLOCK_M + tl.arange(0, BLOCK_M)
    columns = block_n * BLOCK_N + tl.arange(0, BLOCK_N)
    inside = (rows < m)[:, None] & (columns < n)[None, :]
    places = out_ptr + rows.to(tl.int64)[:, None] * stride_m + columns.to(tl.int64)[None, :] * stride_n
    if ACCUMULATE:
        value += tl.load(places, mask=inside, other=0.0)
    if not CAST and out_ptr.dtype.element_ty == tl.bfloat16:
        value = to_bf16_by_bits(value)
    tl.store(places, value.to(out_ptr.dtype.element_ty), mask=inside)


@triton.jit
def fp8_gemm_kernel(
    a_desc, b_desc, a_scale_ptr, b_scale_ptr, out_ptr, m, n, k, a_mn_tiles, b_mn_tiles, out_stride_m, out_stride_n,
    A_TILE_MN: tl.constexpr, A_TILE_K: tl.constexpr, B_TILE_MN: tl.constexpr, B_TILE_K: tl.constexpr,
    SCALE_IN_LOOP: tl.constexpr, PROMOTED: tl.constexpr, ACCUMULATE: tl.constexpr, CAST: tl.constexpr,
    KNOWN_STEPS: tl.constexpr,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr, GROUP_M: tl.constexpr,
):
    """Codes are summed in the FP8 tensor core; scales come once a block of K, or once at the end."""
    block_m, block_n = block_of(tl.program_id(0), m, n, BLOCK_M, BLOCK_N, GROUP_M)
    start_m, start_n = block_m * BLOCK_M, block_n * BLOCK_N
    acc = tl.zeros([BLOCK_M, BLOCK_N], tl.float32)
    for step in tl.range(0, KNOWN_STEPS if KNOWN_STEPS else tl.cdiv(k, BLOCK_K)):
        a = a_desc.load([start_m, step * BLOCK_K])  # [BLOCK_M, BLOCK_K]
        b = b_desc.load([start_n, step * BLOCK_K])  # [BLOCK_N, BLOCK_K]
        if SCALE_IN_LOOP:
            a_tile = step * BLOCK_K // A_TILE_K if A_TILE_K else step * 0
            b_tile = step * BLOCK_K // B_TILE_K if B_TILE_K else step * 0
            a_scale = load_scale(a_scale_ptr, a_tile, start_m, m, a_mn_tiles, A_TILE_MN, BLOCK_M)
            b_scale = load_scale(b_scale_ptr, b_tile, start_n, n, b_mn_tiles, B_TILE_MN, BLOCK_N)
            partial = tl.dot(a, b.T)
            scale = tl.broadcast_to(a_scale[:, None] * b_scale[None, :], [BLOCK_M, BLOCK_N])
            acc = tl.fma(partial, scale, acc)
        elif PROMOTED:
            acc += tl.dot(a, b.T)
        else:
            acc = tl.dot(a, b.T, acc)
    if not SCALE_IN_LOOP:
        a_scale = load_scale(a_scale_ptr, 0, start_m, m, a_mn_tiles, A_TILE_MN, BLOCK_M)
        b_scale = load_scale(b_scale_ptr, 0, start_n, n, b_mn_tiles, B_TILE_MN, BLOCK_N)
        acc = acc * a_scale[:, None] * b_scale[None, :]
    store_block(
        out_ptr, acc, block_m, block_n, m, n, out_stride_m, out_stride_n, BLOCK_M, BLOCK_N, ACCUMULATE, CAST
    )


@triton.jit
def load_block_scales(
    scale_ptr, start_mn, start_k, size_mn, size_k, stride_k,
    TILE_MN: tl.constexpr, TILE_K: tl.constexpr, BLOCK_MN: tl.constexpr, BLOCK_K: tl.constexpr,
):
    """float32[BLOCK_MN, BLOCK_K / TILE_K], zero beyond the operand."""
    rows = start_mn + tl.arange(0, BLOCK_MN)
    columns = start_k + tl.arange(0, BLOCK_K // TILE_K) * TILE_K
    inside = (rows < size_mn)[:, None] & (columns < size_k)[None, :]
    tile_mn = rows // TILE_MN if TILE_MN else rows * 0
    places = scale_ptr + (columns // TILE_K)[None, :] * stride_k + tile_mn[:, None]
    return tl.load(places, mask=inside, other=0.0)


@triton.jit
def dequantize_block(
    codes, scale, TILE_K: tl.constexpr, SHIFT: tl.constexpr, FACTOR: tl.constexpr,
    BLOCK_MN: tl.constexpr, BLOCK_K: tl.constexpr, CAST: tl.constexpr,
):
    """codes uint8[BLOCK_MN, BLOCK_K] -> their values as bf16 (fp32 in the interpreter).

    A code's magnitude bits, shifted to the mantissa of bf16 and read as bf16, are its value times
    2**-FACTOR, subnormals included. Two products with powers of two follow. Both are exact while code · scale
    is a bf16 number: for a scale 2**s with s from -124 to 119 (e4m3), -117 to 112 (e5m2). Below, values
    under 2**-133 are rounded to a multiple of it; above, only a value of 2**128 or more becomes infinite.
    """
    SIZE: tl.constexpr = FP8_SIGN - 1
    if CAST:
        wide = codes.to(tl.int16)
        bits = ((wide & FP8_SIGN) << (BF16_BITS - FP8_BITS)) | ((wide & SIZE) << SHIFT)
        value = bits.to(tl.int16).to(tl.bfloat16, bitcast=True)
        scale = scale.to(tl.bfloat16)
        unit = tl.full([1, 1], (BF16_BIAS + FACTOR) << BF16_MANTISSA, tl.int16).to(tl.bfloat16, bitcast=True)
    else:
        wide = codes.to(tl.int32)
        bits = (wide & FP8_SIGN) << (2 * BF16_BITS - FP8_BITS) | ((wide & SIZE) << (SHIFT + BF16_CUT))
        value = bits.to(tl.float32, bitcast=True)
        unit = tl.full([1, 1], (BF16_BIAS + FACTOR) << FP32_MANTISSA, tl.int32).to(tl.float32, bitcast=True)
    value = tl.reshape(value * unit, [BLOCK_MN, BLOCK_K // TILE_K, TILE_K]) * scale[:, :, None]
    return tl.reshape(value, [BLOCK_MN, BLOCK_K])


@triton.jit
def dequantized_gemm_kernel(
    a_desc, b_desc, a_scale_ptr, b_scale_ptr, out_ptr, m, n, k, a_mn_tiles, b_mn_tiles, out_stride_m, out_stride_n,
    A_TILE_MN: tl.constexpr, A_TILE_K: tl.constexpr, B_TILE_MN: tl.constexpr, B_TILE_K: tl.constexpr,
    A_SHIFT: tl.constexpr, A_FACTOR: tl.constexpr, B_SHIFT: tl.constexpr, B_FACTOR: tl.constexpr,
    ACCUMULATE: tl.constexpr, CAST: tl.constexpr, KNOWN_STEPS: tl.constexpr,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr, GROUP_M: tl.constexpr,
):
    """Power-of-two scales, exactly: operands become bf16 on the way to the bf16 tensor core."""
    block_m, block_n = block_of(tl.program_id(0), m, n, BLOCK_M, BLOCK_N, GROUP_M)
    start_m, start_n = block_m * BLOCK_M, block_n * BLOCK_N
    acc = tl.zeros([BLOCK_M, BLOCK_N], tl.float32)
    for step in tl.range(0, KNOWN_STEPS if KNOWN_STEPS else tl.cdiv(k, BLOCK_K)):
        start_k = step * BLOCK_K
        a_codes = a_desc.load([start_m, start_k])  # [BLOCK_M, BLOCK_K]
        b_codes = b_desc.load([start_n, start_k])  # [BLOCK_N, BLOCK_K]
        a_scale = load_block_scales(
            a_scale_ptr, start_m, start_k, m, k, a_mn_tiles, A_TILE_MN, A_TILE_K, BLOCK_M, BLOCK_K
        )
        b_scale = load_block_scales(
            b_scale_ptr, start_n, start_k, n, k, b_mn_tiles, B_TILE_MN, B_TILE_K, BLOCK_N, BLOCK_K
        )
        a = dequantize_block(a_codes, a_scale, A_TILE_K, A_SHIFT, A_FACTOR, BLOCK_M, BLOCK_K, CAST)
        b = dequantize_block(b_codes, b_scale, B_TILE_K, B_SHIFT, B_FACTOR, BLOCK_N, BLOCK_K, CAST)
        acc = tl.dot(a, b.T, acc, input_precision="ieee")
    store_block(
        out_ptr, acc, block_m, block_n, m, n, out_stride_m, out_stride_n, BLOCK_M, BLOCK_N, ACCUMULATE, CAST
    )


@triton.jit
def native_mx_gemm_kernel(
    a_desc, b_desc, a_scale_ptr, b_scale_ptr, out_ptr, m, n, k, a_mn_tiles, b_mn_tiles, out_stride_m, out_stride_n,
    TILE_K: tl.constexpr, A_FORMAT: tl.constexpr, B_FORMAT: tl.constexpr, ACCUMULATE: tl.constexpr,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr, GROUP_M: tl.constexpr,
):
    """MXFP8 by Blackwell's scaled tensor core, which takes E8M0 codes: the exponent fields of the scales."""
    block_m, block_n = block_of(tl.program_id(0), m, n, BLOCK_M, BLOCK_N, GROUP_M)
    start_m, start_n = block_m * BLOCK_M, block_n * BLOCK_N
    acc = tl.zeros([BLOCK_M, BLOCK_N], tl.float32)
    for step in tl.range(0, tl.cdiv(k, BLOCK_K)):
        start_k = step * BLOCK_K
        a = a_desc.load([start_m, start_k])  # [BLOCK_M, BLOCK_K]
        b = b_desc.load([start_n, start_k])  # [BLOCK_N, BLOCK_K]
        a_scale = load_block_scales(a_scale_ptr, start_m, start_k, m, k, a_mn_tiles, 1, TILE_K, BLOCK_M, BLOCK_K)
        b_scale = load_block_scales(b_scale_ptr, start_n, start_k, n, k, b_mn_tiles, 1, TILE_K, BLOCK_N, BLOCK_K)
        a_e8m0 = (float_bits(a_scale) >> FP32_MANTISSA).to(tl.uint8)
        b_e8m0 = (float_bits(b_scale) >> FP32_MANTISSA).to(tl.uint8)
        acc = tl.dot_scaled(a, a_e8m0, A_FORMAT, b.T, b_e8m0, B_FORMAT, acc)
    store_block(
        out_ptr, acc, block_m, block_n, m, n, out_stride_m, out_stride_n, BLOCK_M, BLOCK_N, ACCUMULATE, True
    )
