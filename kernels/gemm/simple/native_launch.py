"""The launcher of the block-scaled kernel: a plan and two operands become descriptors and arguments."""

from typing import TYPE_CHECKING

from fp8core.linear import Side
from fp8core.recipes import OperandSpec
from kernels.device import COMPILE_OPTIONS, DeviceKind
from kernels.gemm.factor import Factor
from kernels.gemm.plan import GemmPlan
from kernels.launching.launch import launch as launch_kernel
from kernels.operand_passes.native import (
    NATIVE,
    SCALE_ROWS,
    SCALE_TILES,
    NativeKind,
    given_format,
)
from kernels.operand_passes.native_passes import scale_blocks

if TYPE_CHECKING:
    import torch


def launch(
    plan: GemmPlan, a: Factor, b: Factor, out: "torch.Tensor", accumulate: bool, kind: DeviceKind
) -> object:
    """Multiply A [M, K] and B [N, K] into out [M, N] of any strides; Triton's handle of what ran.

    `given` of both factors are codes as the kernel loads them. Scales are brought into its blocks first.
    """
    from kernels.gemm.simple.native_kernel import native_gemm_kernel

    blocks, (m, n), k = plan.blocks, out.shape, a.k
    a_codes, a_scales = _descriptors(plan, a, blocks.block_m)
    b_codes, b_scales = _descriptors(plan, b, blocks.block_n)
    return launch_kernel(
        native_gemm_kernel,
        (blocks.count(m, n),),
        a_codes,
        b_codes,
        a_scales,
        b_scales,
        *(factor.scale if plan.meaning.applied(factor.side) else None for factor in (a, b)),
        out,
        m,
        n,
        k,
        out.stride(0),
        out.stride(1),
        **kernel_constants(plan, k, accumulate=accumulate, kind=kind),
        num_warps=blocks.warps,
        num_stages=blocks.stages,
        **COMPILE_OPTIONS,
    )


def _descriptors(plan: GemmPlan, factor: Factor, block_mn: int) -> tuple[object, object]:
    """An operand's codes, and its scales in blocks of the order in which they are loaded."""
    from triton.tools.tensor_descriptor import TensorDescriptor

    native, operand = plan.meaning.native, factor.quantized
    assert operand is not None, "a block-scaled MMA multiplies two quantized operands"
    spec, codes = operand.spec, factor.given
    scales = scale_blocks(operand.operand_scale, operand.operand_shape, spec, native)
    boxes = (
        code_box(spec, native, block_mn, plan.blocks.block_k),
        scale_box(native, block_mn, plan.blocks.block_k),
    )
    of_codes, of_scales = (
        TensorDescriptor.from_tensor(tensor, box) for tensor, box in zip((codes, scales), boxes, strict=True)
    )
    return of_codes, of_scales


def code_box(spec: OperandSpec, native: NativeKind, block_mn: int, block_k: int) -> list[int]:
    """[rows, bytes] of a block's codes."""
    return [block_mn, block_k * given_format(native, spec.format).bits // 8]


def scale_box(native: NativeKind, block_mn: int, block_k: int) -> list[int]:
    """A block's scales, as native_passes.scale_blocks lays them."""
    columns = block_k // (NATIVE[native].tile_k * SCALE_TILES)
    return [1, block_mn // SCALE_ROWS, columns, 2, SCALE_ROWS * SCALE_TILES // 2]


def kernel_constants(plan: GemmPlan, k: int, *, accumulate: bool, kind: DeviceKind) -> dict[str, object]:
    """The constexpr arguments of the plan's kernel."""
    meaning, blocks, constants = plan.meaning, plan.blocks, {}
    for side, given in zip(Side, meaning.multiplied, strict=True):
        tile = meaning.applied(side)
        constants |= {
            f"{side.value}_FORMAT": given.name,
            f"{side.value}_OUTER": tile is not None,
            f"{side.value}_OUTER_MN": (tile.mn or 0) if tile else 0,
        }
    return constants | {
        "RUN_K": NATIVE[meaning.native].tile_k,
        "ACCUMULATE": accumulate,
        "KNOWN_STEPS": 0 if kind is DeviceKind.GPU else -(-k // blocks.block_k),
        "BLOCK_M": blocks.block_m,
        "BLOCK_N": blocks.block_n,
        "BLOCK_K": blocks.block_k,
        "GROUP_M": blocks.group,
    }
