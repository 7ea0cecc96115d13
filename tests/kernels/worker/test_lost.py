"""Contract: a worker that is lost is replaced at once, with a sentence that says how. A job that it never
began goes to the next worker, once.

The workers here are a few lines of shell, which start in no time.
"""

import time
from collections.abc import Callable
from dataclasses import replace
from queue import SimpleQueue

import pytest

from kernels.worker.cluster.hosts import ENDED, HOW, FarWorker
from kernels.worker.jobs import Failed, Ticket, Waiting
from kernels.worker.messages import Began
from kernels.worker.worker import Lost, WorkerProcess
from tests.kernels.worker.conftest import LIMITS, Bench
from tests.kernels.worker.shells import BEGIN, GOOD, HANG, READY, REFUSE, TAKE
from tests.kernels.worker.stand_in import Act, job

FREEZE = "kill -STOP $$"
FAR = Failed("it came so far")
AT_ONCE_S = 15.0
LONG_S = 10 * AT_ONCE_S
"""The limits that no worker here is to wait for."""

NEVER_BEGIN = {
    "dies while it loads": ("echo broken >&2; exit 3", "exit code 3: broken"),
    "dies with the job in hand": (f"{READY}; {TAKE}; exit 3", "exit code 3"),
    "is frozen while it loads": (FREEZE, "was frozen"),
    "is frozen with the job in hand": (f"{READY}; {TAKE}; {FREEZE}", "was frozen"),
    "talks while it loads": (f"echo hello; {HANG}", "no message: 'hello'"),
    "begins another job": (f"{READY}; {TAKE}; run=0; {BEGIN}; {HANG}", "'began' out of turn"),
}
BREAK_OFF = {
    "is frozen": (FREEZE, "was frozen"),
    "dies": ("exit 3", "exit code 3"),
    "dies in the middle of a line": ("""printf '{"say": "fin'; exit 3""", "exit code 3"),
    "nests": ("head -c 200000 /dev/zero | tr '\\0' '['; echo; " + HANG, "no message: '[[["),
    "sends bytes": (f"printf '\\377\\376\\n'; {HANG}", "no message"),
    "sends zeros without end": ("cat /dev/zero", "no message"),
    "sends a message without end": ("""printf '{"say": "'; cat /dev/zero""", "no message"),
    "sends a list": (f"echo '[1]'; {HANG}", "no message: '[1]'"),
    "ends another job": (f"run=0; {REFUSE}; {HANG}", "'refused' out of turn"),
}


@pytest.fixture
def shells(queue_of) -> Callable[..., Bench]:
    """shells(*scripts): a queue whose workers are these in turn, and the last ever after."""
    limits = replace(LIMITS, start_s=LONG_S, begin_s=LONG_S, job_s=LONG_S)

    def make(*scripts: str) -> Bench:
        return queue_of(
            lambda place: WorkerProcess(["sh", "-c", scripts[min(place, len(scripts) - 1)]]), limits=limits
        )

    return make


def ends_at_once(bench: Bench, m: int = 64) -> Failed:
    """The end of a job, which is not one of the long limits."""
    began = time.monotonic()
    end = bench.wait(bench.queue.submit(job(Act.FINE, m), "s"))
    assert time.monotonic() - began < AT_ONCE_S
    return end


@pytest.mark.parametrize(("script", "how"), NEVER_BEGIN.values(), ids=NEVER_BEGIN)
def test_a_job_that_never_began_goes_to_the_next_worker_once(shells, script, how):
    b = shells(script, GOOD)
    assert ends_at_once(b) == FAR
    assert len(b.started) == 2
    b = shells(script)
    reason = ends_at_once(b).reason
    assert reason.startswith("Two workers in a row were lost with this job. The last one ")
    assert how in reason
    assert len(b.started) == 2


