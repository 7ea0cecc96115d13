"""One of the two operands of a GEMM on its way to a kernel."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from kernels.quantize.launch import QuantizedTensor

if TYPE_CHECKING:
    import torch


@dataclass(frozen=True)
class Factor:
    """A quantized operand, and what the kernel is `given` of it after the passes: codes or values [mn, K]."""

    operand: QuantizedTensor
    given: "torch.Tensor"

    @property
    def scale(self) -> "torch.Tensor":
        return self.operand.scale

    @property
    def mn_tiles(self) -> int:
        """Scales between one tile along K and the next."""
        return self.operand.operand_scale.stride(1)
