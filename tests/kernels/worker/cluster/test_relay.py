"""Contract: a worker behind a relay is, for the queue, a worker. Here the relay has it on the same host,
without Ray.
"""

import sys

import pytest

from kernels.worker.cluster.remote import RemoteWorker
from kernels.worker.messages import Began, Do, Ready
from kernels.worker.process import Ended, Garbled, Vanished
from kernels.worker.queue import WorkerQueue
from kernels.worker.states import Done, Failed, Stopped
from tests.kernels.worker.conftest import LIMITS, Bench
from tests.kernels.worker.shells import HANG, READY, is_alive, is_gone
from tests.kernels.worker.stand_in import STAND_IN, Act, job

PROGRAM = """
import sys
from kernels.worker.cluster.hosted import Hosted
from kernels.worker.cluster.relay import HostLost, relay
class Worker(Hosted):
    def hear(self, wait_s):
        report = super().hear(wait_s)
        print(self._process.pid, file=sys.stderr, flush=True)
        if any("lost" in line for line in report.lines):
            self._process.kill()
            raise HostLost("its host does not answer any more")
        return report
relay(Worker(sys.argv[1:]), sys.stdin, sys.stdout, sys.stderr)
"""


@pytest.fixture
def behind():
    """behind(*command): a worker of this command, behind a relay."""
    made = []

    def make(*command):
        made.append(RemoteWorker([sys.executable, "-c", PROGRAM, *command]))
        return made[-1]

    yield make
    for worker in made:
        worker.kill()


def heard(worker):
    """What is heard up to its end."""
    said = []
    while not said or not isinstance(said[-1], Ended | Vanished | Garbled):
        said.append(worker.receive(10.0))
        assert said[-1] is not None, said
    return said


def test_jobs_and_results_pass_both_ways(behind):
    b = Bench(WorkerQueue([lambda: behind(sys.executable, str(STAND_IN))], limits=LIMITS), [])
    assert b.wait(b.queue.submit(job(Act.FINE), "s")).row.job == job(Act.FINE)
    assert b.wait(b.queue.submit(job(Act.REFUSE), "s")) == Failed("the stand-in refuses this job")
    polling = b.queue.submit(job(Act.POLL_STOPPED), "s")
    b.queue.stop(polling)
    assert isinstance(b.wait(polling), Stopped)
    assert isinstance(b.wait(b.queue.submit(job(Act.NOT_A_NUMBER), "s")), Done)
    assert "ended by signal SIGSEGV" in b.wait(b.queue.submit(job(Act.SEGFAULT), "s")).reason
    b.queue.close()


ENDS = {
    "dies": ("echo 'OSError: libcuda' >&2; exit 3", Ended("ended with exit code 3: OSError: libcuda")),
    "is frozen": ("kill -STOP $$", Ended("was frozen by a signal such as SIGSTOP")),
    "is lost with its host": (f"echo lost; {HANG}", Vanished("was lost: its host does not answer any more")),
}


@pytest.mark.parametrize("how", ENDS)
def test_its_end_is_told_as_that_of_a_worker_here(behind, how):
    script, end = ENDS[how]
    assert heard(behind("sh", "-c", f"{READY}; {script}"))[-1] == end


def test_a_worker_ends_with_its_relay(behind):
    worker = behind(sys.executable, str(STAND_IN))
    assert worker.receive(10.0) == Ready("a stand-in")
    worker.send(Do(1, job(Act.HANG)))
    assert worker.receive(10.0) == Began(1)
    far = int(worker.stderr_tail.splitlines()[0])
    assert is_alive(far)
    worker.kill()
    assert not worker.has_vanished
    assert is_gone(far)
