"""What the worker runs: each kind of job's own `measure`, on the GPU if there is one and in Triton's
interpreter if not. Where torch or Triton is missing or broken, a check says so and other jobs are refused.
"""

from collections.abc import Callable
from importlib import import_module

from kernels.check.job import CheckJob
from kernels.check.machine import BROKEN_IMPORTS, first_line
from kernels.check.run import run
from kernels.device import NoTriton, choose_backend, current_device
from kernels.worker.child import CannotRun, Engine, StoppedOnRequest
from kernels.worker.jobs import Job, Result, kind_of


def load() -> Engine:
    """Import torch and triton; where one does not load, every job but a check gets the sentence why."""
    try:
        choose_backend()
        from kernels.measure import StoppedEarly
    except NoTriton as error:
        return _without(str(error))
    except BROKEN_IMPORTS as error:
        told = f"{type(error).__name__}: {first_line(error)}"
        return _without(f"torch or Triton cannot be imported ({told}): a sanity check says more.")

    def measure_here(job: Job, *, progress: Callable[..., None], stopped: Callable[[], bool]) -> Result:
        measure = import_module(kind_of(job).measured_by).measure
        try:
            return measure(job, progress=progress, stopped=stopped)
        except StoppedEarly as error:
            raise StoppedOnRequest from error

    return Engine(device=current_device().name, measure=measure_here)


def _without(sentence: str) -> Engine:
    def answer(job: Job, *, progress: Callable[..., None], stopped: Callable[[], bool]) -> Result:
        if not isinstance(job, CheckJob):
            raise CannotRun(sentence)
        report = run(job, progress=progress, stopped=stopped)
        if not report.finished:
            raise StoppedOnRequest
        return report

    return Engine(device="nothing", measure=answer)
