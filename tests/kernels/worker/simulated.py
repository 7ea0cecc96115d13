"""A class in virtual time: workers that take what the ledger gives them, and readers who press Run."""

import heapq
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from itertools import count

from fp8core.linear import MATMULS
from fp8core.recipes import RECIPES
from kernels.bench.cost import gemm_cost
from kernels.bench.job import GemmJob
from kernels.worker.jobs import Job
from kernels.worker.ledger import STOPPED, Ledger
from kernels.worker.line import Run
from kernels.worker.states import Done, Ticket
from pages.kit.gemm.presets import PRESETS
from tests.kernels.worker.stand_in import row

LOOK_S = 0.2
"""A worker looks so often if it must give way."""
SPARE = GemmJob(recipe="mxfp8", matmul="fprop", m=1, n=1, k=1)


@dataclass
class Clock:
    now: float = 100.0

    def __call__(self) -> float:
        return self.now


@dataclass
class Classroom:
    """Workers on a ledger. `first` and `careful` are the seconds from asking to each answer, by ticket."""

    workers: int
    seed: int
    clock: Clock = field(default_factory=Clock)
    asked: dict[Ticket, float] = field(default_factory=dict)
    first: dict[Ticket, float] = field(default_factory=dict)
    careful: dict[Ticket, float] = field(default_factory=dict)
    begun: list[tuple[bool, int]] = field(default_factory=list)
    """Of each run that was taken: was it for a careful answer, and how many others waited for a first one."""

    def __post_init__(self) -> None:
        self.ledger = Ledger(clock=self.clock)
        self._rng = random.Random(self.seed)
        self._events: list[tuple[float, int, Callable[[], object]]] = []
        self._numbers = count()
        self._idle: list[int] = []
        for _ in range(self.workers):
            self.ledger.come(workers=1)
            self._idle.append(0)

    def at(self, then: float, act: Callable[[], object]) -> None:
        heapq.heappush(self._events, (then, next(self._numbers), act))

    def press(self, job: Job, session: str) -> Ticket:
        """A reader presses Run now."""
        ticket = self.ledger.submit(job, session)
        self.asked[ticket] = self.clock.now
        self._wake()
        return ticket

    def run(self, until: float) -> None:
        """Let the time pass."""
        self._wake()
        while self._events and self._events[0][0] <= until:
            self.clock.now, _, act = heapq.heappop(self._events)
            act()
        self.clock.now = until

    def _wake(self) -> None:
        while self._idle:
            run = self.ledger.take(not_before=0.0, spare=lambda: SPARE)
            if run.is_spare:  # nobody waits
                self.ledger.finish(run, STOPPED)
                return
            self._idle.pop()
            waiting = sum(not other.is_careful for other in self.ledger._line.waiting)
            self.begun.append((run.is_careful, waiting))
            self._go_on(self._steps(run))

    def _go_on(self, steps: Iterator[float]) -> None:
        wait_s = next(steps, None)
        if wait_s is None:
            self._idle.append(0)
            self._wake()
        else:
            self.at(self.clock.now + wait_s, lambda: self._go_on(steps))

    def _steps(self, run: Run) -> Iterator[float]:
        """The seconds that a worker is busy with a run, piece by piece."""
        cost, claims = gemm_cost(run.job), list(run.claims)
        self.ledger.report(run, 0.0, "starting")
        if run.so_far is None:
            yield cost.first_s * self._rng.uniform(0.5, 1.2)
            self.ledger.report(run, 0.5, "with care", replace(row(run.job), is_first=True))
            self._note(run, self.first)
        left = cost.careful_s
        while left > 0:
            yield min(left, LOOK_S)
            left -= LOOK_S
            if self.ledger.must_give_way(run):
                self.ledger.give_way(run)
                return
        self._note(run, self.careful)
        for ticket in claims:
            assert ticket.job == run.job
        self.ledger.finish(run, Done(row(run.job)))

    def _note(self, run: Run, times: dict[Ticket, float]) -> None:
        for ticket in run.claims:
            times.setdefault(ticket, self.clock.now - self.asked[ticket])


ODD = ((1000, 3000, 5000), (4097, 4096, 4096), (777, 8192, 2048), (64, 14336, 4096), (5120, 5120, 5120))


def jobs(count: int, seed: int) -> list[GemmJob]:
    """Jobs as a class would ask for them: mostly what the buttons offer, some of odd shapes or seeds."""
    rng = random.Random(seed)
    found = []
    for _ in range(count):
        matmul = MATMULS[rng.choice([*MATMULS])]
        shape = rng.choice(PRESETS).mnk(matmul)
        if rng.random() < 0.3:
            mnk = rng.choice([*ODD, tuple(rng.randint(1, 6000) for _ in "mnk")])
            shape = dict(zip("mnk", mnk, strict=True))
        number = 0 if rng.random() < 0.7 else rng.randint(1, 99)
        found.append(GemmJob(recipe=rng.choice([*RECIPES]), matmul=matmul.name, seed=number, **shape))
    return found
