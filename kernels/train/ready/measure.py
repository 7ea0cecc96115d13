"""Do one TrainReadyJob: one call of a layer's step, or what lies between the layers, so that it is compiled.

Triton and torch keep the code on disk: a later process need not compile it again.
"""

import time
from collections.abc import Callable
from importlib import import_module
from typing import Any

import torch

from kernels.bench.measure import halt_if
from kernels.device import Unsupported
from kernels.layer import Float8Linear
from kernels.layer.calls import PYTHON, Calls, calling
from kernels.layer.ops import Parts, gemm_op, quantize_op
from kernels.train.model.pieces import settle_compiler
from kernels.train.place import this_place
from kernels.train.ready.job import IMPORTS, PIECES, TrainReadied, TrainReadyJob
from kernels.train.sizes import HEAD, VOCABULARY
from kernels.train.text import installed_text

_COMPILER = "torch._inductor.compile_fx"
"""torch.compile's own part; torch imports it with the first piece that it compiles."""
_META = "meta"
"""torch's device of tensors that have a shape and no memory."""


def measure(
    job: TrainReadyJob, *, progress: Callable[..., None], stopped: Callable[[], bool]
) -> TrainReadied:
    """Compute a part of a step, whose result nobody reads.

    Raises StoppedEarly once `stopped()` is true, Unsupported without a GPU, MemoryError where the part does
    not fit.
    """
    began = time.monotonic()
    place = this_place()
    if place.emulate:
        raise Unsupported("kernels of a training run are compiled for a GPU, and there is none here")
    progress(0.0, job.title)
    try:
        if job.layer == IMPORTS:
            settle_compiler()
            import_module(_COMPILER)
            installed_text()
        elif job.layer == PIECES:
            place.trainer(job.train, installed_text()).observe(lambda *seen: halt_if(stopped))
        else:
            _call(job, place.device)
        torch.cuda.synchronize(place.device)
    except torch.OutOfMemoryError as error:
        raise MemoryError(f"{job.size} does not fit into the memory of this GPU") from error
    finally:
        if torch.cuda.is_initialized():
            torch.cuda.empty_cache()
    return TrainReadied(job, round(time.monotonic() - began, 3))


def _call(job: TrainReadyJob, device: torch.device) -> None:
    """Forward and backward of one linear layer, with as many tokens as a step has; one call is made."""
    size, recipe = job.train.size_data, job.train.recipe_data
    if recipe is None:
        return
    in_, out = (size.width, VOCABULARY) if job.layer == HEAD else size.block_linears[job.layer]
    layer = Float8Linear(in_, out, bias=False, device=device, recipe=recipe)
    x, dy = (
        torch.randn(size.bytes_per_step, width, device=device, dtype=torch.bfloat16) for width in (in_, out)
    )
    with calling(only(job.call)):
        layer(x.requires_grad_()).backward(dy)


def only(call: str) -> Calls:
    """A layer's calls, of which one is made. The others give zeros and launch no kernel of ours."""

    def quantize(
        x: torch.Tensor,
        recipe: str,
        tensor: str,
        matmuls: str,
        seeds: torch.Tensor | None,
        history: torch.Tensor | None,
        emulate: bool,
    ) -> list[torch.Tensor]:
        if tensor == call:
            return quantize_op(x, recipe, tensor, matmuls, seeds, history, emulate)
        before = None if history is None else history.to(_META)
        made = quantize_op(x.to(_META), recipe, tensor, matmuls, None, before, emulate)
        return [torch.zeros_like(each, device=x.device) for each in made]

    def multiply(a: Parts, b: Parts, k: int, recipe: str, matmul: str, *given: Any) -> torch.Tensor:
        if matmul == call:
            return gemm_op(a, b, k, recipe, matmul, *given)
        shaped = ([each.to(_META) for each in parts] for parts in (a, b))
        return torch.zeros_like(gemm_op(*shaped, k, recipe, matmul, *given), device=a[0].device)

    return PYTHON._replace(whole=False, quantize=quantize, gemm=multiply)
