"""A training run as a worker's job: live curves, stopped on request, gone on with where it was left."""

from collections.abc import Callable

import torch

from kernels.bench.measure import StoppedEarly, today
from kernels.train.job import TrainJob
from kernels.train.place import this_place
from kernels.train.row import TrainRow
from kernels.train.run import Course, Looks, pilot, run
from kernels.train.text import installed_text

Left = tuple[Course, list[torch.Tensor]]
_left: dict[TrainJob, Left] = {}
"""The run that this process left unfinished, if any."""


def measure(
    job: TrainJob,
    *,
    progress: Callable[..., None],
    stopped: Callable[[], bool],
    so_far: TrainRow | None = None,
) -> TrainRow:
    """Train, and tell each chunk of steps with the progress.

    A run that gave way goes on where this process left it. Another process begins it anew: its curve is the
    same, bit for bit. A run whose loss is not finite comes back with its `failure`.

    Raises StoppedEarly once `stopped()` is true, MemoryError where the model does not fit, ValueError and
    Unsupported for a job that cannot be done here.
    """
    try:
        return _trained(job, progress, stopped, so_far)
    except torch.OutOfMemoryError as error:
        raise MemoryError(f"{job.size} does not fit into the memory of this GPU") from error
    finally:
        if torch.cuda.is_available():
            torch.cuda.empty_cache()


def _trained(
    job: TrainJob, progress: Callable[..., None], stopped: Callable[[], bool], so_far: TrainRow | None
) -> TrainRow:
    progress(0.0, "reading the text")
    place, text = this_place(), installed_text()
    progress(0.0, "making the model")
    trainer = place.trainer(job, text)
    left = _left.pop(job, None)
    _left.clear()
    if so_far is not None and left is not None:
        course, state = left
        trainer.restore(state)
    else:
        if not job.steps:
            progress(0.0, "timing a few steps")
        course = Course(steps=job.steps or pilot(trainer).steps(job.seconds))

    def tell(fraction: float, note: str, row: TrainRow | None) -> None:
        progress(fraction, note, row)

    looks = Looks.over(course.steps)
    row = run(trainer, course, looks, place.machine, today(), progress=tell, stopped=stopped)
    if not row.finished and not row.failure:
        _left[job] = course, trainer.state()
        raise StoppedEarly
    return row
