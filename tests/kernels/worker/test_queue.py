"""The queue: positions, stops, equal jobs and sessions that ask again."""

import time
from dataclasses import replace

import pytest

from kernels.bench.cost import Allowance
from kernels.bench.job import GemmJob
from kernels.bench.ready.job import ReadyJob
from kernels.check.job import CheckJob
from kernels.worker.ledger import REPLACED, STOPPED
from kernels.worker.process import WorkerProcess
from kernels.worker.states import Done, Failed, Running, Stopped, Waiting
from tests.kernels.worker.conftest import LIMITS, PATIENCE_S, is_running
from tests.kernels.worker.gates import Gate
from tests.kernels.worker.stand_in import Act, job


def test_positions_count_the_running_job_and_go_down(bench):
    b = bench()
    tickets = [b.queue.submit(job(Act.POLL_STOPPED, m=m), f"session {m}") for m in range(1, 5)]
    b.wait(tickets[0], is_running)
    assert [b.queue.state(ticket) for ticket in tickets[1:]] == [Waiting(1), Waiting(2), Waiting(3)]
    b.queue.stop(tickets[0])
    b.wait(tickets[1], is_running)
    assert [b.queue.state(ticket) for ticket in tickets[2:]] == [Waiting(1), Waiting(2)]


def test_stop_in_the_queue_takes_the_job_out(bench):
    b = bench(closed=[Gate.JOB])
    first, second, third = (b.queue.submit(job(Act.HELD, m=m), f"session {m}") for m in (1, 2, 3))
    b.wait(first, is_running)
    b.queue.stop(second)
    assert b.queue.state(second) == STOPPED
    assert b.queue.state(third) == Waiting(1)
    b.gates.open(Gate.JOB)
    assert isinstance(b.wait(third), Done)


def test_stop_while_running_ends_the_job_and_keeps_the_worker(bench):
    b = bench()
    ticket = b.queue.submit(job(Act.POLL_STOPPED), "s")
    b.wait(ticket, is_running)
    b.queue.stop(ticket)
    assert b.queue.state(ticket) == STOPPED
    assert isinstance(b.wait(b.queue.submit(job(Act.FINE), "s")), Done)
    assert len(b.started) == 1


def test_a_job_that_does_not_stop_is_killed_after_the_grace_time(bench):
    b = bench(limits=replace(LIMITS, stop_s=0.3))
    ticket = b.queue.submit(job(Act.HANG), "s")
    b.wait(ticket, is_running)
    b.queue.stop(ticket)
    assert isinstance(b.wait(b.queue.submit(job(Act.FINE), "s")), Done)
    assert len(b.started) == 2
    assert not b.started[0].is_alive


def test_equal_jobs_run_once_for_all_who_asked(bench):
    b = bench(closed=[Gate.JOB])
    b.wait(b.queue.submit(job(Act.HELD, m=1), "first"), is_running)
    tickets = [b.queue.submit(job(Act.FINE, m=2), f"session {n}") for n in range(5)]
    assert {b.queue.state(ticket) for ticket in tickets} == {Waiting(1)}
    b.queue.stop(tickets[0])
    b.gates.open(Gate.JOB)
    rows = [b.wait(ticket).row for ticket in tickets[1:]]
    assert all(row is rows[0] for row in rows)
    assert b.queue.state(tickets[0]) == STOPPED


def test_a_newer_job_of_a_session_takes_the_place_of_its_waiting_one(bench):
    b = bench(closed=[Gate.JOB])
    b.wait(b.queue.submit(job(Act.HELD, m=1), "first"), is_running)
    old = b.queue.submit(job(Act.FINE, m=2), "second")
    other = b.queue.submit(job(Act.FINE, m=3), "third")
    new = b.queue.submit(job(Act.FINE, m=4), "second")
    assert b.queue.state(old) == REPLACED
    assert b.queue.state(new) == Waiting(1)
    assert b.queue.state(other) == Waiting(2)
    b.gates.open(Gate.JOB)
    assert all(isinstance(b.wait(ticket), Done) for ticket in (new, other))


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


def running_with_a_partial(bench, session: str = "s"):
    ticket = bench.queue.submit(CheckJob(), session)
    state = bench.wait(ticket, lambda state: isinstance(state, Running) and state.partial is not None)
    return ticket, state.partial


def test_a_check_that_is_stopped_keeps_its_report_so_far(bench):
    b = bench(closed=[Gate.CHECK])
    ticket, partial = running_with_a_partial(b)
    b.queue.stop(ticket)
    ended = b.queue.state(ticket)
    assert isinstance(ended, Stopped)
    assert len(ended.partial.lines) >= len(partial.lines)
    assert not ended.partial.finished