@pytest.mark.parametrize(("script", "how"), BREAK_OFF.values(), ids=BREAK_OFF)
def test_a_job_that_began_ends_with_its_worker(shells, script, how):
    b = shells(f"{READY}; {TAKE}; {BEGIN}; {script}", GOOD)
    reason = ends_at_once(b).reason
    assert reason.startswith("The worker ")
    assert how in reason
    assert not b.started[0].is_alive
    assert ends_at_once(b, m=2) == FAR
    assert len(b.started) == 2


def test_workers_that_all_end_in_one_way_are_not_the_job_s_fault(shells):
    b = shells(f"{READY}; {TAKE}; {BEGIN}; echo 'OSError: libcuda.so.1' >&2; exit 1")
    first, second = (ends_at_once(b, m).reason for m in (1, 2))
    assert (
        first == "The worker ended with exit code 1: OSError: libcuda.so.1. The next job gets a fresh worker."
    )
    assert "fresh" not in second
    assert "So did the worker of the job before" in second
    assert "python -m kernels.check" in second


GONE = f"echo '{HOW}host b does not answer' >&2; exit 1"
LOST_IN_THE_MIDDLE = f"{READY}; {TAKE}; {BEGIN}; {GONE}"
LOST_BEFORE = f"{READY}; {TAKE}; {GONE}"


@pytest.fixture
def lost_first(queue_of):
    """lost_first(script): a queue whose first host was lost with a job that waits now, and its ticket."""

    def make(script: str) -> tuple[Bench, Ticket]:
        b = queue_of(lambda _: FarWorker(["sh", "-c", script]))
        ticket = b.queue.submit(job(Act.FINE), "s")
        b.wait(ticket, lambda state: b.started and not b.started[0].is_alive and isinstance(state, Waiting))
        return b, ticket

    return make


@pytest.mark.parametrize(
    "script", [LOST_BEFORE, LOST_IN_THE_MIDDLE], ids=["before it began", "in the middle"]
)
def test_a_job_of_a_lost_host_goes_to_the_next_one(lost_first, script):
    b, ticket = lost_first(script)
    b.queue.add(lambda: FarWorker(["sh", "-c", GOOD]))
    assert b.wait(ticket) == FAR
    assert len(b.started) == 1


def test_a_job_that_loses_two_hosts_ends_with_a_sentence(lost_first):
    b, ticket = lost_first(LOST_IN_THE_MIDDLE)
    b.queue.add(lambda: FarWorker(["sh", "-c", LOST_IN_THE_MIDDLE]))
    reason = "Two workers in a row were lost with this job. The last one was lost: host b does not answer."
    assert b.wait(ticket).reason.startswith(reason)


@pytest.mark.parametrize(
    ("script", "how", "with_host"),
    [
        (
            f"echo '{HOW}was ended by signal SIGSEGV' >&2; echo more >&2; exit {ENDED}",
            "was ended by signal SIGSEGV",
            False,
        ),
        (GONE, "was lost: host b does not answer", True),
        ("exit 3", "ended with exit code 3", False),
    ],
)
def test_the_bridge_s_exit_code_tells_the_end_of_the_worker_from_that_of_its_host(script, how, with_host):
    worker = FarWorker(["sh", "-c", script])
    with pytest.raises(Lost) as lost:
        worker.receive(5.0)
    worker.kill()
    assert (str(lost.value), lost.value.with_host) == (how, with_host)


def test_a_worker_that_froze_is_heard_to_its_last_message(monkeypatch):
    """The thread that reads its pipe may be a moment behind."""
    worker = object.__new__(WorkerProcess)
    worker._inbox = SimpleQueue()
    said = [Began(1)]

    def is_frozen(self: WorkerProcess) -> bool:
        for message in said:
            self._inbox.put(message)
        return True

    monkeypatch.setattr(WorkerProcess, "is_alive", True)
    monkeypatch.setattr(WorkerProcess, "is_frozen", property(is_frozen))
    assert worker.receive(0.0) == Began(1)
    said.clear()
    with pytest.raises(Lost, match="was frozen"):
        worker.receive(0.0)
