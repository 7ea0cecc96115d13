"""The queue: positions, stops, equal jobs and sessions that ask again."""

from dataclasses import replace
from threading import Thread

from kernels.worker.ledger import REPLACED, STOPPED
from kernels.worker.states import Done, Waiting
from tests.kernels.worker.conftest import LIMITS, is_running
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


def test_thirty_sessions_at_once_all_get_their_own_row(bench):
    b = bench(workers=2)
    tickets = {}

    def session(number: int) -> None:
        tickets[number] = b.queue.submit(job(Act.FINE, m=number), f"session {number}")

    threads = [Thread(target=session, args=(number,)) for number in range(30)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [b.wait(tickets[number]).row.job.m for number in range(30)] == list(range(30))
    assert len(b.started) == 2
