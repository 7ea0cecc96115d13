"""Measure one GemmJob: draw, quantize, multiply, compare with fp64, time beside torch's own operations.

Errors are counted from the bf16 numbers that kernels.bench.operands draws.
"""

from collections.abc import Callable
from datetime import UTC, datetime
from importlib.metadata import version
from platform import python_version

import torch

from kernels.bench.contest import Times, contest
from kernels.bench.errors import Errors, errors
from kernels.bench.job import GemmJob, Into
from kernels.bench.limits import Impossible, limits_of, row_fault
from kernels.bench.machine import Machine
from kernels.bench.operands import Operands, drawn, least_bytes
from kernels.bench.predict import check, predictable
from kernels.bench.row import Prediction, Provenance, Row
from kernels.bench.timing import Load
from kernels.device import Device, DeviceKind, Unsupported, current_device
from kernels.gemm.launch import gemm, torch_dtype
from kernels.gemm.plan import GemmPlan, plan_gemm, plan_simple
from kernels.quantize import QuantizedTensor

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
    try:
        return _measure(job, progress, stopped)
    except torch.OutOfMemoryError as error:
        drawn.cache_clear()
        raise MemoryError(
            f"M × N × K = {job.m} × {job.n} × {job.k} does not fit into the memory of this GPU: "
            f"{str(error).splitlines()[0]}"
        ) from error
    finally:
        if torch.cuda.is_initialized():
            torch.cuda.empty_cache()


def _measure(job: GemmJob, progress: Progress, stopped: Stopped) -> Row:
    def tell(fraction: float, note: str) -> None:
        progress(fraction, note)
        if stopped():
            raise StoppedEarly

    device = current_device()
    plan, simple = _plans(job, device)
    tell(0.0, "drawing A and B")
    operands = Operands.of(job, device)
    tell(_DRAWN, "quantizing and multiplying")
    a, b = operands.quantized()
    out = _product(job, plan, a, b)
    tell(_QUANTIZED, "comparing with fp64")
    found = errors(out, *operands.as_operands(), a, b)
    prediction = None
    if job.flop and predictable(plan, device.capability):
        tell(_COMPARED, "predicting sampled outputs bit for bit")
        prediction = check(plan, a, b, out, job.seed)
    del out
    times = Times(note="no times: the interpreter's speed says nothing about a GPU's")
    if device.kind is DeviceKind.GPU:
        tell(_CHECKED, "timing")
        span = _DONE - _CHECKED
        times = contest(
            job,
            plan,
            simple,
            operands,
            device,
            lambda done: tell(_CHECKED + span * done, f"timing, {done:.0%}"),
        )
    progress(_DONE, "done")
    row = _row(job, plan, device, found, times, prediction)
    fault = row_fault(row, limits_of(device), device.l2_bytes)
    if fault:
        raise Impossible(fault)
    return row


def _plans(job: GemmJob, device: Device) -> tuple[GemmPlan, GemmPlan | None]:
    """The job's plan, and the simple plan if that is another. Raises Unsupported."""
    asked = (job.recipe_data.spec(job.matmul_data), (job.m, job.n, job.k), device, job.accumulation)
    plan, simple = plan_gemm(*asked), plan_simple(*asked)
    if isinstance(plan, Unsupported):
        raise plan
    return plan, None if isinstance(simple, Unsupported) or simple == plan else simple


def _product(job: GemmJob, plan: GemmPlan, a: QuantizedTensor, b: QuantizedTensor) -> torch.Tensor:
    """D, written over NaN, or added into zeros, which is exact."""
    adds = job.into is Into.ACCUMULATE
    dtype, start = torch_dtype(plan.meaning.spec.out), 0.0 if adds else torch.nan
    out = torch.full((job.m, job.n), start, dtype=dtype, device=a.codes.device)
    return gemm(a, b, plan, out=out, accumulate=adds)


def machine_here(device: Device, load: Load) -> Machine:
    """This machine, with the clock and power of its GPU under a load."""
    return Machine(
        name=device.name,
        capability=device.capability,
        versions={"python": python_version(), "torch": torch.__version__, "triton": version("triton")},
        clock_mhz=load.clock_mhz,
        power_w=load.power_w,
    )


def today() -> str:
    """The date in UTC, in the form that rows use."""
    return datetime.now(UTC).strftime("%Y-%m-%d")


def _row(
    job: GemmJob,
    plan: GemmPlan,
    device: Device,
    found: Errors,
    times: Times,
    prediction: Prediction | None,
) -> Row:
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
    )
