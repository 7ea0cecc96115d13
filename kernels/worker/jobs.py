"""The kinds of job a worker does, one entry of KINDS each. Importing this needs no torch."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from kernels.bench.ceilings import Ceilings, CeilingsJob
from kernels.bench.job import GemmJob
from kernels.bench.row import Row
from kernels.check.job import CheckJob
from kernels.check.report import Report
from kernels.probe.job import ProbeJob, ProbeRow

Job = GemmJob | ProbeJob | CeilingsJob | CheckJob
Result = Row | ProbeRow | Ceilings | Report

_KIND = "kind"


@dataclass(frozen=True, kw_only=True)
class JobKind:
    """What is asked, what comes back, and the module whose `measure(job, progress=..., stopped=...)` does it.

    `name` goes with both through the pipe. The module may need torch: only the worker imports it.
    """

    name: str
    job: type[Job]
    result: type[Result]
    measured_by: str


KINDS = (
    JobKind(name="gemm", job=GemmJob, result=Row, measured_by="kernels.bench.measure"),
    JobKind(name="probe", job=ProbeJob, result=ProbeRow, measured_by="kernels.probe.sweep"),
    JobKind(name="ceilings", job=CeilingsJob, result=Ceilings, measured_by="kernels.bench.ceilings_measure"),
    JobKind(name="check", job=CheckJob, result=Report, measured_by="kernels.check.run"),
)


def kind_of(thing: Job | Result) -> JobKind:
    """The kind that a job or a result is of."""
    return next(kind for kind in KINDS if isinstance(thing, (kind.job, kind.result)))


def packed(thing: Job | Result) -> dict[str, Any]:
    """A job or a result as JSON has it, with the name of its kind."""
    return {_KIND: kind_of(thing).name, **thing.to_dict()}


def unpack_job(data: object) -> Job:
    """The job that `packed` made this of. Raises ValueError for anything else."""
    kind, fields = _split(data)
    return kind.job.from_dict(fields)


def unpack_result(data: object) -> Result:
    """The result that `packed` made this of. Raises ValueError for anything else."""
    kind, fields = _split(data)
    return kind.result.from_dict(fields)


def _split(data: object) -> tuple[JobKind, dict[str, Any]]:
    fields = dict(data) if isinstance(data, Mapping) else {}
    name = fields.pop(_KIND, None)
    kind = next((kind for kind in KINDS if kind.name == name), None)
    if kind is None:
        known = ", ".join(kind.name for kind in KINDS)
        raise ValueError(f"a job is of one of the kinds {known}, got {name!r}")
    return kind, fields
