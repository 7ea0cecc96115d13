"""The ledger: the jobs of all sessions, who claims them, and their results.

It holds no process and is thread-safe. kernels.worker.line keeps the order.
"""

import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import count

from kernels.worker.ahead import Code, code_of
from kernels.worker.jobs import Job, Partial, Result, kind_of
from kernels.worker.line import Line, Run
from kernels.worker.rate import Pace, Rate
from kernels.worker.results import Answers, Mailbox, Room, size_of
from kernels.worker.states import Done, Failed, Final, InLine, Running, Starting, State, Stopped, Ticket

FORGOTTEN = Failed("This result is no longer kept: run it again.")
REPLACED = Stopped("Replaced by a newer run of yours before its turn came.")
STOPPED = Stopped("Stopped on request.")
CLOSED = Stopped("Not run: the app is shutting down.")
GONE = Stopped("Given up: the page that asked for it was closed or lost its connection.")

ABSENT_S = 4.0
"""The time after which a session that has left gives its jobs up. A short loss of connection is forgiven."""
MOST_WAITING = 200
_LOOK_EVERY_S = 0.5
_COMING = 3

_NUMBERS = count(1)
"""Tickets and turns are numbered once a process: no two ledgers give the same number."""


class Ledger:
    """The jobs of all sessions for all workers.

    A job equal to one that waits or runs shares its result; one that was answered before gets that answer. A
    session has at most one waiting job: a newer one takes its place. A session for which `is_present` is
    false for a while gives its jobs up.
    """

    def __init__(
        self,
        *,
        room: Room | None = None,
        pace: Pace | None = None,
        to_prepare: Sequence[Job] = (),
        compile_s: float = 0.0,
        is_present: Callable[[str], bool] = lambda session: True,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.clock = clock
        self._is_present = is_present
        self._changed = threading.Condition()
        self._line = Line(clock, to_prepare)
        self._line.compile_s = compile_s
        # By ticket, not by number: a ticket is answered with its own job only.
        self._runs: dict[Ticket, Run] = {}
        self._mailbox = Mailbox(room or Room(), is_present)
        self._answers = Answers(room or Room())
        self._rate = Rate(pace or Pace())
        self._looked = clock()
        self._free = 0
        self._is_closed = False

    def submit(self, job: Job, session: str, *, again: bool = False) -> Ticket:
        """Queue a job for a session; a job that this session waits for already gives the same ticket.

        A job that was answered before has that answer at once, unless it is to be measured `again`.
        """
        with self._changed:
            run = next((run for run in self._line.runs() if run.job == job and run.claims), None)
            held = [ticket for ticket, owner in run.claims.items() if owner == session] if run else []
            if held:
                self._withdraw_waiting(session, keep=run)
                return held[0]
            ticket = Ticket(next(_NUMBERS), job)
            end = self._end_at_once(job, session, again)
            if end is not None:
                self._mailbox.put(ticket, session, end, size_of(end))
                return ticket
            asked = self._withdraw_waiting(session, keep=run)
            if run is None:
                run = Run(ticket.number, job, self.clock() if asked is None else asked)
                self._line.add(run)
                self._changed.notify_all()
            run.claims[ticket] = session
            self._runs[ticket] = run
            return ticket

    def refuse(self, job: Job, session: str, reason: str) -> Ticket:
        """A ticket of a job that is not taken, with the reason."""
        with self._changed:
            ticket = Ticket(next(_NUMBERS), job)
            self._mailbox.put(ticket, session, Failed(reason), 0)
            return ticket

    def state(self, ticket: Ticket) -> State:
        """The state of a ticket so far."""
        with self._changed:
            self._look()
            run = self._runs.get(ticket)
            return self._mailbox.get(ticket) or FORGOTTEN if run is None else self._state_of(run)

    def everyone(self) -> tuple[InLine, ...]:
        """The runs under way, then those that wait, the next one first."""
        with self._changed:
            runs = [run for run in self._line.active if run.claims] + self._line.in_order()
            return tuple(InLine(run.job, self._state_of(run), tuple(run.claims.values())) for run in runs)

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

    def come(self, workers: int = 0, helpers: int = 0) -> None:
        """Count workers that take runs from now on, and helpers that compile; -1 for one that leaves."""
        with self._changed:
            self._line.workers += workers
            self._line.ahead.helpers += helpers
            self._changed.notify_all()

    def take(self, *, not_before: float, spare: Callable[[], Job | None] = lambda: None) -> Run | None:
        """For a worker: wait for the next run and own it; None when the ledger is closed.

        Where nobody waits, it is a spare job, if there is one.
        """
        with self._changed:
            while not self._is_closed:
                self._look()
                rest_s = not_before - self.clock()
                if rest_s > 0:
                    self._changed.wait(rest_s)
                    continue
                if (run := self._line.next()) is not None:
                    return self._line.begin(run, next(_NUMBERS))
                if (job := spare()) is not None:
                    return self._line.begin(Run(0, job, self.clock(), is_spare=True), next(_NUMBERS))
                self._free += 1
                self._changed.wait(_LOOK_EVERY_S if self._line.waiting else None)
                self._free -= 1
            return None

    def coming(self) -> tuple[Job, ...]:
        """For a worker: jobs that it may be given next."""
        with self._changed:
            return self._line.coming(_COMING)

    def next_to_prepare(self) -> Code | None:
        """For a helper: wait for code to compile; None when the ledger is closed."""
        with self._changed:
            while not self._is_closed and (code := self._line.next_to_prepare()) is None:
                self._changed.wait(_LOOK_EVERY_S if self._line.ahead.has_offered else None)
            return None if self._is_closed else code

    def is_left_to_helpers(self, job: Job) -> bool:
        """True while a spare job's code is to be compiled by a helper."""
        return self._line.ahead.is_left_to_helpers(code_of(job))

    def prepared(self, code: Code) -> None:
        """For a helper: the code is compiled, or cannot be."""
        with self._changed:
            self._line.compiled(code)
            self._changed.notify_all()

    def is_wanted(self, run: Run) -> bool:
        """For its worker: True if any ticket still claims the run."""
        with self._changed:
            self._look()
            return bool(run.claims) or (run.is_spare and not self._is_closed)

    def must_give_way(self, run: Run) -> bool:
        """For its worker: True if the run is to stop for now, because others wait for a first answer."""
        with self._changed:
            return self._line.must_give_way(run, self._free)

    def report(self, run: Run, fraction: float, note: str, partial: Result | None = None) -> None:
        """For its worker: note the progress of the run, and its result so far."""
        with self._changed:
            if run.progress is None:
                run.stage_began = self.clock()
            if partial is not None and not run.is_careful:
                if run.partial is Partial.ANSWER:
                    self._line.end_stage(run)
                    run.stage_began = self.clock()
                run.so_far = partial
            run.progress = (fraction, note)

    def put_back(self, run: Run) -> None:
        """For its worker: return a run that never began. The next free worker takes it."""
        with self._changed:
            self._line.put_back(run)
            self._changed.notify_all()

    def give_way(self, run: Run) -> None:
        """For its worker: return a run that stopped because it must_give_way. It goes on later."""
        with self._changed:
            self._line.give_way(run)
            self._changed.notify_all()

    def finish(self, run: Run, result: Final) -> None:
        """For its worker: end the run for every ticket that claims it."""
        with self._changed:
            result = _with_partial(result, run)
            size = size_of(result)
            if isinstance(result, Done) and not run.is_spare:
                self._line.end_stage(run)
                if kind_of(run.job).is_kept:
                    self._answers.put(run.job, result.row, self.clock(), size)
            elif run.is_spare:
                self._line.compiled(run.code)
            elif not run.is_careful:
                self._line.charge(run)
            self._line.active.remove(run)
            self._finish(run.claims, result, size)
            run.claims.clear()

    def _state_of(self, run: Run) -> State:
        if run in self._line.waiting:
            return self._line.wait_of(run)
        elapsed_s, done = self.clock() - run.since, run.progress
        if done is None:
            return Starting(elapsed_s)
        return Running(fraction=done[0], note=done[1], elapsed_s=elapsed_s, partial=run.so_far)

    def _end_at_once(self, job: Job, session: str, again: bool) -> Final | None:
        """The end of a job that is not queued; None for one that is."""
        if self._is_closed:
            return CLOSED
        known = None if again else self._answers.get(job)
        if known is not None:
            row, then = known
            return Done(row, age_s=self.clock() - then)
        if len(self._line.waiting) >= MOST_WAITING:
            return Failed(f"{MOST_WAITING} runs wait already, the most that may: run it again later.")
        wait_s = self._rate.wait_s(session, self.clock())
        return Failed(self._rate.sentence(wait_s)) if wait_s else None

    def _look(self) -> None:
        """Give up the jobs of sessions that have been gone for a while."""
        now = self.clock()
        if now - self._looked < _LOOK_EVERY_S:
            return
        self._looked = now
        claiming = {who for run in self._line.runs() for who in run.claims.values()}
        was_absent = self._line.absent
        self._line.absent = {who: was_absent.get(who, now) for who in claiming if not self._is_present(who)}
        given_up = {who for who, since in self._line.absent.items() if now - since >= ABSENT_S}
        for ticket in [ticket for ticket, run in self._runs.items() if run.claims[ticket] in given_up]:
            self._give_up(ticket, GONE)

    def _withdraw_waiting(self, session: str, *, keep: Run | None) -> float | None:
        """Give up the session's waiting ticket, except on `keep`. Return since when its run has waited, if it
        was its own alone: a new run takes that place.
        """
        asked = None
        for run in [run for run in self._line.waiting if run is not keep]:
            mine = [ticket for ticket, owner in run.claims.items() if owner == session]
            if mine and len(mine) == len(run.claims) and not run.is_careful:
                asked = run.asked
            for ticket in mine:
                self._give_up(ticket, REPLACED)
        return asked

    def _give_up(self, ticket: Ticket, result: Stopped) -> None:
        run = self._runs.get(ticket)
        if run is None:
            return
        claim, end = {ticket: run.claims.pop(ticket)}, _with_partial(result, run)
        self._finish(claim, end, size_of(end))
        if not run.claims and run in self._line.waiting:
            self._line.waiting.remove(run)

    def _finish(self, claims: dict[Ticket, str], result: Final, size: int) -> None:
        for ticket, session in claims.items():
            self._runs.pop(ticket, None)
            self._mailbox.put(ticket, session, result, size)


def _with_partial(result: Final, run: Run) -> Final:
    """A final state that keeps the result so far, where the run did not finish."""
    return result if isinstance(result, Done) else replace(result, partial=run.so_far)
