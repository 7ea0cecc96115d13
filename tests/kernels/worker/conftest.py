"""A queue whose workers are the stand-in, with short limits."""

import time
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from functools import partial
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
def queue_of() -> Iterator[Callable[..., Bench]]:
    """queue_of(*launchers, limits=LIMITS): a queue of their workers. Each makes its n-th worker of n."""
    benches: list[Bench] = []

    def make(*launchers: Callable[[int], WorkerProcess], gates: Gates | None = None, **options) -> Bench:
        started: list[WorkerProcess] = []

        def launch(launcher: Callable[[int], WorkerProcess]) -> WorkerProcess:
            started.append(launcher(len(started)))
            return started[-1]

        queue = WorkerQueue([partial(launch, each) for each in launchers], **{"limits": LIMITS} | options)
        benches.append(Bench(queue, started, gates))
        return benches[-1]

    yield make
    for one in benches:
        one.queue.close()
        for process in one.started:
            process.kill()


@pytest.fixture
def bench(queue_of, tmp_path: Path) -> Callable[..., Bench]:
    """bench(*arguments, closed=(), limits=LIMITS): a queue of a stand-in started with these arguments; gates
    in `closed` hold it.
    """

    def make(*arguments: str, closed: Collection[Gate] = (), **options) -> Bench:
        gates = Gates(tmp_path / "gates", closed)
        return queue_of(lambda _: stand_in_process(*arguments, gates.argument), gates=gates, **options)

    return make
