"""The pass that writes one-byte scales as fp32, for kernels that multiply sums by them."""

from typing import TYPE_CHECKING

from kernels.device import COMPILE_OPTIONS, launching
from kernels.launching.launch import launch
from kernels.quantize.tensor import QuantizedTensor

if TYPE_CHECKING:
    import torch

_BLOCK = 1024


def widened_scale(operand: QuantizedTensor) -> "torch.Tensor":
    """float32[k_tiles, mn_tiles] in memory: an operand's stored scales, as they are where they are fp32."""
    import torch

    from kernels.operand_passes.widen_scales_kernel import widen_scales_kernel

    stored = operand.operand_scale.T
    if stored.dtype == torch.float32:
        return stored
    scale = torch.empty_like(stored, dtype=torch.float32)
    if scale.numel():
        with launching(stored):
            launch(
                widen_scales_kernel,
                (-(-scale.numel() // _BLOCK),),
                stored,
                scale,
                scale.numel(),
                SCALE=operand.spec.scale_rule.format.name,
                BLOCK=_BLOCK,
                **COMPILE_OPTIONS,
            )
    return scale
