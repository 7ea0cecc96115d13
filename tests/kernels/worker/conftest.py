"""A queue whose workers are the stand-in, with short limits."""

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import pytest

from kernels.worker.process import WorkerProcess
from kernels.worker.queue import WorkerQueue
from kernels.worker.states import Done, Failed, State, Stopped, Ticket
from kernels.worker.supervisor import Limits
from tests.kernels.worker.stand_in import stand_in_process

PATIENCE_S = 20.0
LIMITS = Limits(start_s=10.0, job_s=60.0, stop_s=0.3, rest_s=0.01, longest_rest_s=0.05, tick_s=0.02)


@dataclass
class Bench:
    """A queue under test and the workers it has started."""

    queue: WorkerQueue
    started: list[WorkerProcess]

    def wait(self, ticket: Ticket, until: Callable[[State], bool] | None = None) -> State:
        """The state once it is final, or once `until` holds."""
        until = until or (lambda state: isinstance(state, Done | Failed | Stopped))
        deadline = time.monotonic() + PATIENCE_S
        while not until(state := self.queue.state(ticket)):
            assert time.monotonic() < deadline, f"still {state}"
            time.sleep(0.005)
        return state


@pytest.fixture
def bench() -> Iterator[Callable[..., Bench]]:
    """bench(*arguments, workers=1, limits=LIMITS): a queue of stand-ins started with these arguments."""
    made: list[Bench] = []

    def make(*arguments: str, workers: int = 1, limits: Limits = LIMITS, results_kept: int = 100) -> Bench:
        started: list[WorkerProcess] = []

        def launch() -> WorkerProcess:
            process = stand_in_process(*arguments)
            started.append(process)
            return process

        queue = WorkerQueue([launch] * workers, limits=limits, results_kept=results_kept)
        made.append(Bench(queue, started))
        return made[-1]

    yield make
    for one in made:
        one.queue.close()
        for process in one.started:
            process.kill()
