"""Measure one GemmJob in the worker: a first answer soon, then a careful one.

The first answer has the errors over some rows of D, and times from a few short turns. Readers wait for it.
The careful answer is that of kernels.bench.measure. It may be stopped at any time and started again later:
then it begins anew, and the first answer is not repeated.
"""

from collections.abc import Callable

from kernels.bench.contest import first_times
from kernels.bench.cost import FIRST_FLOP
from kernels.bench.job import GemmJob
from kernels.bench.measure import Work, careful, halt_if, memory, row_of
from kernels.bench.row import Row
from kernels.device import DeviceKind

_ANSWERED = 0.25


def measure(
    job: GemmJob,
    *,
    progress: Callable[..., None],
    stopped: Callable[[], bool],
    so_far: Row | None = None,
) -> Row:
    """Run and measure a job. Its first answer comes as the partial result of a progress, unless `so_far` is
    one. Without a GPU there is only one answer.

    Raises what kernels.bench.measure does.
    """
    with memory(job):
        work = Work.of(job, progress, stopped)
        if so_far is None and work.device.kind is DeviceKind.GPU:
            progress(_ANSWERED, "measuring with care", first_answer(work))
            halt_if(stopped)
        return careful(work)


def first_answer(work: Work) -> Row:
    """Errors over some rows of D, and times of a few short turns."""
    found = work.errors(FIRST_FLOP)
    times = first_times(
        work.job, work.plan, work.operands, work.device, lambda done: work.tell(_ANSWERED * done, "timing")
    )
    return row_of(work, found, times, is_first=True)
