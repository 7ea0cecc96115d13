"""Measure one GemmJob: draw, quantize, multiply, compare with fp64, time beside torch's own operations.

Errors are counted from the bf16 numbers that kernels.measure.operands draws.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch

from kernels.device import Device, DeviceKind, Unsupported, current_device
from kernels.gemm.factor import GemmOperand
from kernels.gemm.launch import gemm, torch_dtype
from kernels.gemm.plan import GemmPlan, plan_gemm, plan_simple
from kernels.measure.contest import Times, contest, first_times
from kernels.measure.cost import FIRST_FLOP
from kernels.measure.exactness import Errors, check, errors, predictable
from kernels.measure.jobs import GemmJob, Into
from kernels.measure.machine import halt_if, measured, memory
from kernels.measure.operands import Operands, least_bytes
from kernels.measure.rows import Row

_DRAWN, _QUANTIZED, _COMPARED, _CHECKED, _DONE = 0.1, 0.15, 0.3, 0.35, 1.0
_ANSWERED = 0.25

Progress = Callable[[float, str], None]
Stopped = Callable[[], bool]


def measure_with_care(job: GemmJob, *, progress: Progress, stopped: Stopped) -> Row:
    """Run and measure one job on this process's device; progress(fraction, the work at hand) as it goes.

    Raises Unsupported where the plan refuses, Impossible for a time that the GPU cannot reach, NoTriton,
    StoppedEarly once `stopped()` is true, and MemoryError where the job does not fit.
    """
    with memory(job.size):
        return careful(Work.of(job, progress, stopped))


@dataclass
class Work:
    """A job under way: its plans, its operands, and D."""

    job: GemmJob
    device: Device
    plan: GemmPlan
    simple: GemmPlan | None
    operands: Operands
    pair: tuple[GemmOperand, GemmOperand]
    out: torch.Tensor
    progress: Callable[..., None]
    stopped: Stopped

    @classmethod
    def of(cls, job: GemmJob, progress: Callable[..., None], stopped: Stopped) -> "Work":
        """Draw, quantize and multiply."""
        device = current_device()
        plan, simple = _plans(job, device)
        progress(0.0, "drawing A and B")
        operands = Operands.of(job, device)
        halt_if(stopped)
        progress(_DRAWN, "quantizing and multiplying")
        pair = operands.quantized()
        out = _product(job, plan, *pair)
        return cls(job, device, plan, simple, operands, pair, out, progress, stopped)

    def tell(self, fraction: float, note: str) -> None:
        self.progress(fraction, note)
        halt_if(self.stopped)

    def errors(self, flop_limit: int | None = None) -> Errors:
        return errors(
            self.out,
            *self.operands.as_operands(),
            *self.pair,
            flop_limit=flop_limit,
            between=lambda: halt_if(self.stopped),
        )


def careful(work: Work) -> Row:
    """The whole answer: errors, the prediction of bits, and the contest of all contenders."""
    job, plan, device, tell = work.job, work.plan, work.device, work.tell
    tell(_QUANTIZED, "comparing with fp64")
    d_errors = work.errors()
    prediction = None
    if job.flop and predictable(plan, device.capability):
        tell(_COMPARED, "predicting sampled outputs bit for bit")
        prediction = check(plan, *work.pair, work.out, job.seed, between=lambda: halt_if(work.stopped))
    del work.out  # its memory is the contest's
    times = Times(note="no times: the interpreter's speed says nothing about a GPU's")
    if device.kind is DeviceKind.GPU:
        tell(_CHECKED, "timing")
        span = _DONE - _CHECKED
        times = contest(
            job,
            plan,
            work.simple,
            work.operands,
            device,
            lambda done: tell(_CHECKED + span * done, f"timing, {done:.0%}"),
        )
    work.progress(_DONE, "done")
    return row_of(job, plan, device, times, why=plan.why, errors=d_errors, prediction=prediction)


def _plans(job: GemmJob, device: Device) -> tuple[GemmPlan, GemmPlan | None]:
    """The job's plan, and the simple plan if that is another. Raises Unsupported."""
    to_plan = (job.recipe_data.spec(job.matmul_data), (job.m, job.n, job.k), device, job.accumulation)
    plan, simple = plan_gemm(*to_plan), plan_simple(*to_plan)
    if isinstance(plan, Unsupported):
        raise plan
    return plan, None if isinstance(simple, Unsupported) or simple == plan else simple


def _product(job: GemmJob, plan: GemmPlan, a: GemmOperand, b: GemmOperand) -> torch.Tensor:
    """D, written over NaN, or added into zeros, which is exact."""
    adds = job.into is Into.ACCUMULATE
    dtype, start = torch_dtype(plan.meaning.spec.out), 0.0 if adds else torch.nan
    out = torch.full((job.m, job.n), start, dtype=dtype, device=current_device().place)
    return gemm(a, b, plan, out=out, accumulate=adds)


def row_of(job: GemmJob, plan: GemmPlan, device: Device, times: Times, **more: Any) -> Row:
    """The result of a job; `more` has other fields of the row.

    Raises Impossible where a figure is faster than the GPU can be.
    """
    about = {"job": job, "bytes": least_bytes(job, plan), "kernel": plan.title, "plan": plan.ran}
    return measured(Row, device, times=times.by_peer, note=times.note, **about, **more)


def measure(
    job: GemmJob,
    *,
    progress: Callable[..., None],
    stopped: Callable[[], bool],
    so_far: Row | None = None,
) -> Row:
    """Run and measure a job. Its first answer comes as the partial result of a progress, unless `so_far` is
    one. Without a GPU there is only one answer.

    Raises what `measure_with_care` does.
    """
    with memory(job.size):
        work = Work.of(job, progress, stopped)
        if so_far is None and work.device.kind is DeviceKind.GPU:
            progress(_ANSWERED, "measuring with care", first_answer(work))
            halt_if(stopped)
        return careful(work)


def first_answer(work: Work) -> Row:
    """Errors over some rows of D, and times of a few short turns."""
    d_errors, asked = work.errors(FIRST_FLOP), (work.job, work.plan)
    times = first_times(
        *asked, work.operands, work.device, lambda done: work.tell(_ANSWERED * done, "timing")
    )
    return row_of(*asked, work.device, times, why=work.plan.why, errors=d_errors, is_first=True)
