"""What the worker runs: kernels.measure, on the GPU if there is one and in Triton's interpreter if not."""

from collections.abc import Callable

from kernels.device import NoTriton, choose_backend, current_device
from kernels.rows import GemmJob, Row
from kernels.worker.child import CannotRun, Engine, StoppedOnRequest


def load() -> Engine:
    """Import torch and triton; where one is missing, every job is answered with the sentence that says so."""
    try:
        choose_backend()
    except NoTriton as error:
        return _without(str(error))
    from kernels.measure import StoppedEarly, measure

    def measure_here(job: GemmJob, *, progress: Callable[..., None], stopped: Callable[[], bool]) -> Row:
        try:
            return measure(job, progress=progress, stopped=stopped)
        except StoppedEarly as error:
            raise StoppedOnRequest from error

    return Engine(device=current_device().name, measure=measure_here)


def _without(sentence: str) -> Engine:
    def refuse(job: GemmJob, *, progress: Callable[..., None], stopped: Callable[[], bool]) -> Row:
        raise CannotRun(sentence)

    return Engine(device="nothing", measure=refuse)
