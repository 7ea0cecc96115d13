"""Kinds of jobs (KINDS), tickets, and the states of a job. Importing this needs no torch."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, Protocol, runtime_checkable

from kernels.check.report import CheckJob, Report
from kernels.layer.timeline.row import Timeline, TimelineJob, Way
from kernels.measure.jobs import CeilingsJob, Cost, GemmJob, gemm_cost
from kernels.measure.random_shapes import AnyShapeDraw, AnyShapeJob
from kernels.measure.rows import Ceilings, Row
from kernels.probe.sweep import ProbeJob, ProbeRow
from kernels.train.job import TrainJob, train_cost
from kernels.train.row import TrainRow
from kernels.typed import from_data, to_data


@runtime_checkable
class Job(Protocol):
    """Something to measure. size: its fields that decide how much memory it needs; size_advice: how to need
    less.
    """

    @property
    def title(self) -> str: ...

    @property
    def size(self) -> str: ...

    @property
    def size_advice(self) -> str: ...


@runtime_checkable
class Result(Protocol):
    @property
    def job(self) -> Job: ...


_KIND = "kind"
_DRAWN_S, _WAY_S = 2.0, 6.0
"""Seconds of one drawn GEMM and of one way of a timeline, most of them to compile."""


class Partial(Enum):
    """The partial result of a running job: none, a first ANSWER that the result replaces, or a PART to go on
    from.
    """

    NONE = "none"
    ANSWER = "answer"
    PART = "part"


@dataclass(frozen=True, kw_only=True)
class JobKind:
    """A kind of job: its job and result classes, and the module with its `measure`.

    - name: in messages. cost: estimates a job's seconds on a GPU.
    - measured_by: its `measure(job, progress=..., stopped=...)` may need torch: only the worker imports it.
      With partial results, it takes one as `so_far`, and goes on from it.
    - is_reusable: a result also answers later jobs that are equal. part_stays: so does a session keep the
      part of a stopped or failed job.
    """

    name: str
    job: type[Job]
    result: type[Result]
    measured_by: str
    cost: Callable[[Any], Cost]
    partial: Partial = Partial.NONE
    is_reusable: bool = True
    part_stays: bool = False


KINDS = (
    JobKind(
        name="gemm",
        job=GemmJob,
        result=Row,
        measured_by="kernels.measure.gemm",
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
        measured_by="kernels.measure.ceilings",
        cost=lambda job: Cost(first_s=12.0),
    ),
    JobKind(
        name="check",
        job=CheckJob,
        result=Report,
        measured_by="kernels.check.run",
        cost=lambda job: Cost(first_s=8.0 if job.quick else 15.0),
        partial=Partial.PART,
        is_reusable=False,
    ),
    JobKind(
        name="any_shape",
        job=AnyShapeJob,
        result=AnyShapeDraw,
        measured_by="kernels.measure.random_draw",
        cost=lambda job: Cost(first_s=_DRAWN_S * job.count),
        partial=Partial.PART,
        part_stays=True,
    ),
    JobKind(
        name="train",
        job=TrainJob,
        result=TrainRow,
        measured_by="kernels.train.run",
        cost=train_cost,
        partial=Partial.PART,
        part_stays=True,
    ),
    JobKind(
        name="timeline",
        job=TimelineJob,
        result=Timeline,
        measured_by="kernels.layer.timeline.measure",
        cost=lambda job: Cost(first_s=_WAY_S * len(Way)),
        partial=Partial.PART,
        part_stays=True,
    ),
)


def kind_of(thing: Job | Result) -> JobKind:
    return next(kind for kind in KINDS if isinstance(thing, (kind.job, kind.result)))


def packed(thing: Job | Result) -> dict[str, Any]:
    return {_KIND: kind_of(thing).name, **to_data(thing)}


def unpacked(role: type[Job] | type[Result], data: object) -> Job | Result:
    fields = dict(data) if isinstance(data, Mapping) else {}
    name = fields.pop(_KIND, None)
    kind = next((kind for kind in KINDS if kind.name == name), None)
    if kind is None:
        names = ", ".join(kind.name for kind in KINDS)
        raise ValueError(f"a job is of one of the kinds {names}, got {name!r}")
    return from_data(kind.job if role is Job else kind.result, fields)


@dataclass(frozen=True)
class Ticket:
    number: int
    job: Job


@dataclass(frozen=True)
class Waiting:
    """In the queue behind `ahead` jobs, running ones included. The answer is expected in `expected_s`.

    `partial` is as in Running: a job with a first answer may wait for its careful one. `compiling_s`: how
    long its code has been compiled; None where nobody does.
    """

    ahead: int
    expected_s: float = field(default=0.0, compare=False)
    partial: Result | None = field(default=None, compare=False)
    compiling_s: float | None = field(default=None, compare=False)


@dataclass(frozen=True)
class Starting:
    elapsed_s: float


@dataclass(frozen=True, kw_only=True)
class Running:
    """The job runs: `fraction` is done, `note` names the part at hand, `partial` is the result so far."""

    fraction: float
    note: str
    elapsed_s: float
    partial: Result | None = None


@dataclass(frozen=True)
class Done:
    """The result. `age_s`: its age, where it answered an earlier job."""

    row: Result
    age_s: float | None = None


@dataclass(frozen=True)
class Failed:
    reason: str
    partial: Result | None = None


@dataclass(frozen=True)
class Stopped:
    """Ended on request. `reason` is one sentence for the reader, as in Failed; `partial` as in Running."""

    reason: str
    partial: Result | None = None


Final = Done | Failed | Stopped
State = Waiting | Starting | Running | Final


@dataclass(frozen=True)
class InLine:
    job: Job
    state: State
    sessions: tuple[str, ...]
