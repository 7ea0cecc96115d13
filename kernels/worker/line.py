"""The line: the runs that wait and those that are under way, in the order of kernels.worker.order.

The ledger owns it and its lock; nothing here is thread-safe by itself.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from kernels.worker.ahead import Ahead, Code, code_of, codes_beside
from kernels.worker.durations import Durations, Stage
from kernels.worker.jobs import Job, Partial, Result, kind_of
from kernels.worker.order import SLOT_S, Place, Served
from kernels.worker.states import Ticket, Waiting

_RESTARTS = 2
"""Times that a job gives way which then starts from the beginning."""


@dataclass(eq=False)
class Run:
    """One job that waits or runs. `claims` is the tickets that want its result, with their sessions.

    `asked` is since when it waits, `since` when a worker took it, `takes` how often one did that never began
    it. `stage_began`: when its stage began, that of its first answer or of its careful one. `gave_way`: how
    often it did. `vanished` counts the hosts that were lost in the middle of it.
    A spare run is nobody's: it makes later ones faster. `is_preparing`: a helper compiles its code, and the
    run waits for it since `prepared_from`. `beside`: code that helpers compile, for which it does not wait.
    """

    number: int
    job: Job
    asked: float
    claims: dict[Ticket, str] = field(default_factory=dict)
    progress: tuple[float, str] | None = None
    so_far: Result | None = None
    since: float = 0.0
    stage_began: float = 0.0
    takes: int = 0
    vanished: int = 0
    gave_way: int = 0
    is_leaving: bool = False
    is_spare: bool = False
    is_preparing: bool = False
    prepared_from: float = 0.0
    is_compiled: bool = False

    def __post_init__(self) -> None:
        self.code = code_of(self.job)
        self.beside = codes_beside(self.job)
        self.partial = kind_of(self.job).partial
        self._stages = Stage.both(self.job)

    @property
    def is_careful(self) -> bool:
        """True once its readers have a first answer."""
        return self.so_far is not None and self.partial is Partial.ANSWER

    @property
    def stage(self) -> Stage:
        """What the run has to do next."""
        return self._stages[self.is_careful]


class Line:
    """Knows who waits, who has a worker, how long it takes. Runs of sessions in `absent` are not taken."""

    def __init__(self, clock: Callable[[], float], offered: Iterable[Job] = ()) -> None:
        self.ahead = Ahead(offered)
        self.workers = 0
        self.compile_s = 0.0
        """Seconds that code costs which is not compiled yet; 0 where nothing is compiled."""
        self.waiting: list[Run] = []
        self.active: list[Run] = []
        self.absent: dict[str, float] = {}
        self._clock = clock
        self._served = Served()
        self._durations = Durations()

    def runs(self) -> list[Run]:
        """All runs."""
        return self.active + self.waiting

    def add(self, run: Run) -> None:
        """Let a run wait."""
        run.is_compiled = run.code is None or self.ahead.is_compiled(run.code)
        self.waiting.append(run)

    def in_order(self) -> list[Run]:
        """The waiting runs of sessions that are there, the next one first."""
        now = self._clock()
        here = [run for run in self.waiting if any(who not in self.absent for who in run.claims.values())]
        return sorted(here, key=lambda run: self._place(run, now).key)

    def next(self) -> Run | None:
        """The run that a worker may take now.

        None for one that a helper prepares, and none that is careful while a first answer is prepared.
        """
        line = self.in_order()
        is_preparing = any(run.is_preparing for run in line)
        return next(
            (run for run in line if not run.is_preparing and not (is_preparing and run.is_careful)), None
        )

    def coming(self, most: int) -> tuple[Job, ...]:
        """The jobs that will probably be taken next: those whose first answers wait."""
        return tuple(run.job for run in self.in_order() if not run.is_careful)[:most]

    def next_to_prepare(self) -> Code | None:
        """The code that a helper should compile now: that of a run, or what is offered while all is quiet."""
        for run in self.in_order():
            if run.code is not None and not run.is_preparing and not run.is_compiled:
                run.is_preparing, run.prepared_from = True, self._clock()
                return run.code
        code = self.ahead.take(part for run in self.runs() if run.claims for part in run.beside)
        if code is None and not self.waiting and all(run.is_spare for run in self.active):
            code = self.ahead.take_offered(run.code for run in self.active)
        return code

    def compiled(self, *codes: Code | None) -> None:
        """Note that code is compiled, or that compiling it was tried."""
        self.ahead.note(code for code in codes if code is not None)
        for run in self.runs():
            if run.code in codes:
                run.is_compiled, run.is_preparing = True, False

    def begin(self, run: Run, number: int) -> Run:
        """Give a run to a worker. Its number is new: a message about an earlier turn is none about this."""
        if run in self.waiting:
            self.waiting.remove(run)
        run.number = number
        run.since = run.stage_began = self._clock()
        run.takes += 1
        run.is_leaving = False
        self.active.append(run)
        return run

    def put_back(self, run: Run) -> None:
        """Return a run from its worker, if anybody wants it."""
        self.active.remove(run)
        run.progress = None
        if run.claims:
            self.waiting.append(run)

    def give_way(self, run: Run) -> None:
        """Return a run that stopped for others. It waits anew."""
        if not run.is_careful:
            self.charge(run)
        run.takes = 0
        run.gave_way += 1
        run.asked = self._clock()
        self.put_back(run)

    def must_give_way(self, run: Run, free: int) -> bool:
        """True if a run is to stop for now: more runs wait for a first answer than workers are free.

        Spare and careful work stops at once, a long job after its slot.
        """
        if not run.is_leaving and self.waiting:
            line = self.in_order()
            asked = line if run.is_spare else [other for other in line if not other.is_careful]
            leaving = sum(other.is_leaving for other in self.active)
            is_asked = len(asked) > free + leaving
            run.is_leaving = is_asked and (run.is_spare or run.is_careful or self._had_its_slot(run))
        return run.is_leaving

    def end_stage(self, run: Run) -> None:
        """Note how long a stage took. Careful work is not charged: it takes time that nobody else wants."""
        compile_s = 0.0 if run.is_compiled else self.compile_s
        self._durations.note(run.stage, max(0.0, self._clock() - run.stage_began - compile_s))
        self.compiled(run.code, *run.beside)
        if not run.is_careful:
            self.charge(run)

    def charge(self, run: Run) -> None:
        """Charge the time of this stage to the sessions that share the run."""
        now, sessions = self._clock(), set(run.claims.values())
        for session in sessions:
            self._served.charge(session, (now - run.stage_began) / len(sessions), now)

    def wait_of(self, run: Run) -> Waiting:
        """How many runs come before one that waits, and when its answer is expected."""
        now, line = self._clock(), self.in_order()
        before = line[: line.index(run)] if run in line else line
        busy = [other for other in self.active if not _gives_way_to(other, run)]
        left_s = sum(max(0.0, self._stage_s(other) - (now - other.stage_began)) for other in busy)
        ahead_s = (left_s + sum(map(self._stage_s, before))) / max(1, self.workers)
        compiling_s = now - run.prepared_from if run.is_preparing else None
        return Waiting(len(busy) + len(before), ahead_s + self._stage_s(run), run.so_far, compiling_s)

    def _place(self, run: Run, now: float) -> Place:
        return Place(
            is_next=run.takes > 0,
            is_careful=run.is_careful,
            served_s=min((self._served.lately(who, now) for who in run.claims.values()), default=0.0),
            cost_s=self._stage_s(run),
            waited_s=now - run.asked,
            number=run.number,
        )

    def _stage_s(self, run: Run) -> float:
        compile_s = 0.0 if run.is_compiled else self.compile_s
        return self._durations.expected_s(run.stage) + compile_s

    def _had_its_slot(self, run: Run) -> bool:
        """True if a long job has had the GPU long enough for now."""
        match run.partial:
            case Partial.PART:
                may_leave = run.so_far is not None
            case Partial.NONE:
                may_leave = run.gave_way < _RESTARTS
            case Partial.ANSWER:  # it would lose all that it did
                may_leave = False
        return may_leave and run.progress is not None and self._clock() - run.stage_began > SLOT_S


def _gives_way_to(run: Run, other: Run) -> bool:
    return run.is_spare or (run.is_careful and not other.is_careful)
