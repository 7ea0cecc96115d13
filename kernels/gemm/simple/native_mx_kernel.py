"""The simple GEMM for MXFP8 on Blackwell, whose tensor core applies the scales itself."""

import triton
import triton.language as tl

from kernels.bits import (
    FP32_MANTISSA,
    float_bits,
)
from kernels.gemm.simple.kernel import block_of, store_block
from kernels.operand_passes.dequantize_kernel import load_block_scales


@triton.jit
def native_mx_gemm_kernel(
    a_desc,
    b_desc,
    a_scale_ptr,
    b_scale_ptr,
    out_ptr,
    m,
    n,
    k,
    a_mn_tiles,
    b_mn_tiles,
    out_stride_m,
    out_stride_n,
    TILE_K: tl.constexpr,
    A_FORMAT: tl.constexpr,
    B_FORMAT: tl.constexpr,
    ACCUMULATE: tl.constexpr,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
    BLOCK_K: tl.constexpr,
    GROUP_M: tl.constexpr,
):
    """D in blocks, one a program. The tensor core takes a scale as its E8M0 code: fp32's exponent field."""
    block_m, block_n = block_of(tl.program_id(0), m, n, BLOCK_M, BLOCK_N, GROUP_M)
    start_m, start_n = block_m * BLOCK_M, block_n * BLOCK_N
    acc = tl.zeros([BLOCK_M, BLOCK_N], tl.float32)
    for step in tl.range(0, tl.cdiv(k, BLOCK_K)):
        start_k = step * BLOCK_K
        a = a_desc.load([start_m, start_k])  # [BLOCK_M, BLOCK_K]
        b = b_desc.load([start_n, start_k])  # [BLOCK_N, BLOCK_K]
        a_scale = load_block_scales(
            a_scale_ptr, start_m, start_k, m, k, a_mn_tiles, 1, TILE_K, BLOCK_M, BLOCK_K
        )  # [BLOCK_M, BLOCK_K / TILE_K]
        b_scale = load_block_scales(
            b_scale_ptr, start_n, start_k, n, k, b_mn_tiles, 1, TILE_K, BLOCK_N, BLOCK_K
        )  # [BLOCK_N, BLOCK_K / TILE_K]
        a_e8m0 = (float_bits(a_scale) >> FP32_MANTISSA).to(tl.uint8)
        b_e8m0 = (float_bits(b_scale) >> FP32_MANTISSA).to(tl.uint8)
        acc = tl.dot_scaled(a, a_e8m0, A_FORMAT, b.T, b_e8m0, B_FORMAT, acc)
    store_block(
        out_ptr, acc, block_m, block_n, m, n, out_stride_m, out_stride_n, BLOCK_M, BLOCK_N, ACCUMULATE, True
    )
