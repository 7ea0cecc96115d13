"""What the worker runs: each kind of job's own `measure`, on the GPU if there is one and in Triton's
interpreter if not.
"""

from collections.abc import Callable
from importlib import import_module

from kernels.device import NoTriton, choose_backend, current_device
from kernels.worker.child import CannotRun, Engine, StoppedOnRequest
from kernels.worker.jobs import Job, Result, kind_of


def load() -> Engine:
    """Import torch and triton; where one is missing, every job is answered with the sentence that says so."""
    try:
        choose_backend()
    except NoTriton as error:
        return _without(str(error))
    from kernels.measure import StoppedEarly

    def measure_here(job: Job, *, progress: Callable[..., None], stopped: Callable[[], bool]) -> Result:
        measure = import_module(kind_of(job).measured_by).measure
        try:
            return measure(job, progress=progress, stopped=stopped)
        except StoppedEarly as error:
            raise StoppedOnRequest from error

    return Engine(device=current_device().name, measure=measure_here)


def _without(sentence: str) -> Engine:
    def refuse(job: Job, *, progress: Callable[..., None], stopped: Callable[[], bool]) -> Result:
        raise CannotRun(sentence)

    return Engine(device="nothing", measure=refuse)
