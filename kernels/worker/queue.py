"""The queue that pages use: jobs in, tickets out, workers behind it."""

import time
from collections.abc import Callable, Sequence

from kernels.bench.cost import Allowance
from kernels.worker.ahead import code_of
from kernels.worker.jobs import Job, kind_of
from kernels.worker.ledger import Ledger
from kernels.worker.preparer import Preparer
from kernels.worker.rate import Pace
from kernels.worker.results import Room
from kernels.worker.states import InLine, State, Ticket
from kernels.worker.supervisor import Launch, Limits, Supervisor

_PLACES = 4
_COMPILE_S = 2.0
"""What compiling the kernels of a GEMM takes, roughly."""


class WorkerQueue:
    """One worker a launcher, all fed from one line.

    A worker starts when its first job comes. With `spare` jobs it starts at once, and does these while nobody
    waits. `allowance` says which jobs are too large for one session, `pace` how many a session may ask for,
    `room` how many results are kept. `is_present` says if a session is still there.

    Thread-safe. A worker ends with the process that made the queue.
    """

    def __init__(
        self,
        launchers: Sequence[Launch],
        *,
        limits: Limits | None = None,
        room: Room | None = None,
        pace: Pace | None = None,
        allowance: Allowance | None = None,
        spare: Sequence[Job] = (),
        helpers: Sequence[Launch] = (),
        is_present: Callable[[str], bool] = lambda session: True,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._limits = limits or Limits()
        self._allowance = allowance
        self._ledger = Ledger(
            room=room,
            pace=pace,
            to_prepare=_longest_first(spare) if helpers else (),
            compile_s=_COMPILE_S if spare or helpers else 0.0,
            is_present=is_present,
            clock=clock,
        )
        self._preparers = [Preparer(self._ledger, launch) for launch in helpers]
        for preparer in self._preparers:
            preparer.start()

        self._supervisors: list[Supervisor] = []
        self._spare = tuple(spare)
        self._added = 0
        for launch in launchers:
            self.add(launch)

    def add(self, launch: Launch) -> Supervisor:
        """Feed one more worker from now on. Its supervisor retires where the worker's host is lost."""
        # Each worker begins at another place, so that what it compiles serves the others from the disk.
        own = [job for job in self._spare if code_of(job) is None]
        shared = [job for job in self._spare if code_of(job) is not None]
        start = len(shared) * (self._added % _PLACES) // _PLACES
        spare = (*own, *shared[start:], *shared[:start])
        self._added += 1
        supervisor = Supervisor(self._ledger, launch, self._limits, spare)
        self._supervisors = [one for one in self._supervisors if not one.is_retired] + [supervisor]
        supervisor.start()
        return supervisor

    def submit(self, job: Job, session: str, *, again: bool = False) -> Ticket:
        """Queue a job for a session. It replaces the session's own waiting job.

        It shares the result of an equal job that waits or runs. Where an equal job was answered before, it
        gets that answer at once, unless it is to be measured `again`. One that is too large is refused.
        """
        reason = self._allowance.refusal(job) if self._allowance is not None else None
        if reason is not None:
            return self._ledger.refuse(job, session, reason)
        return self._ledger.submit(job, session, again=again)

    def state(self, ticket: Ticket) -> State:
        """The state of a ticket so far."""
        return self._ledger.state(ticket)

    def everyone(self) -> tuple[InLine, ...]:
        """All jobs under way, then those that wait, the next one first."""
        return self._ledger.everyone()

    def stop(self, ticket: Ticket) -> None:
        """Give a ticket up. Its job leaves the queue, or its run ends if nobody else wants it."""
        self._ledger.stop(ticket)

    @property
    def devices(self) -> tuple[str, ...]:
        """The devices that the workers named once they had loaded."""
        return tuple(supervisor.device for supervisor in self._supervisors if supervisor.device is not None)

    def close(self) -> None:
        """Give every ticket up and end the workers."""
        self._ledger.close()
        for supervisor in self._supervisors:
            supervisor.join(2 * self._limits.stop_s)
        for preparer in self._preparers:
            preparer.join(self._limits.stop_s)


def _longest_first(spare: Sequence[Job]) -> list[Job]:
    """The jobs whose code helpers compile. A worker does not begin one that a helper has in hand."""
    return sorted(
        (job for job in spare if code_of(job) is not None), key=lambda job: -kind_of(job).cost(job).first_s
    )
