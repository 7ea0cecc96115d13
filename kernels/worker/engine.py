"""The worker's engine: it runs each kind of job's own `measure`.

Jobs run on the GPU if there is one, else in Triton's interpreter. Where torch or Triton is missing or broken,
a check says so and other jobs are refused.
"""

from collections.abc import Callable
from importlib import import_module
from subprocess import SubprocessError

from kernels.bench.job import GemmJob
from kernels.check.job import CheckJob
from kernels.check.report import Report
from kernels.check.run import run
from kernels.device import Unsupported, choose_backend, current_device
from kernels.faults import BROKEN_IMPORTS, first_line, triton_errors
from kernels.worker.child import CannotRun, Engine, StoppedOnRequest
from kernels.worker.jobs import Job, Result, kind_of

_NOT_BUILT = (AttributeError, ImportError, NameError, OSError, SubprocessError, SyntaxError)
"""What a kernel raises that cannot be imported or compiled, beside Triton's own errors. The GPU is well then,
and so is the worker; a fresh one would fail as this one did.
"""


def load() -> Engine:
    """Import torch, Triton and a kernel. Where one does not load, every job but a check is told the
    reason.
    """
    try:
        choose_backend()
        import_module("kernels.quantize.kernel")
        stopped_early = import_module("kernels.bench.measure").StoppedEarly
    except Unsupported as error:
        return _without(str(error))
    except BROKEN_IMPORTS as error:
        return _without(
            f"torch or Triton cannot be imported ({_told(error)}), and a fresh worker does not change that. "
            "Install both anew, pip install -r requirements.txt, and start the app again. A sanity check "
            "says more."
        )
    try:
        device = current_device()
    except Unsupported as error:
        return _without(error.reason)

    def measure_here(
        job: Job, *, progress: Callable[..., None], stopped: Callable[[], bool], **given: Result
    ) -> Result:
        try:
            measure = import_module(kind_of(job).measured_by).measure
            return measure(job, progress=progress, stopped=stopped, **given)
        except stopped_early as error:
            raise StoppedOnRequest from error
        except (*_NOT_BUILT, *triton_errors()) as error:
            raise CannotRun(
                f"A kernel cannot be imported or compiled here ({_told(error)}), and a fresh worker does not "
                "change that. Run a sanity check: it says what is broken and what to install."
            ) from error

    def get_ready(job: Job) -> None:
        if isinstance(job, GemmJob):
            import_module("kernels.bench.operands").Operands.expect(job, device)

    return Engine(device=device.name, measure=measure_here, get_ready=get_ready)


def _told(error: BaseException) -> str:
    return f"{type(error).__name__}: {first_line(error)}"


def _without(sentence: str) -> Engine:
    def answer(
        job: Job, *, progress: Callable[..., None], stopped: Callable[[], bool], **given: Report
    ) -> Result:
        if not isinstance(job, CheckJob):
            raise CannotRun(sentence)
        report = run(job, progress=progress, stopped=stopped, **given)
        if not report.finished:
            raise StoppedOnRequest
        return report

    return Engine(device="nothing", measure=answer)
