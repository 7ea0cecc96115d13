"""Do one ReadyJob: everything that a GEMM's answers run, once, so that all of it is compiled.

Triton keeps the code on disk: a later process need not compile it again.
"""

import time
from collections.abc import Callable

from kernels.bench.answers import first_answer
from kernels.bench.measure import Work, halt_if, memory
from kernels.bench.ready.job import Readied, ReadyJob
from kernels.gemm.launch import gemm
from kernels.gemm.simple.dot_scaled import dot_scaled_plan
from kernels.tune.job import launch_once


def measure(job: ReadyJob, *, progress: Callable[..., None], stopped: Callable[[], bool]) -> Readied:
    """Give a first answer that nobody reads, and launch the kernels of the careful one; or only launch those
    of the first one, on zeros.

    Raises what kernels.bench.measure does.
    """
    began = time.monotonic()
    with memory(job.gemm):
        if job.is_code_only:
            launch_once(job.gemm, None)
            return Readied(job, round(time.monotonic() - began, 3))
        work = Work.of(job.gemm, progress, stopped)
        halt_if(stopped)
        first_answer(work)
        for plan in (work.simple, dot_scaled_plan(work.plan, work.device)):
            halt_if(stopped)
            if plan is not None:
                gemm(*work.pair, plan)
    return Readied(job, round(time.monotonic() - began, 3))
