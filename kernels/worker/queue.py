"""The queue that pages use: jobs of all sessions in, tickets out, workers behind it.

First answers come before careful ones, which use the GPU's spare time. Then the smallest debt is next:

    debt = seconds of GPU that its session had lately + seconds that the job takes - seconds of waiting

So a session that has had little comes before one that has had much, a short job before a long one, and nobody
waits forever. A job whose code is being compiled waits for that, and others are served meanwhile.
"""

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import count

from cachetools import LRUCache

from kernels.device import Device
from kernels.environment import positive
from kernels.measure.jobs import Allowance, GemmJob
from kernels.precompile import Compilation, Precompile, Rank, codes_beside, codes_of
from kernels.worker.jobs import (
    Done,
    Failed,
    Final,
    InLine,
    Job,
    JobKind,
    Partial,
    Result,
    Running,
    Starting,
    State,
    Stopped,
    Ticket,
    Waiting,
    kind_of,
)
from kernels.worker.worker import STOPPED, Launch, Limits, Supervisor

RUNS, RUNS_A_MINUTE, _MINUTE_S = "FP8_EXPLORER_RUNS_A_MINUTE", 20, 60.0

FORGOTTEN = Failed("This result is no longer kept: run it again.")
REPLACED = Stopped("Replaced by a newer run of yours before its turn came.")
CLOSED = Stopped("Not run: the app is shutting down.")
GONE = Stopped("Given up: the page that asked for it was closed or lost its connection.")

ABSENT_S = 4.0  # after which a session that has left gives its jobs up
SLOT_S = 4.0  # on the GPU, after which a long job gives way to those that wait for a first answer
MOST_WAITING = 200
RESULTS = 1024
"""The most results to be fetched, and the most that answer equal jobs; a GEMM's has 10 KB, a timeline's up to
70. Results that nobody fetched for longest go first: a page asks twice a second.
"""

_HALF_LIFE_S = 60.0  # after which a second of GPU counts half
_NEWEST_WEIGHT = 0.3
_LOOK_EVERY_S, _COMING = 0.5, 6
_SESSIONS = 4096
_NUMBERS = count(1)  # of tickets and turns, once a process: no two queues give the same number


def runs_a_minute(environment: Mapping[str, str]) -> float:
    """Jobs of a session in a minute, by the variable RUNS. Raises ValueError for no number above 0."""
    return max(1.0, positive(environment, RUNS, RUNS_A_MINUTE))


@dataclass(eq=False)
class Run:
    """One job that waits or runs.

    - claims: tickets that want its result, with their sessions.
    - waiting_since, since, stage_began: when it was queued, taken by a worker, and began its stage: the first
      answer's or the careful one's.
    - takes: workers that took it, all but the last of them lost.
    - code, planned: compilation of its next stage, and of its careful one.
    - simple_first: the simple kernel gives the first answer, while the planned one is compiled.
    """

    number: int
    job: Job
    waiting_since: float
    claims: dict[Ticket, str] = field(default_factory=dict)
    code: Compilation | None = None
    planned: Compilation | None = None
    simple_first: bool = False
    progress: tuple[float, str] | None = None
    so_far: Result | None = None
    since: float = 0.0
    stage_began: float = 0.0
    takes: int = 0
    is_leaving: bool = False

    @cached_property
    def kind(self) -> JobKind:
        return kind_of(self.job)

    @property
    def is_careful(self) -> bool:
        return self.so_far is not None and self.kind.partial is Partial.ANSWER

    @property
    def is_compiling(self) -> bool:
        return self.code is not None and self.code.running()

    @property
    def stage(self) -> tuple[str, bool, int | str]:
        """Key of its next stage's duration: work within a factor of two counts as one size."""
        size = self.job.flop.bit_length() if isinstance(self.job, GemmJob) else self.job.size
        return self.kind.name, self.is_careful, size


