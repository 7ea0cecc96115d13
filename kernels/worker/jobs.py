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
from kernels.typed import check_known, from_data, to_data


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


class Partial(Enum):
    """The partial result of a running job: none, a first ANSWER that the result replaces, or a PART to go on
    from.
    """

    NONE = "none"
    ANSWER = "answer"
    PART = "part"


@dataclass(frozen=True)
class JobKind:
    """A kind of job: its name in messages, its job and result classes, and the module with its `measure`.

    - measured_by: its `measure(job, progress=..., stopped=...)` may need torch: only the worker imports it.
      With partial results, it takes one as `so_far`, and goes on from it.
    - cost: estimates a job's seconds on a GPU.
    - is_reusable: a result also answers later jobs that are equal.
    """

    name: str
    job: type[Job]
    result: type[Result]
    measured_by: str
    cost: Callable[[Any], Cost]
    partial: Partial = Partial.NONE
    is_reusable: bool = True

    @property
    def part_stays(self) -> bool:
        """True if a session keeps the part of a stopped or failed job."""
        return self.is_reusable and self.partial is Partial.PART


def _check_cost(job: CheckJob) -> Cost:
    return Cost(first_s=8.0 if job.quick else 15.0)


def _draw_cost(job: AnyShapeJob) -> Cost:
    """Most of the seconds of each drawn GEMM compile it."""
    return Cost(first_s=2.0 * job.count)


def _timeline_cost(job: TimelineJob) -> Cost:
    """Most of the seconds of each way compile it."""
    return Cost(first_s=6.0 * len(Way))


_PART = Partial.PART
KINDS = (
    JobKind("gemm", GemmJob, Row, "kernels.measure.gemm", gemm_cost, Partial.ANSWER),
    JobKind("probe", ProbeJob, ProbeRow, "kernels.probe.sweep", lambda job: Cost(first_s=5.0)),
    JobKind("ceilings", CeilingsJob, Ceilings, "kernels.measure.ceilings", lambda job: Cost(first_s=12.0)),
    JobKind("check", CheckJob, Report, "kernels.check.run", _check_cost, _PART, is_reusable=False),
    JobKind("any_shape", AnyShapeJob, AnyShapeDraw, "kernels.measure.random_draw", _draw_cost, _PART),
    JobKind("train", TrainJob, TrainRow, "kernels.train.run", train_cost, _PART),
    JobKind("timeline", TimelineJob, Timeline, "kernels.layer.timeline.measure", _timeline_cost, _PART),
)


def kind_of(thing: Job | Result) -> JobKind:
    return next(kind for kind in KINDS if isinstance(thing, (kind.job, kind.result)))


def packed(thing: Job | Result) -> dict[str, Any]:
    return {_KIND: kind_of(thing).name, **to_data(thing)}


def unpacked(role: type[Job] | type[Result], data: object) -> Job | Result:
    fields = dict(data) if isinstance(data, Mapping) else {}
    name, kinds = fields.pop(_KIND, None), {kind.name: kind for kind in KINDS}
    check_known("kind of job", name, kinds)
    return from_data(kinds[name].job if role is Job else kinds[name].result, fields)


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
