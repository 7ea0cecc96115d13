"""Measure one GemmJob: draw, quantize, multiply, compare with fp64, time beside torch's own operations.

Errors are counted from the bf16 numbers that kernels.bench.operands draws.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from platform import python_version

import torch

from kernels.bench.ceilings.limits import Impossible, limits_of, row_fault
from kernels.bench.commit import commit
from kernels.bench.contest import Times, contest
from kernels.bench.exactness.errors import Errors, errors
from kernels.bench.exactness.predict import check, predictable
from kernels.bench.job import GemmJob, Into
from kernels.bench.machine import Machine
from kernels.bench.operands import Operands, drawn, least_bytes
from kernels.bench.row import Prediction, Provenance, Row
from kernels.bench.timing import Load
from kernels.device import Device, DeviceKind, Unsupported, current_device, told_triton
from kernels.gemm.factor import GemmOperand
from kernels.gemm.launch import gemm, torch_dtype
from kernels.gemm.plan import GemmPlan, plan_gemm, plan_simple

_DRAWN, _QUANTIZED, _COMPARED, _CHECKED, _DONE = 0.1, 0.15, 0.3, 0.35, 1.0

Progress = Callable[[float, str], None]
Stopped = Callable[[], bool]


class StoppedEarly(Exception):
    """Raised when the job was asked to stop."""


def measure(job: GemmJob, *, progress: Progress, stopped: Stopped) -> Row:
    """Run and measure one job on this process's device; progress(fraction, the work at hand) as it goes.

    Raises Unsupported where the plan refuses, Impossible for a time that the GPU cannot reach, NoTriton,
    StoppedEarly once `stopped()` is true, and MemoryError where the job does not fit.
    """
    with memory(job):
        return careful(Work.of(job, progress, stopped))


@contextmanager
def memory(job: GemmJob) -> Iterator[None]:
    """Give the GPU's memory back after a job, and turn a lack of it into a MemoryError."""
    try:
        yield
    except torch.OutOfMemoryError as error:
        drawn.cache_clear()
        raise MemoryError(
            f"M × N × K = {job.m} × {job.n} × {job.k} does not fit into the memory of this GPU: "
            f"{str(error).splitlines()[0]}"
        ) from error
    finally:
        if torch.cuda.is_initialized():
            torch.cuda.empty_cache()


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
        """Report progress. Raises StoppedEarly where the job is to stop."""
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


def require_gpu() -> Device:
    """The GPU in use. Raises Unsupported where there is none."""
    device = current_device()
    if device.kind is not DeviceKind.GPU:
        raise Unsupported(f"speed is a GPU's, and this is {device.name}: nothing was timed")
    return device


def halt_if(stopped: Stopped) -> None:
    if stopped():
        raise StoppedEarly


def careful(work: Work) -> Row:
    """The whole answer: errors, the prediction of bits, and the contest of all contenders."""
    job, plan, device, tell = work.job, work.plan, work.device, work.tell
    tell(_QUANTIZED, "comparing with fp64")
    found = work.errors()
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
    return row_of(work, found, times, prediction)


def _plans(job: GemmJob, device: Device) -> tuple[GemmPlan, GemmPlan | None]:
    """The job's plan, and the simple plan if that is another. Raises Unsupported."""
    asked = (job.recipe_data.spec(job.matmul_data), (job.m, job.n, job.k), device, job.accumulation)
    plan, simple = plan_gemm(*asked), plan_simple(*asked)
    if isinstance(plan, Unsupported):
        raise plan
    return plan, None if isinstance(simple, Unsupported) or simple == plan else simple


def _product(job: GemmJob, plan: GemmPlan, a: GemmOperand, b: GemmOperand) -> torch.Tensor:
    """D, written over NaN, or added into zeros, which is exact."""
    adds = job.into is Into.ACCUMULATE
    dtype, start = torch_dtype(plan.meaning.spec.out), 0.0 if adds else torch.nan
    out = torch.full((job.m, job.n), start, dtype=dtype, device=current_device().place)
    return gemm(a, b, plan, out=out, accumulate=adds)


def machine_here(device: Device, load: Load) -> Machine:
    """This machine, with the clock and power of its GPU under a load."""
    return Machine(
        name=device.name,
        capability=device.capability,
        versions={"python": python_version(), "torch": torch.__version__, "triton": told_triton()},
        clock_mhz=load.clock_mhz,
        power_w=load.power_w,
    )


def today() -> str:
    """The date in UTC, in the form that rows use."""
    return datetime.now(UTC).strftime("%Y-%m-%d")


def row_of(
    work: Work, found: Errors, times: Times, prediction: Prediction | None = None, *, is_first: bool = False
) -> Row:
    """What was found of a job, as its result. Raises Impossible where a figure is faster than the GPU can
    be.
    """
    row = _row(work, found, times, prediction, is_first)
    fault = row_fault(row, limits_of(work.device), work.device.l2_bytes)
    if fault:
        raise Impossible(fault)
    return row


def _row(work: Work, found: Errors, times: Times, prediction: Prediction | None, is_first: bool) -> Row:
    job, plan, device = work.job, work.plan, work.device
    return Row(
        job=job,
        provenance=Provenance.GPU if device.kind is DeviceKind.GPU else Provenance.INTERPRETER,
        machine=machine_here(device, times.load),
        date=today(),
        kernel=plan.title,
        out=plan.meaning.spec.out.name,
        rel_err=found.rel_err,
        quantization_rel_err=found.quantization_rel_err,
        kernel_rel_err=found.kernel_rel_err,
        error_map=found.error_map,
        worst=found.worst,
        bytes=least_bytes(job, plan),
        gemm=times.gemm,
        quantize=times.quantize,
        bf16=times.bf16,
        torch_scaled=times.torch_scaled,
        peer_note=times.note,
        error_note="" if found.rows == job.m else f"errors over {found.rows} of {job.m} rows of D, in bands",
        prediction=prediction,
        simple=times.simple,
        torch_op=times.torch_op,
        why=plan.why,
        dot_scaled=times.dot_scaled,
        plan=plan.ran,
        is_first=is_first,
        bf16_op=times.bf16_op,
        peer_clock_mhz=times.peer_load.clock_mhz,
        peer_power_w=times.peer_load.power_w,
        turns=times.turns,
        commit=commit(),
    )
