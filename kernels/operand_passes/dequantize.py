"""The pass that writes an operand with power-of-two scales as bf16, exactly."""

from typing import TYPE_CHECKING

from fp8core.recipes import OperandSpec
from kernels.device import COMPILE_OPTIONS, DeviceKind
from kernels.operand_passes.plan import (
    DEQUANTIZE_BLOCK,
    pass_constants,
)
from kernels.quantize.launch import QuantizedTensor

if TYPE_CHECKING:
    import torch


def dequantize(operand: QuantizedTensor, kind: DeviceKind, *, paired: bool = False) -> "torch.Tensor":
    """bf16[mn, K] (fp32 in the interpreter): the exact values of an operand with power-of-two scales.

    `paired` asks for the order along K that the kernel in hopper/decoding needs. The zeros that pad K then
    lie among the other values.
    """
    import torch

    from kernels.operand_passes.dequantize_kernel import dequantize_kernel

    codes = operand.padded_codes.view(torch.uint8)
    mn, k = operand.operand_codes.shape
    dtype = torch.bfloat16 if kind is DeviceKind.GPU else torch.float32
    values = torch.empty(codes.shape, dtype=dtype, device=codes.device)
    constants = dequantize_constants(operand.spec, kind)
    blocks = (-(-mn // constants["BLOCK_MN"]), -(-codes.shape[1] // constants["BLOCK_K"]))
    dequantize_kernel[blocks](
        codes,
        operand.scale,
        values,
        mn,
        k,
        codes.stride(0),
        operand.operand_scale.stride(1),
        **constants,
        PAIRED=paired,
        **COMPILE_OPTIONS,
    )
    return values if paired else values[:, :k]


def dequantize_constants(spec: OperandSpec, kind: DeviceKind) -> dict[str, int | bool]:
    """The constexpr arguments of dequantize_kernel."""
    return {"TILE_MN": spec.tile.mn or 0, **pass_constants(spec, DEQUANTIZE_BLOCK, kind)}
