"""Measure one TimelineJob in the worker: the ways that a reader waits for come first, and are told at once.

torch.compile takes longer than all that is measured, and casts by torch's operations run for longer than all
other steps together. Both come later, each in turns with bf16 again. `measure` of kernels.layer.timeline lets
all ways take turns in one run.
"""

from collections.abc import Callable

from kernels.layer.timeline.job import TimelineJob, Way
from kernels.layer.timeline.measure import measure as measured
from kernels.layer.timeline.row import Timeline

_PARTS = (
    (0.5, (Way.BF16, Way.OURS, Way.OURS_KEPT, Way.BOUND)),
    (0.65, (Way.NAIVE,)),
    (1.0, (Way.COMPILED,)),
)
"""Ways that take turns in one run, and the share of the job that is done with them."""


def measure(
    job: TimelineJob,
    *,
    progress: Callable[..., None],
    stopped: Callable[[], bool],
    so_far: Timeline | None = None,
) -> Timeline:
    """Time all ways of a job. What is timed comes as the partial result of a progress.

    Raises what `measure` of kernels.layer.timeline does.
    """
    made, start = so_far or Timeline(job=job, rows=()), 0.0
    for end, ways in _PARTS:
        told = _within(progress, start, end)
        made = measured(job, progress=told, stopped=stopped, so_far=made, ways=ways)
        told(1.0, "timed", made)
        start = end
    return made


def _within(progress: Callable[..., None], start: float, end: float) -> Callable[..., None]:
    """Tell of a part of the job: `done` of it, from `start` to `end` of the whole."""

    def told(done: float, note: str, part: Timeline | None = None) -> None:
        progress(start + (end - start) * done, note, part)

    return told
