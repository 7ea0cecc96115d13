"""The order of the line: whose job is next. Pure arithmetic; the ledger asks it.

First answers come before careful ones, which use the GPU's spare time. Beyond that, a job's debt decides:

    debt = seconds of GPU that its session had lately + seconds that the job takes - seconds of waiting

The smallest debt is next. So a session that has had little comes before one that has had much, a short job
before a long one, and nobody waits forever: a newcomer's debt is never below zero, that of a job in the line
falls.
"""

from typing import NamedTuple

HALF_LIFE_S = 60.0
"""After this time, a second of GPU counts half."""
SLOT_S = 4.0
"""A long job that has had the GPU for this time gives way to those that wait for a first answer."""
_FORGOTTEN_S = 1e-3


class Place(NamedTuple):
    """What decides on a job's place.

    `is_next`: a worker was lost before it began this job. `number` is the order of arrival.
    """

    is_next: bool
    is_careful: bool
    served_s: float
    cost_s: float
    waited_s: float
    number: int

    @property
    def debt_s(self) -> float:
        return self.served_s + self.cost_s - self.waited_s

    @property
    def key(self) -> tuple[bool, bool, float, int]:
        """Sorts the line: the smallest is next."""
        return not self.is_next, self.is_careful, self.debt_s, self.number


class Served:
    """The seconds of GPU that each session has had lately. Old ones fade."""

    def __init__(self) -> None:
        self._had: dict[str, tuple[float, float]] = {}

    def charge(self, session: str, seconds: float, now: float) -> None:
        """Add seconds that a session has had until now."""
        self._had[session] = (self.lately(session, now) + seconds, now)
        if len(self._had) % 64 == 0:
            self._had = {who: had for who, had in self._had.items() if _faded(had, now) > _FORGOTTEN_S}

    def lately(self, session: str, now: float) -> float:
        """The seconds that still count."""
        return _faded(self._had.get(session, (0.0, now)), now)


def _faded(had: tuple[float, float], now: float) -> float:
    seconds, then = had
    return seconds * 0.5 ** ((now - then) / HALF_LIFE_S)