class WorkerQueue:
    """One worker a launcher, all fed from one queue. Thread-safe; a worker ends with this process.

    A job equal to one that waits or runs shares its result; one equal to an answered one gets that answer. A
    session has at most one waiting job: a newer one takes its place. A session that is not present for a
    while gives its jobs up. A worker starts with its first job; with `is_eager` at once, and it
    warms up while it is idle.
    """

    def __init__(
        self,
        launchers: Sequence[Launch],
        *,
        limits: Limits | None = None,
        pace: float = RUNS_A_MINUTE,
        allowance: Allowance | None = None,
        precompile: Precompile | None = None,
        is_eager: bool = False,
        is_present: Callable[[str], bool] = lambda session: True,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.clock = clock
        self._limits, self._pace = limits or Limits(), pace
        self._allowance, self._is_eager, self._is_present = allowance, is_eager, is_present
        self._pool = precompile
        self._changed = threading.Condition()
        self._waiting: list[Run] = []
        self._active: list[Run] = []
        self._runs: dict[Ticket, Run] = {}
        self._ends: LRUCache[Ticket, Final] = LRUCache(RESULTS)
        self._answers: LRUCache[Job, tuple[Result, float]] = LRUCache(RESULTS)
        # Seconds of GPU that a session had, and until when: they fade.
        self._served: LRUCache[str, tuple[float, float]] = LRUCache(_SESSIONS)
        # Time at which a session may again ask for as many jobs at once as its pace allows.
        self._full_at: LRUCache[str, float] = LRUCache(_SESSIONS)
        self._durations: dict[tuple[str, bool, int | str], float] = {}
        self._absent: dict[str, float] = {}
        self._looked = clock()
        self._free = 0
        self.is_closed = False
        self._supervisors: list[Supervisor] = []
        for launch in launchers:
            self.add(launch)

    def add(self, launch: Launch) -> Supervisor:
        supervisor = Supervisor(self, launch, self._limits, is_eager=self._is_eager)
        with self._changed:
            self._supervisors.append(supervisor)
        supervisor.start()
        return supervisor

    def submit(self, job: Job, session: str, *, again: bool = False) -> Ticket:
        """Queue a job for a session; a job that this session waits for already gives the same ticket.

        An answered job has its answer at once, unless it is to be measured `again`. A job too large, or one
        too many, is refused: the ticket says why.
        """
        with self._changed:
            run = next((run for run in self._active + self._waiting if run.job == job and run.claims), None)
            own = [ticket for ticket, owner in run.claims.items() if owner == session] if run else []
            if own:
                self._withdraw_waiting(session, keep=run)
                return own[0]
            ticket = Ticket(next(_NUMBERS), job)
            end = self._end_at_once(job, session, again)
            if end is not None:
                self._ends[ticket] = end
                return ticket
            waiting_since = self._withdraw_waiting(session, keep=run)
            if run is None:
                run = Run(ticket.number, job, self.clock() if waiting_since is None else waiting_since)
                self._waiting.append(run)
                self._compile(run)
                self._changed.notify_all()
            run.claims[ticket] = session
            self._runs[ticket] = run
            return ticket

    def state(self, ticket: Ticket) -> State:
        with self._changed:
            self._give_up_absent()
            run = self._runs.get(ticket)
            return self._ends.get(ticket, FORGOTTEN) if run is None else self._state_of(run)

    def everyone(self) -> tuple[InLine, ...]:
        with self._changed:
            runs = [run for run in self._active if run.claims] + self._in_order()
            return tuple(InLine(run.job, self._state_of(run), tuple(run.claims.values())) for run in runs)

    def stop(self, ticket: Ticket) -> None:
        """Give a ticket up. Its job leaves the queue, or its run ends if nobody else wants it."""
        with self._changed:
            self._give_up(ticket, STOPPED)

    def close(self) -> None:
        with self._changed:
            self.is_closed = True
            for ticket in list(self._runs):
                self._give_up(ticket, CLOSED)
            self._changed.notify_all()
            supervisors, pool = list(self._supervisors), self._pool
        if pool is not None:
            pool.stop()
        for supervisor in supervisors:
            supervisor.join(2 * self._limits.stop_s)

    # The supervisors' side.

    def remove(self, supervisor: Supervisor) -> None:
        with self._changed:
            self._supervisors.remove(supervisor)

    def compile_for(self, device: Device) -> None:
        if self._pool is not None:
            self._pool.compile_for(device)

    def take(self, *, not_before: float, idle: Callable[[], None] = lambda: None) -> Run | None:
        """Wait for the next run and own it; None when the queue is closed. `idle` is called now and then."""
        with self._changed:
            while not self.is_closed:
                self._give_up_absent()
                rest_s = not_before - self.clock()
                if rest_s > 0:
                    self._changed.wait(rest_s)
                    continue
                if (run := self._next()) is not None:
                    return self._begin(run)
                idle()
                self._free += 1
                self._changed.wait(_LOOK_EVERY_S)
                self._free -= 1
            return None

    def coming(self) -> tuple[Job, ...]:
        with self._changed:
            return tuple(run.job for run in self._in_order() if not run.is_careful)[:_COMING]

    def is_wanted(self, run: Run) -> bool:
        with self._changed:
            self._give_up_absent()
            return bool(run.claims)

    def must_give_way(self, run: Run) -> bool:
        """True if a run is to stop for now: more runs wait for a first answer than workers are free.

        Careful work stops at once, a job with a part to go on from after its slot.
        """
        with self._changed:
            if not run.is_leaving and self._waiting:
                first_answers = sum(not other.is_careful for other in self._in_order())
                leaving = sum(other.is_leaving for other in self._active)
                is_needed = first_answers > self._free + leaving
                has_part = run.kind.partial is Partial.PART and run.so_far is not None
                is_long = has_part and self.clock() - run.stage_began > SLOT_S
                run.is_leaving = is_needed and (run.is_careful or is_long)
            return run.is_leaving

    def report(self, run: Run, fraction: float, note: str, partial: Result | None = None) -> None:
        with self._changed:
            if run.progress is None:
                run.stage_began = self.clock()
            if partial is not None and not run.is_careful:
                if run.kind.partial is Partial.ANSWER:
                    self._end_stage(run)
                    run.stage_began = self.clock()
                run.so_far, run.code = partial, run.planned
            run.progress = (fraction, note)

    def put_back(self, run: Run) -> None:
        with self._changed:
            self._active.remove(run)
            run.progress = None
            if run.claims:
                self._waiting.append(run)
            self._changed.notify_all()

    def give_way(self, run: Run) -> None:
        """Return a run that stopped for others, to go on later."""
        with self._changed:
            self._charge(run)
            run.takes = 0
            run.waiting_since = self.clock()
            self.put_back(run)

    def finish(self, run: Run, end: Final) -> None:
        with self._changed:
            if isinstance(end, Done):
                self._end_stage(run)
                if run.kind.is_reusable:
                    self._answers[run.job] = end.row, self.clock()
            else:
                end = replace(end, partial=run.so_far)
                self._charge(run)
            self._active.remove(run)
            for ticket in run.claims:
                self._runs.pop(ticket, None)
                self._ends[ticket] = end
            run.claims.clear()

    # The rest is called with the lock held.

    def _state_of(self, run: Run) -> State:
        if run in self._waiting:
            return self._wait_of(run)
        elapsed_s = self.clock() - run.since
        if run.progress is None:
            return Starting(elapsed_s)
        fraction, note = run.progress
        return Running(fraction=fraction, note=note, elapsed_s=elapsed_s, partial=run.so_far)

    def _wait_of(self, run: Run) -> Waiting:
        now, line = self.clock(), self._in_order()
        before = line[: line.index(run)] if run in line else line
        busy = [other for other in self._active if run.is_careful or not other.is_careful]
        left_s = sum(max(0.0, self._stage_s(other) - (now - other.stage_began)) for other in busy)
        ahead_s = (left_s + sum(map(self._stage_s, before))) / max(1, len(self._supervisors))
        compiling_s = run.code.elapsed_s() if run.code is not None and run.is_compiling else None
        return Waiting(len(busy) + len(before), ahead_s + self._stage_s(run), run.so_far, compiling_s)

    def _end_at_once(self, job: Job, session: str, again: bool) -> Final | None:
        if self.is_closed:
            return CLOSED
        if self._allowance is not None and (reason := self._allowance.refusal(job)) is not None:
            return Failed(reason)
        answer = None if again else self._answers.get(job)
        if answer is not None:
            row, then = answer
            return Done(row, age_s=self.clock() - then)
        if len(self._waiting) >= MOST_WAITING:
            return Failed(f"{MOST_WAITING} runs wait already, the most that may: run it again later.")
        wait_s = self._pace_s(session)
        return wait_s and Failed(
            f"You asked for more than {self._pace:g} runs in {_MINUTE_S:g} s, and others wait too: "
            f"run it again in {max(1, round(wait_s))} s."
        )

    def _pace_s(self, session: str) -> float | None:
        """Count a job of a session, by a bucket that fills at the allowed pace. For one too many, return the
        seconds until the next one may come.
        """
        now, each_s = self.clock(), _MINUTE_S / self._pace
        full_at = max(self._full_at.get(session, now), now) + each_s
        wait_s = full_at - now - _MINUTE_S
        if wait_s > 1e-9:
            return wait_s
        self._full_at[session] = full_at
        return None

    def _compile(self, run: Run) -> None:
        if self._pool is None:
            return
        if codes := codes_of(run.job):
            simple, planned = codes
            if not self._pool.has_begun(*planned):
                run.code = self._pool.submit(*simple, rank=Rank.FIRST)
                run.code.add_done_callback(lambda _: self._notify())
            run.planned = self._pool.submit(*planned, rank=Rank.CAREFUL)
            run.planned.add_done_callback(lambda _: self._notify())
            run.code = run.code or run.planned
        for code in codes_beside(run.job):
            self._pool.submit(*code, rank=Rank.FIRST)

    def _notify(self) -> None:
        with self._changed:
            self._changed.notify_all()

    def _in_order(self) -> list[Run]:
        here = [run for run in self._waiting if any(who not in self._absent for who in run.claims.values())]
        now = self.clock()
        return sorted(here, key=lambda run: self._priority(run, now))

    def _priority(self, run: Run, now: float) -> tuple[bool, bool, float, int]:
        """Sort key: runs lost before they began, first answers, the least debt."""
        served_s = min((self._served_s(who, now) for who in run.claims.values()), default=0.0)
        debt_s = served_s + self._stage_s(run) - (now - run.waiting_since)
        return run.takes == 0, run.is_careful, debt_s, run.number

    def _next(self) -> Run | None:
        """The next run whose code is compiled. A careful one also waits while a first answer's code is
        compiled.
        """
        line = self._in_order()
        is_compiling = any(run.is_compiling for run in line)
        return next((run for run in line if not (is_compiling if run.is_careful else run.is_compiling)), None)

    def _begin(self, run: Run) -> Run:
        """Give a run to a worker. Its number is new: messages about an earlier turn do not count."""
        self._waiting.remove(run)
        if run.planned is not None and self._pool is not None and self._pool.knows_device:
            run.simple_first = run.code is not run.planned and not run.planned.done()
        if run.code is not None:
            run.code.cancel()  # The worker compiles it.
        run.number = next(_NUMBERS)
        run.since = run.stage_began = self.clock()
        run.takes += 1
        run.is_leaving = False
        self._active.append(run)
        return run

    def _end_stage(self, run: Run) -> None:
        """Note a stage's duration, and charge it."""
        seconds = self.clock() - run.stage_began
        mean = self._durations.get(run.stage, seconds)
        self._durations[run.stage] = mean + _NEWEST_WEIGHT * (seconds - mean)
        self._charge(run)

    def _stage_s(self, run: Run) -> float:
        cost = run.kind.cost(run.job)
        return self._durations.get(run.stage, cost.careful_s if run.is_careful else cost.first_s)

    def _charge(self, run: Run) -> None:
        """Charge its sessions for a stage's time, but for careful work: nobody else wants its time."""
        now, sessions = self.clock(), set() if run.is_careful else set(run.claims.values())
        for session in sessions:
            seconds = (now - run.stage_began) / len(sessions)
            self._served[session] = self._served_s(session, now) + seconds, now

    def _served_s(self, session: str, now: float) -> float:
        seconds, then = self._served.get(session, (0.0, now))
        return seconds * 0.5 ** ((now - then) / _HALF_LIFE_S)

    def _give_up_absent(self) -> None:
        now = self.clock()
        if now - self._looked < _LOOK_EVERY_S:
            return
        self._looked = now
        claiming = {run.claims[ticket] for ticket, run in self._runs.items()}
        absent = {who for who in claiming if not self._is_present(who)}
        self._absent = {who: self._absent.get(who, now) for who in absent}
        leavers = {who for who, since in self._absent.items() if now - since >= ABSENT_S}
        for ticket in [ticket for ticket, run in self._runs.items() if run.claims[ticket] in leavers]:
            self._give_up(ticket, GONE)

    def _withdraw_waiting(self, session: str, *, keep: Run | None) -> float | None:
        """Give up the session's waiting ticket, except on `keep`. Returns `waiting_since` of its run, for the
        next one, if no other session shares it.
        """
        waiting_since = None
        for run in [run for run in self._waiting if run is not keep]:
            mine = [ticket for ticket, owner in run.claims.items() if owner == session]
            if mine and len(mine) == len(run.claims) and not run.is_careful:
                waiting_since = run.waiting_since
            for ticket in mine:
                self._give_up(ticket, REPLACED)
        return waiting_since

    def _give_up(self, ticket: Ticket, end: Stopped) -> None:
        run = self._runs.pop(ticket, None)
        if run is None:
            return
        del run.claims[ticket]
        self._ends[ticket] = replace(end, partial=run.so_far)
        if not run.claims and run in self._waiting:
            self._waiting.remove(run)
