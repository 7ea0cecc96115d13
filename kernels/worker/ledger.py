"""The queue's ledger: the jobs that wait, the jobs that run, and their results.

It holds no process and is thread-safe.
"""

import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from itertools import count

from kernels.worker.jobs import Job, Result
from kernels.worker.states import Done, Failed, Final, Running, Starting, State, Stopped, Ticket, Waiting

FORGOTTEN = Failed("This result is no longer kept: run it again.")
REPLACED = Stopped("Replaced by a newer run of yours before its turn came.")
STOPPED = Stopped("Stopped on request.")
CLOSED = Stopped("Not run: the app is shutting down.")

_NUMBERS = count(1)
"""Tickets are numbered once a process: no two ledgers give the same number."""


@dataclass(eq=False)
class Run:
    """One job that waits or runs. `claims` is the tickets that want its result, with their sessions.

    `since` is when a worker took it, `takes` how often one did.
    """

    number: int
    job: Job
    claims: dict[Ticket, str] = field(default_factory=dict)
    progress: tuple[float, str, Result | None] | None = None
    since: float = 0.0
    takes: int = 0


class Ledger:
    """The jobs of all sessions for all workers.

    A job equal to one that waits or runs shares its result. A session has at most one waiting job: a newer
    one takes its place.
    """

    def __init__(self, *, results_kept: int, clock: Callable[[], float] = time.monotonic) -> None:
        self.clock = clock
        self._results_kept = results_kept
        self._changed = threading.Condition()
        self._waiting: list[Run] = []
        self._active: list[Run] = []
        # By ticket, not by number: a ticket is answered with its own job only.
        self._runs: dict[Ticket, Run] = {}
        self._results: OrderedDict[Ticket, Final] = OrderedDict()
        self._is_closed = False

    def submit(self, job: Job, session: str) -> Ticket:
        """Queue a job for a session; a job that this session waits for already gives the same ticket."""
        with self._changed:
            run = next((run for run in self._active + self._waiting if run.job == job and run.claims), None)
            place = self._withdraw_waiting(session, keep=run)
            held = [ticket for ticket, owner in run.claims.items() if owner == session] if run else []
            if held:
                return held[0]
            ticket = Ticket(next(_NUMBERS), job)
            if self._is_closed:
                self._finish([ticket], CLOSED)
                return ticket
            if run is None:
                run = Run(ticket.number, job)
                self._waiting.insert(place, run)
                self._changed.notify_all()
            run.claims[ticket] = session
            self._runs[ticket] = run
            return ticket

    def state(self, ticket: Ticket) -> State:
        """The state of a ticket so far."""
        with self._changed:
            run = self._runs.get(ticket)
            if run is None:
                return self._results.get(ticket, FORGOTTEN)
            if run in self._waiting:
                return Waiting(len(self._active) + self._waiting.index(run))
            elapsed_s = self.clock() - run.since
            if run.progress is None:
                return Starting(elapsed_s)
            fraction, note, partial = run.progress
            return Running(fraction=fraction, note=note, elapsed_s=elapsed_s, partial=partial)

    def stop(self, ticket: Ticket) -> None:
        """Give a ticket up; the run behind it ends unless another ticket wants it."""
        with self._changed:
            self._give_up(ticket, STOPPED)

    def close(self) -> None:
        """Give every ticket up and take no more."""
        with self._changed:
            self._is_closed = True
            for ticket in list(self._runs):
                self._give_up(ticket, CLOSED)
            self._changed.notify_all()

    @property
    def is_closed(self) -> bool:
        with self._changed:
            return self._is_closed

    def take(self, *, not_before: float) -> Run | None:
        """For a worker: wait for the next run and own it; None when the ledger is closed."""
        with self._changed:
            while not self._is_closed:
                rest_s = not_before - self.clock()
                if self._waiting and rest_s <= 0:
                    run = self._waiting.pop(0)
                    run.since = self.clock()
                    run.takes += 1
                    self._active.append(run)
                    return run
                self._changed.wait(rest_s if rest_s > 0 else None)
            return None

    def is_wanted(self, run: Run) -> bool:
        """For its worker: True if any ticket still claims the run."""
        with self._changed:
            return bool(run.claims)

    def report(self, run: Run, fraction: float, note: str, partial: Result | None = None) -> None:
        """For its worker: note the progress of the run, and its result so far."""
        with self._changed:
            run.progress = (fraction, note, partial)

    def put_back(self, run: Run) -> None:
        """For its worker: return a run that never began. The next free worker takes it."""
        with self._changed:
            self._active.remove(run)
            if run.claims:
                run.progress = None
                self._waiting.insert(0, run)
                self._changed.notify_all()

    def finish(self, run: Run, result: Final) -> None:
        """For its worker: end the run for every ticket that claims it."""
        with self._changed:
            self._active.remove(run)
            self._finish(list(run.claims), _with_partial(result, run))
            run.claims.clear()

    def _withdraw_waiting(self, session: str, *, keep: Run | None) -> int:
        """Give up the session's waiting ticket, except on `keep`; return the place in the queue for a new
        run.
        """
        place = len(self._waiting)
        for run in [run for run in self._waiting if run is not keep]:
            mine = [ticket for ticket, owner in run.claims.items() if owner == session]
            if mine and len(mine) == len(run.claims):
                place = self._waiting.index(run)
            for ticket in mine:
                self._give_up(ticket, REPLACED)
        return min(place, len(self._waiting))

    def _give_up(self, ticket: Ticket, result: Stopped) -> None:
        run = self._runs.get(ticket)
        if run is None:
            return
        del run.claims[ticket]
        self._finish([ticket], _with_partial(result, run))
        if not run.claims and run in self._waiting:
            self._waiting.remove(run)

    def _finish(self, tickets: list[Ticket], result: Final) -> None:
        for ticket in tickets:
            self._runs.pop(ticket, None)
            self._results[ticket] = result
        while len(self._results) > self._results_kept:
            self._results.popitem(last=False)


def _with_partial(result: Final, run: Run) -> Final:
    """A final state that keeps the result so far, where the run did not finish."""
    partial = run.progress[2] if run.progress else None
    return result if isinstance(result, Done) else replace(result, partial=partial)
