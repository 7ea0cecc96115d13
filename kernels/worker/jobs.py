"""The kinds of jobs that a worker does: each is one entry of KINDS. Importing this needs no torch."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any, Protocol, runtime_checkable

from kernels.bench.any_shape.job import AnyShapeDraw, AnyShapeJob
from kernels.bench.ceilings import Ceilings, CeilingsJob
from kernels.bench.cost import Cost, gemm_cost
from kernels.bench.job import GemmJob
from kernels.bench.ready.job import Readied, ReadyJob
from kernels.bench.row import Row
from kernels.check.job import CheckJob
from kernels.check.report import Report
from kernels.layer.timeline.job import TimelineJob, Way
from kernels.layer.timeline.row import Timeline
from kernels.probe.job import ProbeJob, ProbeRow
from kernels.train.cost import train_cost
from kernels.train.job import TrainJob
from kernels.train.ready.job import PIECES, TrainReadied, TrainReadyJob
from kernels.train.row import TrainRow
from kernels.typed import from_data, to_data


@runtime_checkable
class Job(Protocol):
    """What a worker can be asked."""

    @property
    def title(self) -> str:
        """What runs, for a list of runs."""

    @property
    def size(self) -> str:
        """What decides how much memory it needs, and its value."""

    @property
    def size_advice(self) -> str:
        """How to need less memory."""


@runtime_checkable
class Result(Protocol):
    """What comes of a job."""

    @property
    def job(self) -> Job:
        """The job that it is the result of."""


_KIND = "kind"
_DRAWN_S = 2.0
"""Seconds of one drawn GEMM; most of them compile its kernel."""
_WAY_S = 6.0
"""Seconds of one way of a timeline; most of them compile its kernels."""
_PIECES_S, _CALL_S = 10.0, 2.0
"""Seconds of the parts of a training run that are compiled ahead."""


class Partial(Enum):
    """The meaning of the partial result that a running job of a kind may report.

    NONE: there is none. ANSWER: a first answer, which the result replaces. PART: the beginning of the result;
    the job can go on from there.
    """

    NONE = "none"
    ANSWER = "answer"
    PART = "part"


@dataclass(frozen=True, kw_only=True)
class JobKind:
    """A kind of job: its job class, its result class, and the module with its `measure`.

    The module's `measure(job, progress=..., stopped=...)` runs it. It may need torch: only the worker imports
    it. `name` goes through the pipe with jobs and results. Where there are partial results, `measure` takes
    one as `so_far`, and goes on from it. `cost` estimates a job's seconds on a GPU. `is_kept`: a finished
    result also answers later jobs that are equal. `part_stays`: the part of a job that was stopped, or that
    failed, stays among the results of its session.
    """

    name: str
    job: type[Job]
    result: type[Result]
    measured_by: str
    cost: Callable[[Any], Cost]
    partial: Partial = Partial.NONE
    is_kept: bool = True
    part_stays: bool = False


KINDS = (
    JobKind(
        name="gemm",
        job=GemmJob,
        result=Row,
        measured_by="kernels.bench.answers",
        cost=gemm_cost,
        partial=Partial.ANSWER,
    ),
    JobKind(
        name="probe",
        job=ProbeJob,
        result=ProbeRow,
        measured_by="kernels.probe.sweep",
        cost=lambda job: Cost(first_s=5.0),
    ),
    JobKind(
        name="ceilings",
        job=CeilingsJob,
        result=Ceilings,
        measured_by="kernels.bench.ceilings.measure",
        cost=lambda job: Cost(first_s=12.0),
    ),
    JobKind(
        name="check",
        job=CheckJob,
        result=Report,
        measured_by="kernels.check.run",
        cost=lambda job: Cost(first_s=8.0 if job.quick else 15.0),
        partial=Partial.PART,
        is_kept=False,
    ),
    JobKind(
        name="any_shape",
        job=AnyShapeJob,
        result=AnyShapeDraw,
        measured_by="kernels.bench.any_shape.measure",
        cost=lambda job: Cost(first_s=_DRAWN_S * job.count),
        partial=Partial.PART,
        part_stays=True,
    ),
    JobKind(
        name="train",
        job=TrainJob,
        result=TrainRow,
        measured_by="kernels.train.measure",
        cost=train_cost,
        partial=Partial.PART,
        part_stays=True,
    ),
    JobKind(
        name="timeline",
        job=TimelineJob,
        result=Timeline,
        measured_by="kernels.layer.timeline.answers",
        cost=lambda job: Cost(first_s=_WAY_S * len(Way)),
        partial=Partial.PART,
        part_stays=True,
    ),
    JobKind(
        name="ready",
        job=ReadyJob,
        result=Readied,
        measured_by="kernels.bench.ready.measure",
        cost=lambda job: Cost(first_s=2.0),
        is_kept=False,
    ),
    JobKind(
        name="train_ready",
        job=TrainReadyJob,
        result=TrainReadied,
        measured_by="kernels.train.ready.measure",
        cost=lambda job: Cost(first_s=_PIECES_S if job.layer == PIECES else _CALL_S),
        is_kept=False,
    ),
)


def kind_of(thing: Job | Result) -> JobKind:
    """The kind of a job or of a result."""
    return next(kind for kind in KINDS if isinstance(thing, (kind.job, kind.result)))


def packed(thing: Job | Result) -> dict[str, Any]:
    """A job or a result as JSON data, with the name of its kind."""
    return {_KIND: kind_of(thing).name, **to_data(thing)}


def unpacked(role: type[Job] | type[Result], data: object) -> Job | Result:
    """The job, or the result, that `packed` made data of. Raises ValueError for anything else."""
    fields = dict(data) if isinstance(data, Mapping) else {}
    name = fields.pop(_KIND, None)
    kind = next((kind for kind in KINDS if kind.name == name), None)
    if kind is None:
        known = ", ".join(kind.name for kind in KINDS)
        raise ValueError(f"a job is of one of the kinds {known}, got {name!r}")
    return from_data(kind.job if role is Job else kind.result, fields)
