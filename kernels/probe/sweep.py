"""Measure one ProbeJob: equal codes for the tensor core and for its model, for each K."""

from collections.abc import Callable, Iterator
from datetime import UTC, datetime

import numpy as np
import torch
from numpy.typing import NDArray

from fp8core.accumulators.error_over_k import sum_error
from fp8core.formats import FORMATS
from kernels.bench.machine import Machine
from kernels.bench.measure import StoppedEarly
from kernels.device import Device, DeviceKind, Unsupported, current_device, told_triton
from kernels.probe.cases import Case, Span, Start
from kernels.probe.job import ProbeJob, ProbeRow, SweepPoint
from kernels.probe.operations import Run, mismatches, predict

HOPPER = (9, 0)


def measure(
    job: ProbeJob, *, progress: Callable[[float, str], None], stopped: Callable[[], bool]
) -> ProbeRow:
    """Run one job on this process's GPU; progress(fraction, the work at hand) as it goes.

    Raises Unsupported where there is no Hopper GPU, NoTriton, and StoppedEarly once `stopped()` is true.
    """
    device = current_device()
    if device.kind is not DeviceKind.GPU or device.capability != HOPPER:
        raise Unsupported(
            "the models that a sweep is laid on are those of Hopper's tensor core (compute capability 9.0), "
            f"and this is {device.name}: nothing was run"
        )
    return sweep(job, job.operation_data.run, device, progress, stopped)


def sweep(
    job: ProbeJob,
    run: Run,
    device: Device,
    progress: Callable[[float, str], None],
    stopped: Callable[[], bool],
) -> ProbeRow:
    """The sums that `run` gives for the job's products, compared with the model and with the exact sums."""
    points, first = [], ""
    total, done = sum(job.lengths), 0
    for case in cases(job):
        if stopped():
            raise StoppedEarly
        k = case.a.shape[1]
        progress(done / total, f"K = {k:,}")
        result, predicted = run(case), predict(job.operation_data, case)
        bad = mismatches(result, predicted)
        if bad.any() and not first:
            m, n = np.argwhere(bad)[0]
            first = f"K = {k:,}, [{m}, {n}]: model {predicted[m, n]!r}, device {result[m, n]!r}"
        found = sum_error(result, exact(case), k)
        points.append(
            SweepPoint(k=k, rms=found.rms, bias=found.bias, outputs=bad.size, mismatches=int(bad.sum()))
        )
        done += k
    progress(1.0, "done")
    return ProbeRow(
        job=job,
        machine=Machine(
            name=device.name,
            capability=device.capability,
            versions={"torch": torch.__version__, "triton": told_triton()},
        ),
        date=datetime.now(UTC).strftime("%Y-%m-%d"),
        points=tuple(points),
        first_difference=first,
    )


def cases(job: ProbeJob) -> Iterator[Case]:
    """The first k columns of the job's codes, with a sum of zero to start from."""
    a, b = job.codes()
    c = np.zeros((a.shape[0], b.shape[0]), np.float32)
    for k in job.lengths:
        yield Case(
            a_format=job.format,
            b_format=job.format,
            span=Span.NORMAL,
            start=Start.ZERO,
            a=np.ascontiguousarray(a[:, :k]),
            b=np.ascontiguousarray(b[:, :k]),
            c=c,
        )


def exact(case: Case) -> NDArray[np.float64]:
    """float64[M, N]: the exact sums. Sums of fp8 products are exact in float64."""
    return FORMATS[case.a_format].decode(case.a) @ FORMATS[case.b_format].decode(case.b).T
