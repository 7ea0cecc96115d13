"""The kinds of jobs that a worker does: each is one entry of KINDS. Importing this needs no torch."""

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
    """A kind of job: its job class, its result class, and the module with its `measure`.

    The module's `measure(job, progress=..., stopped=...)` runs it. It may need torch: only the worker imports
    it. `name` goes through the pipe with jobs and results.
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
    """The kind of a job or of a result."""
    return next(kind for kind in KINDS if isinstance(thing, (kind.job, kind.result)))


def packed(thing: Job | Result) -> dict[str, Any]:
    """A job or a result as JSON data, with the name of its kind."""
    return {_KIND: kind_of(thing).name, **thing.to_dict()}


def unpack_job(data: object) -> Job:
    """The job that was `packed`. Raises ValueError for anything else."""
    kind, fields = _split(data)
    return kind.job.from_dict(fields)


def unpack_result(data: object) -> Result:
    """The result that was `packed`. Raises ValueError for anything else."""
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
