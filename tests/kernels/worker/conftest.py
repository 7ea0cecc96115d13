"""A queue whose workers are the stand-in, with short limits."""

import time
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from kernels.worker.jobs import Done, Failed, Running, State, Stopped, Ticket
from kernels.worker.queue import WorkerQueue
from kernels.worker.worker import Limits, WorkerProcess
from tests.kernels.worker.gates import Gate, Gates
from tests.kernels.worker.stand_in import stand_in_process

PATIENCE_S = 30.0
LIMITS = Limits(start_s=30.0, job_s=60.0, stop_s=10.0, rest_s=0.01, longest_rest_s=0.05, tick_s=0.02)


def is_running(state: State) -> bool:
    return isinstance(state, Running)


@dataclass
class Bench:
    """A queue under test, the workers it has started, and the gates that hold these."""

    queue: WorkerQueue
    started: list[WorkerProcess]
    gates: Gates | None = None

    def wait(self, ticket: Ticket, until: Callable[[State], bool] | None = None) -> State:
        """The state once it is final, or once `until` holds."""
        until = until or (lambda state: isinstance(state, Done | Failed | Stopped))
        deadline = time.monotonic() + PATIENCE_S
        while not until(state := self.queue.state(ticket)):
            assert time.monotonic() < deadline, f"still {state}"
            time.sleep(0.005)
        return state


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Callable[..., Bench]]:
    """bench(*arguments, workers=1, limits=LIMITS, closed=()): a queue of stand-ins started with these
    arguments; gates in `closed` hold them.
    """
    made: list[Bench] = []

    def make(
        *arguments: str,
        workers: int = 1,
        limits: Limits = LIMITS,
        closed: Collection[Gate] = (),
        **more,
    ) -> Bench:
        started: list[WorkerProcess] = []
        gates = Gates(tmp_path / f"gates {len(made)}", closed)

        def launch() -> WorkerProcess:
            process = stand_in_process(*arguments, gates.argument)
            started.append(process)
            return process

        queue = WorkerQueue([launch] * workers, limits=limits, **more)
        made.append(Bench(queue, started, gates))
        return made[-1]

    yield make
    for one in made:
        one.queue.close()
        for process in one.started:
            process.kill()
