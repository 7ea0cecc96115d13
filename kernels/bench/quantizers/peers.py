"""A quantizer's contenders: the function itself, the bf16 kernel and `quantize`, and torch.compile."""

from collections.abc import Callable
from functools import cache
from typing import Any

import torch

from kernels.bench.quantizers.job import QuantizerJob, QuantizerKernel
from kernels.device import current_device
from kernels.fused import rms_norm_quantize, swiglu_backward_quantize, swiglu_quantize
from kernels.layer.plan import AND, readings
from kernels.layer.timeline.casts import (
    Casts,
    Made,
    cast_both,
    cast_of,
    check_divides,
    swiglu,
    swiglu_backward,
)
from kernels.quantize import quantize, quantize_both

EPS = 1e-6
SEED = 1
Inputs = tuple[torch.Tensor, ...]
Run = Callable[[Inputs], Any]


def drawn(job: QuantizerJob, seed: int) -> Inputs:
    """bfloat16 normal numbers where the kernels run: what the function is given."""
    place = current_device().place
    dice = torch.Generator(place).manual_seed(seed)

    def normal(*shape: int) -> torch.Tensor:
        return torch.randn(shape, generator=dice, device=place, dtype=torch.bfloat16)

    rows, columns = job.rows, job.columns
    match job.kernel:
        case QuantizerKernel.QUANTIZE:
            return (normal(rows, columns),)
        case QuantizerKernel.SWIGLU:
            return (normal(rows, 2 * columns),)
        case QuantizerKernel.SWIGLU_BACKWARD:
            return normal(rows, columns // 2), normal(rows, columns)
        case QuantizerKernel.RMS_NORM:
            return normal(rows, columns), normal(columns)


def ours(job: QuantizerJob) -> Run:
    """The function of the job."""
    operands = job.operands
    seeds = [SEED + number if each.spec.is_random else None for number, each in enumerate(operands)]
    history = _history(job)

    def quantized(given: Inputs) -> Any:
        if len(operands) == 2:
            return quantize_both(given[0], *operands, seeds=seeds, history=history)
        return quantize(given[0], operands[0], seed=seeds[0], history=history)

    options = {"seeds": seeds, "history": history}
    match job.kernel:
        case QuantizerKernel.QUANTIZE:
            return quantized
        case QuantizerKernel.SWIGLU:
            return lambda given: swiglu_quantize(*given, operands, **options)
        case QuantizerKernel.SWIGLU_BACKWARD:
            return lambda given: swiglu_backward_quantize(*given, operands, **options)
        case QuantizerKernel.RMS_NORM:
            return lambda given: rms_norm_quantize(*given, operands, eps=EPS, **options)


def apart(job: QuantizerJob) -> Run | None:
    """The result in bf16 by a kernel of ours, then its quantizer; None where there is nothing to compute."""
    if job.kernel is QuantizerKernel.QUANTIZE:
        return None
    plain = {
        QuantizerKernel.SWIGLU: lambda given: swiglu_quantize(*given, [None]),
        QuantizerKernel.SWIGLU_BACKWARD: lambda given: swiglu_backward_quantize(*given, [None]),
        QuantizerKernel.RMS_NORM: lambda given: rms_norm_quantize(*given, [None], eps=EPS),
    }[job.kernel]
    then = ours(job.without_kernel)
    return lambda given: then(plain(given))


def compiled(job: QuantizerJob) -> Run:
    """torch.compile of the same operations. Raises Unsupported where torch has no words for them."""
    run = operations(job)
    # A number that differs from the last job's would become a variable, and a branch on it a refusal.
    torch.compiler.reset()
    made = torch.compile(run, fullgraph=True, dynamic=False)
    return lambda given: made(*given)


def operations(job: QuantizerJob) -> Callable[..., list[Made | None]]:
    """The operations in torch's words, one after the other: what torch.compile is given.

    Raises Unsupported where torch has none.
    """
    found = [cast_of(each) for each in readings(job.recipe, job.tensor, AND.join(job.matmuls))]
    for cast in found:
        check_divides(cast, (job.rows, job.columns))
    casts = Casts.of(found[0], found[1] if len(found) > 1 else None)
    last, compute = _last(job), _COMPUTED[job.kernel]

    def run(*given: torch.Tensor) -> list[Made | None]:
        return cast_both(compute(*given), casts, last)

    return run


def _normed(x: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
    return torch.nn.functional.rms_norm(x, (x.shape[1],), weight, EPS)


_COMPUTED: dict[QuantizerKernel, Callable[..., torch.Tensor]] = {
    QuantizerKernel.QUANTIZE: lambda x: x,
    QuantizerKernel.SWIGLU: swiglu,
    QuantizerKernel.SWIGLU_BACKWARD: swiglu_backward,
    QuantizerKernel.RMS_NORM: _normed,
}


def _history(job: QuantizerJob) -> torch.Tensor | None:
    """Amax of earlier steps, where a scale is delayed."""
    if not any(each.spec.scale_rule.history for each in job.operands):
        return None
    return _constant(2)


def _last(job: QuantizerJob) -> torch.Tensor | None:
    return None if _history(job) is None else _constant(1)


@cache
def _constant(size: int) -> torch.Tensor:
    return torch.full((size,), 8.0, device=current_device().place)


def copy_of(size: int) -> tuple[Callable[[Inputs], Any], Callable[[], Inputs]]:
    """A copy that moves `size` bytes in all, and how its tensors are drawn."""
    half = max(1, size // 2 // torch.bfloat16.itemsize)

    def draw() -> Inputs:
        source = torch.randn(half, device="cuda", dtype=torch.bfloat16)
        return source, torch.empty_like(source)

    # Negated on the way: copy_ would be a memcpy node of the graph, which is slower than a kernel.
    return lambda given: torch.neg(given[0], out=given[1]), draw
