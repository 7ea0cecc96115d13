"""The states of a job in the queue."""

from dataclasses import dataclass, field

from kernels.worker.jobs import Job, Result


@dataclass(frozen=True)
class Ticket:
    """One session's claim on the result of a job."""

    number: int
    job: Job


@dataclass(frozen=True)
class Waiting:
    """In the line; `ahead` jobs come first, running ones included. The answer is expected in `expected_s`.

    `partial` is as in Running: a job with a first answer may wait for its careful one. `compiling_s`: for how
    long a helper has compiled its code; None where none does.
    """

    ahead: int
    expected_s: float = field(default=0.0, compare=False)
    partial: Result | None = field(default=None, compare=False)
    compiling_s: float | None = field(default=None, compare=False)


@dataclass(frozen=True)
class Starting:
    """First in the queue, while a fresh worker loads."""

    elapsed_s: float


@dataclass(frozen=True, kw_only=True)
class Running:
    """The job runs: `fraction` of the work is done, and `note` names the part at hand.

    `partial` is the result so far, if its kind of job has one.
    """

    fraction: float
    note: str
    elapsed_s: float
    partial: Result | None = None


@dataclass(frozen=True)
class Done:
    """The result. `age_s`: it was measured so long before it was asked for; None where it was not."""

    row: Result
    age_s: float | None = None


@dataclass(frozen=True)
class Failed:
    """`reason` is one sentence for the reader; `partial` is as in Running."""

    reason: str
    partial: Result | None = None


@dataclass(frozen=True)
class Stopped:
    """Ended on request; `reason` is one sentence for the reader; `partial` is as in Running."""

    reason: str
    partial: Result | None = None


Final = Done | Failed | Stopped
State = Waiting | Starting | Running | Final


@dataclass(frozen=True)
class InLine:
    """A job that waits or runs, and the sessions that want its result."""

    job: Job
    state: State
    sessions: tuple[str, ...]
