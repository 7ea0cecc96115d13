"""Do one TrainReadyJob: forward and backward of one part, once, so that all of it is compiled.

Triton and torch keep the code on disk: a later process need not compile it again.
"""

import time
from collections.abc import Callable

import torch

from kernels.device import Unsupported
from kernels.layer import Float8Linear
from kernels.train.place import Place, this_place
from kernels.train.ready.job import PIECES, TrainReadied, TrainReadyJob
from kernels.train.sizes import HEAD, VOCABULARY
from kernels.train.text import installed_text


def measure(
    job: TrainReadyJob, *, progress: Callable[..., None], stopped: Callable[[], bool]
) -> TrainReadied:
    """Compute a part of a step, whose result nobody reads.

    Raises Unsupported without a GPU, MemoryError where the part does not fit.
    """
    began = time.monotonic()
    place = this_place()
    if place.emulate:
        raise Unsupported("kernels of a training run are compiled for a GPU, and there is none here")
    progress(0.0, job.title)
    try:
        if job.layer == PIECES:
            place.trainer(job.train, installed_text()).observe(lambda *seen: None)
        else:
            _layer(job, place)
    except torch.OutOfMemoryError as error:
        raise MemoryError(f"{job.size} does not fit into the memory of this GPU") from error
    finally:
        if torch.cuda.is_initialized():
            torch.cuda.empty_cache()
    return TrainReadied(job, round(time.monotonic() - began, 3))


def _layer(job: TrainReadyJob, place: Place) -> None:
    """Forward and backward of one linear layer, with as many tokens as a step has."""
    size, recipe = job.train.size_data, job.train.recipe_data
    if recipe is None:
        return
    in_, out = (size.width, VOCABULARY) if job.layer == HEAD else size.block_linears[job.layer]
    layer = Float8Linear(in_, out, bias=False, device=place.device, recipe=recipe)
    x, dy = (
        torch.randn(size.bytes_per_step, width, device=place.device, dtype=torch.bfloat16)
        for width in (in_, out)
    )
    layer(x.requires_grad_()).backward(dy)
    torch.cuda.synchronize(place.device)
