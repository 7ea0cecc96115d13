"""The GEMM of Blackwell's block-scaled tensor core, for MX formats and NVFP4. NEVER RUN: only compiled.

Tests read its machine code for sm_100 and sm_120, and run it in Triton's interpreter and, by way of bf16, on
Hopper. kernels/gemm/block_scaled.py has the instructions and the blocks.

TMA feeds each step: codes of A and B, contiguous along K, and their one-byte scales. Codes of e2m1 come
packed, the lower index in the low bits, as tl.dot_scaled takes them. A pass turns the quantizer's scales
[runs of K, rows] into blocks of 128 rows × 4 runs, which tcgen05.cp copies to tensor memory. Otherwise they
would go through registers, and on sm_100 each step would wait for the multiplication before it.
"""

from typing import TYPE_CHECKING

import triton
import triton.language as tl

from fp8core.formats import FORMATS
from fp8core.linear import Side
from fp8core.recipes import OperandSpec
from kernels.bits import FP32_MANTISSA, float_bits
from kernels.device import DeviceKind
from kernels.gemm.block_scaled import NATIVE, SCALE_ROWS, SCALE_TILES, NativeKind, instruction_format
from kernels.gemm.factor import Factor
from kernels.gemm.plan import GemmPlan
from kernels.gemm.simple.kernel import block_of, load_scale, scale_sum, store_block
from kernels.launching.launch import empty
from kernels.launching.launch import launch as launch_kernel
from kernels.quantize.tensor import float8

if TYPE_CHECKING:
    import torch

_SCALE_COLUMNS = 4
"""Blocks of scales that a program of the pass writes side by side."""
_HALVES = 2
"""Runs of bytes in which a descriptor sees a block of scales: a box's side is 256 at most."""

