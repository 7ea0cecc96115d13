"""Parts of what a check launches, as data: another process can launch each of them alone, to compile it.

Importing this needs no torch.
"""

from dataclasses import dataclass

from fp8core.formats import FloatFormat
from fp8core.recipes import Operand
from kernels.bench.job import GemmJob
from kernels.device import Device, Unsupported


@dataclass(frozen=True)
class CastCode:
    """The cast to a format."""

    format: FloatFormat

    def launch(self, device: Device) -> None:
        """Launch all of it once."""
        from kernels.check.casts import bf16_numbers, encoded

        encoded(self.format, bf16_numbers(), device)


@dataclass(frozen=True, kw_only=True)
class QuantizerCode:
    """The quantizer of a bf16 tensor of a stored shape. A delayed scale has a history of so many `steps`."""

    operand: Operand
    shape: tuple[int, int]
    seed: int
    steps: int

    def launch(self, device: Device) -> None:
        """Launch all of it once, on zeros."""
        import torch

        from kernels.bench.operands import quantized

        x = torch.zeros(self.shape, dtype=torch.bfloat16, device=device.place)
        quantized(x, self.operand, self.seed, torch.zeros(self.steps, device=device.place))


@dataclass(frozen=True)
class GemmCode:
    """A GEMM as planned for the shape that is timed, and the quantizers of the job's own shape."""

    job: GemmJob

    def launch(self, device: Device) -> None:
        """Launch all of it once, on zeros; nothing where it has no plan."""
        from kernels.check.products import plan_of
        from kernels.tune.job import launch_once

        plan = plan_of(self.job, device)
        if not isinstance(plan, Unsupported):
            launch_once(self.job, plan.blocks)


@dataclass(frozen=True)
class PlannedCode:
    """A GEMM as planned for its own shape, and its quantizers."""

    job: GemmJob

    def launch(self, device: Device) -> None:
        """Launch all of it once, on zeros; nothing where it has no plan."""
        from kernels.tune.job import launch_once

        launch_once(self.job, None)


Code = CastCode | QuantizerCode | GemmCode | PlannedCode
