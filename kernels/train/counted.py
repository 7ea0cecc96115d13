"""Counts of what a step launches: a run that is called fp8 and computes in bf16 is a known trap."""

import re
from collections import Counter
from collections.abc import Callable
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode

from kernels.bench.measure import halt_if
from kernels.layer.ops import gemm_add_op, gemm_op
from kernels.layer.plan import step
from kernels.train.step import Trainer

_OURS = re.compile(r"^\w*gemm_kernel$")
"""Names of this project's kernels that multiply."""
_WAYS = 3
"""Matmuls of a linear layer in a step."""


class _Heard(TorchDispatchMode):
    """Counts the operators fp8_explorer::gemm and gemm_add_ that have a quantized operand."""

    def __init__(self) -> None:
        super().__init__()
        self.quantized = 0

    def __torch_dispatch__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        if func in (gemm_op, gemm_add_op):
            recipe, matmul = [each for each in args if isinstance(each, str)]
            one = step(recipe, matmul)
            self.quantized += any(side.operand is not None for side in (one.a, one.b))
        return func(*args, **(kwargs or {}))


def quantized_gemms(trainer: Trainer, stopped: Callable[[], bool] = lambda: False) -> int:
    """GEMMs with a quantized operand in a step: those that one forward and backward called for.

    Raises StoppedEarly once `stopped()` is true: kernels may be compiled here.
    """
    with _Heard() as heard:
        trainer.observe(lambda name, layer, x, y: halt_if(stopped))
    return heard.quantized


def gemms(trainer: Trainer) -> int:
    """Matmuls of all linear layers in a step, those in bf16 as well."""
    return _WAYS * len(trainer.model.linears())


def launches(trainer: Trainer) -> Counter[str] | None:
    """Kernels that ran in one step, by name, as the profiler saw them; None without a GPU.

    The step is taken, and the state is then what it was.
    """
    if trainer.device.type != "cuda":
        return None
    from torch.profiler import ProfilerActivity, profile

    before = trainer.state()
    trainer.prepare(0, 1, 1)
    trainer.get_ready()
    torch.cuda.synchronize()
    with profile(activities=[ProfilerActivity.CUDA]) as seen:
        trainer.step()
        torch.cuda.synchronize()
    trainer.restore(before)
    kernels = [event for event in seen.events() if event.device_type == torch.autograd.DeviceType.CUDA]
    return Counter(event.name for event in kernels)


def gemm_launches(counted: Counter[str] | None) -> int | None:
    """Launches of this project's kernels that multiply."""
    if counted is None:
        return None
    return sum(count for name, count in counted.items() if _OURS.match(name))
