"""The tensors of a GemmJob: drawn, rounded to bf16, quantized.

The job names a kind of input. `fp8core.inputs.kind_of` gives the distributions of x, w and dy.
"""

from dataclasses import dataclass
from functools import lru_cache

import torch

from fp8core.costs import code_bytes, scale_bytes
from fp8core.inputs import InputKind, draw_operand
from fp8core.linear import LayerTensor, Side
from kernels.bench.job import GemmJob, Into
from kernels.device import Device
from kernels.gemm.plan import GemmPlan
from kernels.quantize import QuantizedTensor, quantize


@dataclass(frozen=True)
class Operands:
    """The bf16 tensors of a job, in stored orientation."""

    job: GemmJob
    a: torch.Tensor
    b: torch.Tensor

    @classmethod
    def of(cls, job: GemmJob, device: Device) -> "Operands":
        """The job's tensors on a device; the tensors of the last job where the two jobs share them."""
        layer = job.matmul_data.layer(job.m, job.n, job.k)
        a, b = (
            drawn(job.input, tensor, layer.of(tensor), layer.in_, 2 * job.seed + number, device.place)
            for number, tensor in enumerate((job.matmul_data.a, job.matmul_data.b))
        )
        return cls(job, a, b)

    def copied(self) -> "Operands":
        """A copy of these tensors in other memory."""
        return Operands(self.job, self.a.clone(), self.b.clone())

    def as_operands(self) -> tuple[torch.Tensor, torch.Tensor]:
        """bf16 views A [M, K] and B [N, K]."""
        return tuple(
            x.T if self.job.matmul_data.k_is_rows(side) else x
            for side, x in ((Side.A, self.a), (Side.B, self.b))
        )

    def quantized(self) -> tuple[QuantizedTensor, QuantizedTensor]:
        """A and B, quantized as the recipe says."""
        recipe, matmul = self.job.recipe_data, self.job.matmul_data
        return tuple(
            quantize(x, recipe.operand(matmul, side)) for side, x in ((Side.A, self.a), (Side.B, self.b))
        )


@lru_cache(maxsize=2)
def drawn(
    kind: InputKind, tensor: LayerTensor, shape: tuple[int, int], fan_in: int, seed: int, where: str
) -> torch.Tensor:
    """bf16[shape] of x, w or dy, seeded. The two most recent tensors are kept."""
    x = draw_operand(kind, tensor, shape, seed, fan_in=fan_in)
    return torch.from_numpy(x).to(where).bfloat16()


def least_bytes(job: GemmJob, plan: GemmPlan) -> int:
    """The least traffic of the GEMM: codes, scales and D once each, D twice where it is added into."""
    recipe, matmul = job.recipe_data, job.matmul_data
    layer = matmul.layer(job.m, job.n, job.k)
    total = job.m * job.n * plan.meaning.spec.out.bytes * (2 if job.into is Into.ACCUMULATE else 1)
    for side in Side:
        shape, operand = layer.of(matmul.operand(side)), recipe.operand(matmul, side)
        total += code_bytes(operand, shape) + scale_bytes(operand, shape)
    return total
