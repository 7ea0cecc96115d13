"""Results that the line keeps: those that sessions are to fetch, and those that answer equal jobs later.

Both are bounded in number and in bytes, as a result has them when it travels.
"""

import json
from collections import Counter, OrderedDict
from collections.abc import Callable
from dataclasses import dataclass

from kernels.typed import to_data
from kernels.worker.jobs import Job, Result
from kernels.worker.states import Done, Final, Ticket


@dataclass(frozen=True)
class Room:
    """The most results to keep, and the most bytes of them."""

    results: int = 512
    bytes: int = 64 << 20

    def holds(self, results: int, size: int) -> bool:
        return results <= self.results and size <= self.bytes


@dataclass
class _Letter:
    session: str
    end: Final
    size: int
    is_fetched: bool = False


class Mailbox:
    """The ends of jobs by ticket, for the sessions that hold the tickets.

    Where room is short, those go first that were fetched, then those of sessions that are gone, then older
    ones of a session with several. The only one that a present session has yet to fetch always stays.
    """

    def __init__(self, room: Room, is_present: Callable[[str], bool]) -> None:
        self._room, self._is_present = room, is_present
        self._letters: OrderedDict[Ticket, _Letter] = OrderedDict()
        self._size = 0

    def put(self, ticket: Ticket, session: str, end: Final, size: int) -> None:
        """Keep an end of a job until there is no room for it; `size` as `size_of` has it."""
        self._letters[ticket] = _Letter(session, end, size)
        self._size += size
        while not self._room.holds(len(self._letters), self._size) and (old := self._least()) is not None:
            self._size -= self._letters.pop(old).size

    def get(self, ticket: Ticket) -> Final | None:
        """The end of a ticket's job; None where it is not kept."""
        letter = self._letters.get(ticket)
        if letter is None:
            return None
        letter.is_fetched = True
        return letter.end

    def _least(self) -> Ticket | None:
        """The ticket whose result is the first to go."""
        for ticket, letter in self._letters.items():
            if letter.is_fetched:
                return ticket
        present = {letter.session: self._is_present(letter.session) for letter in self._letters.values()}
        for ticket, letter in self._letters.items():
            if not present[letter.session]:
                return ticket
        session, most = Counter(letter.session for letter in self._letters.values()).most_common(1)[0]
        held = (ticket for ticket, letter in self._letters.items() if letter.session == session)
        return next(held) if most > 1 else None


class Answers:
    """The newest results by job: an equal job is answered with one at once. The one used longest ago goes
    first.
    """

    def __init__(self, room: Room) -> None:
        self._room = room
        self._kept: OrderedDict[Job, tuple[Result, float, int]] = OrderedDict()
        self._size = 0

    def put(self, job: Job, result: Result, now: float, size: int) -> None:
        """Keep a result as the newest of its job."""
        self._drop(job)
        self._kept[job] = result, now, size
        self._size += size
        while self._kept and not self._room.holds(len(self._kept), self._size):
            self._drop(next(iter(self._kept)))

    def get(self, job: Job) -> tuple[Result, float] | None:
        """The newest result of an equal job, and when it came; None where there is none."""
        if job not in self._kept:
            return None
        self._kept.move_to_end(job)
        result, then, _ = self._kept[job]
        return result, then

    def _drop(self, job: Job) -> None:
        _, _, size = self._kept.pop(job, (None, 0.0, 0))
        self._size -= size


def size_of(end: Final) -> int:
    """The bytes of the result in an end of a job, as JSON."""
    result = end.row if isinstance(end, Done) else end.partial
    return len(json.dumps(to_data(result))) if result is not None else 0
