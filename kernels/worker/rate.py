"""How many jobs a session may ask for: some at once, then one after each pause."""

from collections.abc import Mapping
from dataclasses import dataclass

from kernels.environment import positive

RUNS = "FP8_EXPLORER_RUNS_A_MINUTE"
_MINUTE_S = 60.0


@dataclass(frozen=True)
class Pace:
    """At most `jobs` in `seconds`. A session that has been quiet for so long may ask for all at once."""

    jobs: float = 20
    seconds: float = _MINUTE_S

    @classmethod
    def of(cls, environment: Mapping[str, str]) -> "Pace":
        """The pace that the variable RUNS sets. Raises ValueError for one that is no number above 0."""
        return cls(jobs=max(1.0, positive(environment, RUNS, cls.jobs)), seconds=_MINUTE_S)


class Rate:
    """Counts the jobs of each session, with a bucket that fills at the allowed pace."""

    def __init__(self, pace: Pace) -> None:
        self._pace = pace
        self._each_s = pace.seconds / pace.jobs
        self._full_at: dict[str, float] = {}
        """When a session's bucket will be full again."""

    def wait_s(self, session: str, now: float) -> float:
        """Count a job of a session. Where that is too many, return the seconds until the next one may come,
        and do not count it.
        """
        full_at = max(self._full_at.get(session, now), now)
        wait_s = full_at + self._each_s - now - self._pace.seconds
        if wait_s > 1e-9:
            return wait_s
        self._full_at[session] = full_at + self._each_s
        if len(self._full_at) % 64 == 0:
            self._full_at = {who: then for who, then in self._full_at.items() if then > now}
        return 0.0

    def sentence(self, wait_s: float) -> str:
        """The reason for a job that is not taken."""
        return (
            f"You asked for more than {self._pace.jobs:g} runs in {self._pace.seconds:g} s, and others wait "
            f"too: run it again in {max(1, round(wait_s))} s."
        )
