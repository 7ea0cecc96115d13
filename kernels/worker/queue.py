"""The queue that pages use: jobs in, tickets out, workers behind it."""

import time
from collections.abc import Callable, Sequence

from kernels.worker.jobs import Job
from kernels.worker.ledger import Ledger
from kernels.worker.states import State, Ticket
from kernels.worker.supervisor import Launch, Limits, Supervisor

RESULTS_KEPT = 512


class WorkerQueue:
    """One worker a launcher, all fed from one queue. A worker starts when its first job comes.

    Thread-safe. A worker ends with the process that made the queue.
    """

    def __init__(
        self,
        launchers: Sequence[Launch],
        *,
        limits: Limits | None = None,
        results_kept: int = RESULTS_KEPT,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._limits = limits or Limits()
        self._ledger = Ledger(results_kept=results_kept, clock=clock)
        self._supervisors = [Supervisor(self._ledger, launch, self._limits) for launch in launchers]
        for supervisor in self._supervisors:
            supervisor.start()

    def submit(self, job: Job, session: str) -> Ticket:
        """Queue a job for a session. It shares an equal job that waits or runs.

        It replaces the session's own waiting job.
        """
        return self._ledger.submit(job, session)

    def state(self, ticket: Ticket) -> State:
        """The state of a ticket so far."""
        return self._ledger.state(ticket)

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
