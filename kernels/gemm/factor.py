from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from fp8core.linear import Side
from kernels.gemm.blocks import Blocks
from kernels.gemm.numerics import Numerics
from kernels.launching.launch import constant, empty, operation
from kernels.quantize.tensor import QuantizedTensor

if TYPE_CHECKING:
    import torch

GemmOperand = "QuantizedTensor | torch.Tensor"
"""A quantized operand; or bf16 [mn, K] of any strides, if the spec leaves it in bf16."""


@dataclass(frozen=True)
class Factor:
    """An operand after the passes. `matrix`: the codes or values [mn, K] that the kernel reads.

    `quantized` is None for an operand that stays bf16.
    """

    side: Side
    numerics: Numerics
    quantized: QuantizedTensor | None
    matrix: "torch.Tensor"

    @cached_property
    def scale(self) -> "torch.Tensor":
        """float32[k_tiles, mn_tiles] that multiply sums: the scales; the outer ones where the scales multiply
        codes; a single 1 where there are none.
        """
        if self.quantized is None:
            return _one(self.matrix.device)
        if not self.numerics.on_codes(self.side):
            from kernels.gemm.passes.widen import widened_scale

            return widened_scale(self.quantized)
        outer = self.quantized.outer_scale
        if outer is None:
            return _one(self.matrix.device)
        return outer if self.quantized.operand.k_is_rows else outer.T

    @property
    def k(self) -> int:
        return self.matrix.shape[1] if self.quantized is None else self.quantized.operand_shape[1]

    @property
    def code_scale(self) -> "torch.Tensor":
        return self.quantized.operand_scale.T

    @property
    def line_scale(self) -> "torch.Tensor":
        """uint8[k_tiles, rows]: scales of codes, one a row; repeated over the rows of a tile."""
        import torch

        scale, tall = self.code_scale, self.quantized.spec.tile.mn
        if tall == 1:
            return scale
        k_tiles, mn_tiles = scale.shape
        lines = empty((k_tiles, mn_tiles, tall), scale.dtype, scale.device)
        operation(torch.Tensor.copy_, lines, scale[:, :, None].expand(lines.shape))
        return lines.flatten(1)

    def scale_of(self, blocks: Blocks) -> "torch.Tensor":
        """Scales of codes if a kernel with these blocks decodes them, else of sums."""
        return self.code_scale if blocks.decodes(self.side) else self.scale


@constant
def _one(device: "torch.device") -> "torch.Tensor":
    import torch

    return torch.ones((1, 1), dtype=torch.float32, device=device)
