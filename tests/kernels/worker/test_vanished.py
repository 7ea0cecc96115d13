"""Contract: a worker that is lost with its host gives its job back once, even from the middle, and takes no
more. That is no fault of the job; of two hosts, a sentence tells.
"""

import pytest

from kernels.worker.cluster.remote import SAYS_HOW, WORKER_ENDED, RemoteWorker
from kernels.worker.messages import Progress, encode
from kernels.worker.process import Ended, Vanished
from kernels.worker.queue import WorkerQueue
from kernels.worker.states import Failed, Running, Waiting
from tests.kernels.worker.conftest import LIMITS, Bench
from tests.kernels.worker.shells import BEGIN, GOOD, READY, TAKE, until
from tests.kernels.worker.stand_in import Act, job, row

FAR = Failed("it came so far")
GONE = "echo 'host b does not answer' >&2; exit 1"
LOST_IN_THE_MIDDLE = f"{READY}; {TAKE}; {BEGIN}; {GONE}"
LOST_BEFORE = f"{READY}; {TAKE}; {GONE}"


@pytest.fixture
def hosts():
    """hosts(*scripts): a queue with a remote worker a script; each supervisor starts its own again."""
    made = []

    def make(*scripts):
        started = []

        def launcher(script):
            def launch():
                started.append(RemoteWorker(["sh", "-c", script]))
                return started[-1]

            return launch

        made.append(Bench(WorkerQueue([launcher(script) for script in scripts], limits=LIMITS), started))
        return made[-1]

    yield make
    for one in made:
        one.queue.close()
        for process in one.started:
            process.kill()


def lost_first(hosts, script):
    """A queue whose first host was lost with a job that waits now, and the ticket of that job."""
    b = hosts(script)
    ticket = b.queue.submit(job(Act.FINE), "s")
    b.wait(ticket, lambda state: b.started and not b.started[0].is_alive and isinstance(state, Waiting))
    return b, ticket


@pytest.mark.parametrize(
    "script", [LOST_BEFORE, LOST_IN_THE_MIDDLE], ids=["before it began", "in the middle"]
)
def test_a_job_of_a_lost_host_goes_to_the_next_one(hosts, script):
    b, ticket = lost_first(hosts, script)
    b.queue.add(lambda: RemoteWorker(["sh", "-c", GOOD]))
    assert b.wait(ticket) == FAR
    assert len(b.started) == 1


def test_a_job_of_a_lost_host_comes_first_and_keeps_nothing_of_what_was_measured_there(hosts, tmp_path):
    of, gate = job(Act.FINE), tmp_path / "gate"
    partial = encode(Progress(0, 0.5, "timing", row(of))).strip().replace('"run": 0', """"run": '$run'""")
    assert "'" not in partial.replace("'$run'", "")
    b = hosts(f"{READY}; {TAKE}; {BEGIN}; echo '{partial}'; {until(gate)}; {GONE}")
    ticket = b.queue.submit(of, "s")
    b.wait(ticket, lambda state: isinstance(state, Running) and state.partial == row(of))
    other = b.queue.submit(job(Act.FINE, m=2), "t")
    gate.touch()
    waiting = b.wait(ticket, lambda state: isinstance(state, Waiting))
    assert (waiting.ahead, waiting.partial, b.queue.state(other).ahead) == (0, None, 1)


def test_a_job_that_loses_two_hosts_ends_with_a_sentence(hosts):
    b, ticket = lost_first(hosts, LOST_IN_THE_MIDDLE)
    b.queue.add(lambda: RemoteWorker(["sh", "-c", LOST_IN_THE_MIDDLE]))
    assert b.wait(ticket) == Failed(
        "Two hosts were lost in the middle of this job. The last worker was lost: host b does not answer."
    )


@pytest.mark.parametrize(
    ("script", "end", "has_vanished"),
    [
        (
            f"echo '{SAYS_HOW}was ended by signal SIGSEGV' >&2; echo more >&2; exit {WORKER_ENDED}",
            Ended("was ended by signal SIGSEGV"),
            False,
        ),
        (GONE, Vanished("was lost: host b does not answer"), True),
        ("exit 0", Vanished("was lost: its relay ended"), True),
    ],
)
def test_the_relay_s_exit_code_tells_the_end_of_the_worker_from_that_of_its_host(script, end, has_vanished):
    worker = RemoteWorker(["sh", "-c", script])
    assert worker.receive(5.0) == end
    worker.kill()
    assert worker.has_vanished == has_vanished
