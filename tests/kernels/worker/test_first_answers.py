"""Contract: a first answer comes at once to all who wait, and what gives way for it goes on afterwards. The
worker is the stand-in, a process.
"""

import time

import pytest

from kernels.bench.cost import Allowance
from kernels.bench.job import GemmJob
from kernels.bench.ready.job import ReadyJob
from kernels.check.job import CheckJob
from kernels.worker.process import WorkerProcess
from kernels.worker.states import Done, Failed, Waiting
from tests.kernels.worker.conftest import PATIENCE_S, is_running
from tests.kernels.worker.gates import Gate
from tests.kernels.worker.stand_in import Act, job


def test_a_job_that_is_too_large_is_refused_with_what_it_asks_the_limit_and_the_remedy(bench):
    b = bench(allowance=Allowance())
    huge = GemmJob(recipe="mxfp8", matmul="fprop", m=65536, n=65536, k=65536)
    refused = b.queue.state(b.queue.submit(huge, "s"))
    assert isinstance(refused, Failed)
    assert "562,950 GFLOP" in refused.reason
    assert "20,000 GFLOP" in refused.reason
    assert "Make M, N or K smaller, or start the app with a larger FP8_EXPLORER_JOB_GFLOP." in refused.reason
    assert isinstance(b.wait(b.queue.submit(job(Act.FINE), "s")), Done)


def test_spare_jobs_start_the_worker_before_anybody_asks_and_give_way(bench):
    b = bench(spare=[ReadyJob(job(Act.POLL_STOPPED)), ReadyJob(job(Act.FINE))])
    deadline = time.monotonic() + PATIENCE_S
    while not b.queue.devices:
        assert time.monotonic() < deadline
        time.sleep(0.01)
    for m in (1, 2):
        assert isinstance(b.wait(b.queue.submit(job(Act.FINE, m=m), "s")), Done)
    assert len(b.started) == 1


def test_a_check_that_gave_way_goes_on_where_it_was(bench, monkeypatch):
    monkeypatch.setattr("kernels.worker.line.SLOT_S", 0.1)
    b = bench(closed=[Gate.JOB, Gate.CHECK])
    check = b.queue.submit(CheckJob(), "one")
    lines = len(b.wait(check, lambda state: is_running(state) and state.partial is not None).partial.lines)
    other = b.queue.submit(job(Act.HELD), "two")
    b.wait(other, is_running)
    left = b.queue.state(check)
    assert isinstance(left, Waiting)
    assert len(left.partial.lines) >= lines
    b.gates.open(Gate.JOB)
    assert isinstance(b.wait(other), Done)
    b.gates.open(Gate.CHECK)
    assert isinstance(b.wait(check), Done)


READY = """echo '{"say": "ready", "device": "a shell"}'"""


@pytest.mark.parametrize("end", ["exit 3", "sleep 600", "echo hello"])
def test_a_helper_that_is_lost_leaves_its_job_to_the_worker(bench, monkeypatch, end):
    monkeypatch.setattr("kernels.worker.preparer.COMPILE_S", 0.3)
    helpers = [WorkerProcess(["sh", "-c", f"{READY}; read -r line; {end}"])]
    b = bench(helpers=[lambda: helpers[0]])
    busy = b.queue.submit(job(Act.POLL_STOPPED, m=1), "one")
    b.wait(busy, is_running)
    ticket = b.queue.submit(job(Act.FINE, m=2), "two")
    deadline = time.monotonic() + PATIENCE_S
    while helpers[0].is_alive:
        assert time.monotonic() < deadline
        time.sleep(0.01)
    b.queue.stop(busy)
    assert isinstance(b.wait(ticket), Done)