ROWS, TILES = tl.constexpr(SCALE_ROWS), tl.constexpr(SCALE_TILES)
QUARTERS = tl.constexpr(4)
"""A block's rows come in so many runs, which lie side by side."""
LANES = tl.constexpr(SCALE_ROWS // QUARTERS.value)


@triton.jit
def scale_blocks_kernel(
    scale_ptr,
    blocks_ptr,
    mn,
    k_tiles,
    stride_k,
    block_columns,
    TILE_MN: tl.constexpr,
    TILE_K: tl.constexpr,
    RUN_K: tl.constexpr,
    FROM_FP32: tl.constexpr,
    COLUMNS: tl.constexpr,
):
    """Write one-byte scales in blocks uint8[block rows, block columns, 512], each 128 rows × 4 runs of K.

    Row r and run c of a block lie at byte 16 · (r mod 32) + 4 · (r div 32) + c: so tcgen05.cp spreads them
    over the lanes of tensor memory. A tile's scale is repeated for each row and each RUN_K elements in it.
    Bytes beyond the last tile are 0. FROM_FP32: scales are fp32 powers of two, whose exponent field is the
    E8M0 code. One program writes COLUMNS blocks side by side.
    """
    offsets = tl.arange(0, COLUMNS * ROWS * TILES)
    column = tl.program_id(1) * COLUMNS + offsets // (ROWS * TILES)
    inside_block = offsets % (ROWS * TILES)
    lane, rest = inside_block // (QUARTERS * TILES), inside_block % (QUARTERS * TILES)
    row = tl.program_id(0) * ROWS + rest // TILES * (ROWS // QUARTERS) + lane
    tile_k = (column * TILES + rest % TILES) * RUN_K // TILE_K
    tile_mn = row // TILE_MN if TILE_MN else row * 0
    at = tile_k.to(tl.int64) * stride_k + tile_mn
    scale = tl.load(scale_ptr + at, mask=(row < mn) & (tile_k < k_tiles), other=0)
    if FROM_FP32:
        scale = float_bits(scale) >> FP32_MANTISSA
    first = tl.program_id(0).to(tl.int64) * block_columns * (ROWS * TILES)
    within = column < block_columns
    tl.store(blocks_ptr + first + column * (ROWS * TILES) + inside_block, scale.to(tl.uint8), mask=within)


@triton.jit
def load_scales(scale_desc, block, step, BLOCK_MN: tl.constexpr, RUNS: tl.constexpr):
    """[BLOCK_MN, RUNS] one-byte scales of a block's rows at a step, out of blocks of 128 × 4.

    The reshapes name the order of a block's bytes: (row mod 32, row div 32, run). On sm_100 nothing moves.
    """
    ROW_BLOCKS: tl.constexpr = BLOCK_MN // ROWS
    RUN_BLOCKS: tl.constexpr = RUNS // TILES
    blocks = scale_desc.load([0, block * ROW_BLOCKS, step * RUN_BLOCKS, 0, 0])
    parts = blocks.reshape(ROW_BLOCKS, RUN_BLOCKS, LANES, QUARTERS, TILES)
    return parts.trans(0, 3, 2, 1, 4).reshape(BLOCK_MN, RUNS)


@triton.jit
def native_gemm_kernel(
    a_desc,
    b_desc,
    a_scale_desc,
    b_scale_desc,
    a_outer_ptr,
    b_outer_ptr,
    out_ptr,
    m,
    n,
    k,
    out_stride_m,
    out_stride_n,
    A_FORMAT: tl.constexpr,
    B_FORMAT: tl.constexpr,
    RUN_K: tl.constexpr,
    A_OUTER: tl.constexpr,
    B_OUTER: tl.constexpr,
    A_OUTER_MN: tl.constexpr,
    B_OUTER_MN: tl.constexpr,
    ACCUMULATE: tl.constexpr,
    CAST: tl.constexpr,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
    BLOCK_K: tl.constexpr,
    GROUP_M: tl.constexpr,
):
    """D in blocks, one a program. RUN_K elements along K share a scale, which the tensor core multiplies.

    Never run on Blackwell, only compiled for it. A_OUTER, B_OUTER: a second scale, in fp32, of all K,
    multiplied in at the end.
    """
    A_PACKED: tl.constexpr = 2 if A_FORMAT == "e2m1" else 1
    B_PACKED: tl.constexpr = 2 if B_FORMAT == "e2m1" else 1
    RUNS: tl.constexpr = BLOCK_K // RUN_K
    block_m, block_n = block_of(tl.program_id(0), m, n, BLOCK_M, BLOCK_N, GROUP_M)
    start_m, start_n = block_m * BLOCK_M, block_n * BLOCK_N
    acc = tl.zeros([BLOCK_M, BLOCK_N], tl.float32)
    for step in tl.range(0, tl.cdiv(k, BLOCK_K)):
        a = a_desc.load([start_m, step * (BLOCK_K // A_PACKED)])  # [BLOCK_M, BLOCK_K / A_PACKED]
        b = b_desc.load([start_n, step * (BLOCK_K // B_PACKED)])  # [BLOCK_N, BLOCK_K / B_PACKED]
        a_scale = load_scales(a_scale_desc, block_m, step, BLOCK_M, RUNS)  # [BLOCK_M, RUNS]
        b_scale = load_scales(b_scale_desc, block_n, step, BLOCK_N, RUNS)  # [BLOCK_N, RUNS]
        acc = tl.dot_scaled(a, a_scale, A_FORMAT, b.T, b_scale, B_FORMAT, acc)
    if A_OUTER and B_OUTER:
        acc = scale_sum(
            acc, a_outer_ptr, b_outer_ptr, start_m, start_n, m, n, A_OUTER_MN, B_OUTER_MN, BLOCK_M, BLOCK_N
        )
    elif A_OUTER:
        acc = acc * load_scale(a_outer_ptr, 0, start_m, m, 0, A_OUTER_MN, BLOCK_M)[:, None]
    elif B_OUTER:
        acc = acc * load_scale(b_outer_ptr, 0, start_n, n, 0, B_OUTER_MN, BLOCK_N)[None, :]
    store_block(
        out_ptr,
        acc,
        block_m,
        block_n,
        m,
        n,
        out_stride_m,
        out_stride_n,
        BLOCK_M,
        BLOCK_N,
        ACCUMULATE,
        CAST,
    )


def launch(
    plan: GemmPlan, a: Factor, b: Factor, out: "torch.Tensor", accumulate: bool, kind: DeviceKind
) -> object:
    numerics, blocks, (m, n), k = plan.numerics, plan.blocks, out.shape, a.k
    sides = (_descriptors(plan, a, blocks.block_m), _descriptors(plan, b, blocks.block_n))
    constants: dict[str, object] = {}
    for side, format_ in zip(Side, numerics.multiplied, strict=True):
        tile = numerics.applied(side)
        constants[f"{side.value}_FORMAT"] = format_.name
        constants[f"{side.value}_OUTER"] = tile is not None
        constants[f"{side.value}_OUTER_MN"] = (tile.mn or 0) if tile else 0
    return launch_kernel(
        native_gemm_kernel,
        (blocks.count(m, n),),
        *(codes for codes, _ in sides),
        *(scales for _, scales in sides),
        *(factor.scale if numerics.applied(factor.side) else None for factor in (a, b)),
        out,
        *(m, n, k, *out.stride()),
        **constants,
        RUN_K=NATIVE[numerics.native].tile_k,
        ACCUMULATE=accumulate,
        CAST=kind is DeviceKind.GPU,
        BLOCK_M=blocks.block_m,
        BLOCK_N=blocks.block_n,
        BLOCK_K=blocks.block_k,
        GROUP_M=blocks.group,
        num_warps=blocks.warps,
        num_stages=blocks.stages,
    )


def _descriptors(plan: GemmPlan, factor: Factor, block_mn: int) -> tuple[object, object]:
    """Descriptors of codes, and of scales in the layout of scale_blocks."""
    from triton.tools.tensor_descriptor import TensorDescriptor

    native, operand = plan.numerics.native, factor.quantized
    assert operand is not None, "a block-scaled MMA multiplies two quantized operands"
    spec, block_k = operand.spec, plan.blocks.block_k
    scales = scale_blocks(operand.operand_scale, operand.operand_shape, spec, native)
    code_box = [block_mn, block_k * instruction_format(native, spec.format).bits // 8]
    columns = block_k // (NATIVE[native].tile_k * SCALE_TILES)
    scale_box = [1, block_mn // SCALE_ROWS, columns, _HALVES, SCALE_ROWS * SCALE_TILES // _HALVES]
    return (
        TensorDescriptor.from_tensor(factor.matrix, code_box),
        TensorDescriptor.from_tensor(scales, scale_box),
    )


def scale_blocks(
    scale: "torch.Tensor", shape: tuple[int, int], spec: OperandSpec, kind: NativeKind
) -> "torch.Tensor":
    """uint8 or float8[1, mn blocks, k blocks, 2, 256]: an operand's scales in blocks of 128 × 4.

    scale: uint8 or float32[mn_tiles, k_tiles] of an operand of `shape` (mn, k), the first dim contiguous.
    """
    import torch

    facts, (mn, k) = NATIVE[kind], shape
    rows, columns = -(-mn // SCALE_ROWS), -(-k // (facts.tile_k * SCALE_TILES))
    bytes_ = SCALE_ROWS * SCALE_TILES // _HALVES
    blocks = empty((1, rows, columns, _HALVES, bytes_), torch.uint8, scale.device)
    tensors = (scale.view(torch.uint8) if scale.dtype.itemsize == 1 else scale, blocks)
    sizes = (mn, scale.shape[1], scale.stride(1), columns)
    launch_kernel(
        scale_blocks_kernel,
        (rows, -(-columns // _SCALE_COLUMNS)),
        *tensors,
        *sizes,
        TILE_MN=spec.tile.mn or 0,
        TILE_K=spec.tile.k or 0,
        RUN_K=facts.tile_k,
        FROM_FP32=scale.dtype == torch.float32,
        COLUMNS=_SCALE_COLUMNS,
    )
    return blocks if facts.scale == FORMATS["e8m0"].name else blocks.view(float8(FORMATS[facts.scale]))
