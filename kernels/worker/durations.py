"""How long jobs take: what earlier jobs of their kind and size took, or else an estimate."""

from dataclasses import dataclass

from kernels.bench.job import GemmJob
from kernels.worker.jobs import Job, kind_of

_WEIGHT = 0.3
"""Weight of the newest measurement in the running mean."""


@dataclass(frozen=True)
class Stage:
    """One stage of a job: its kind and size, and the estimate of its seconds."""

    kind: str
    is_careful: bool
    size: int | str
    estimate_s: float

    @classmethod
    def both(cls, job: Job) -> tuple["Stage", "Stage"]:
        """The stage of the first answer, and that of the careful one."""
        kind = kind_of(job)
        cost = kind.cost(job)
        # Jobs within a factor of two in their work count as one size.
        size = job.flop.bit_length() if isinstance(job, GemmJob) else job.size
        return cls(kind.name, False, size, cost.first_s), cls(kind.name, True, size, cost.careful_s)


class Durations:
    """The seconds that stages of jobs take."""

    def __init__(self) -> None:
        self._means: dict[tuple[str, bool, int | str], float] = {}

    def note(self, stage: Stage, seconds: float) -> None:
        """Remember how long a stage took."""
        key = stage.kind, stage.is_careful, stage.size
        old = self._means.get(key, seconds)
        self._means[key] = old + _WEIGHT * (seconds - old)

    def expected_s(self, stage: Stage) -> float:
        """The seconds that a stage takes."""
        return self._means.get((stage.kind, stage.is_careful, stage.size), stage.estimate_s)
