"""The queue and its workers: whatever a job does, it ends with a sentence and the others go on."""

import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from threading import Thread

import pytest

from kernels.worker.ledger import FORGOTTEN, REPLACED, STOPPED
from kernels.worker.process import WorkerProcess
from kernels.worker.states import Done, Failed, Running, Starting, Stopped, Waiting
from tests.kernels.worker.conftest import LIMITS
from tests.kernels.worker.stand_in import STAND_IN, TOP, Act, job

CRASHES = {
    Act.KILLED: "was ended by signal SIGKILL (the system does that when memory runs out)",
    Act.SEGFAULT: "was ended by signal SIGSEGV",
    Act.RAISE: "ended with exit code 1: RuntimeError: CUDA error: an illegal memory access was encountered",
    Act.GARBAGE: "said what is no message",
}


def _alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    with open(f"/proc/{pid}/stat") as stat:
        return stat.read().rsplit(")", 1)[1].split()[0] != "Z"


def _gone(pid: int) -> bool:
    deadline = time.monotonic() + 5
    while _alive(pid) and time.monotonic() < deadline:
        time.sleep(0.02)
    return not _alive(pid)


def _is_running(state):
    return isinstance(state, Running)


def test_a_job_goes_through_starting_and_running_to_its_row(bench):
    b = bench()
    ticket = b.queue.submit(job(Act.SLOW), "s")
    assert isinstance(b.queue.state(ticket), Waiting | Starting)
    b.wait(ticket, lambda state: isinstance(state, Starting))
    running = b.wait(ticket, lambda state: _is_running(state) and state.fraction > 0.25)
    assert running.note == "multiplying"
    assert running.fraction < 1
    assert running.elapsed_s > 0
    done = b.wait(ticket)
    assert isinstance(done, Done)
    assert done.row.job == ticket.job
    assert b.queue.devices == ("a stand-in",)


def test_no_worker_is_started_before_there_is_a_job(bench):
    b = bench()
    time.sleep(0.1)
    assert b.started == []


def test_one_worker_does_one_job_after_the_other(bench):
    b = bench()
    rows = [b.wait(b.queue.submit(job(Act.FINE, m=m), "s")).row for m in (1, 2, 3)]
    assert len({row.machine.versions["pid"] for row in rows}) == len(b.started) == 1


@pytest.mark.parametrize("act", CRASHES, ids=lambda act: act.name.lower())
def test_a_crash_ends_its_job_with_a_sentence_and_the_next_job_gets_a_fresh_worker(bench, act):
    b = bench()
    bad, good = b.queue.submit(job(act), "one"), b.queue.submit(job(Act.FINE), "two")
    failed = b.wait(bad)
    assert isinstance(failed, Failed)
    assert CRASHES[act] in failed.reason
    assert "\n" not in failed.reason
    assert isinstance(b.wait(good), Done)
    assert len(b.started) == 2
    assert not b.started[0].is_alive


def test_a_worker_killed_in_the_middle_fails_only_the_job_it_had(bench):
    b = bench()
    bad, good = b.queue.submit(job(Act.HANG), "one"), b.queue.submit(job(Act.FINE), "two")
    b.wait(bad, _is_running)
    os.kill(b.started[0].pid, signal.SIGTERM)
    assert "signal SIGTERM" in b.wait(bad).reason
    assert isinstance(b.wait(good), Done)


def test_a_worker_that_died_between_jobs_fails_nobody(bench):
    b = bench()
    b.wait(b.queue.submit(job(Act.FINE), "s"))
    b.started[0].kill()
    assert isinstance(b.wait(b.queue.submit(job(Act.FINE, m=2), "s")), Done)


def test_out_of_memory_names_the_shape_and_keeps_the_worker(bench):
    b = bench()
    failed = b.wait(b.queue.submit(job(Act.OUT_OF_MEMORY), "s"))
    assert "64 × 64 × 64" in failed.reason
    assert "smaller" in failed.reason
    assert isinstance(b.wait(b.queue.submit(job(Act.FINE), "s")), Done)
    assert len(b.started) == 1


def test_a_refused_job_says_why_and_keeps_the_worker(bench):
    b = bench()
    assert b.wait(b.queue.submit(job(Act.REFUSE), "s")) == Failed("the stand-in refuses this job")
    assert isinstance(b.wait(b.queue.submit(job(Act.FINE), "s")), Done)
    assert len(b.started) == 1


def test_a_hang_is_ended_at_the_time_limit(bench):
    b = bench(limits=replace(LIMITS, job_s=0.3))
    bad = b.queue.submit(job(Act.HANG), "one")
    assert "0.3 s" in b.wait(bad).reason
    assert isinstance(b.wait(b.queue.submit(job(Act.FINE), "two")), Done)
    assert not b.started[0].is_alive


def test_a_worker_that_does_not_load_fails_the_job_at_the_start_limit(bench):
    b = bench("sleep", limits=replace(LIMITS, start_s=0.2))
    assert "did not load within 0.2 s" in b.wait(b.queue.submit(job(Act.FINE), "s")).reason


def test_a_worker_that_dies_while_loading_says_what_it_said(bench):
    b = bench("die")
    reason = b.wait(b.queue.submit(job(Act.FINE), "s")).reason
    assert "exit code 1: no such library" in reason
    assert "could not begin" in reason


def test_a_crash_loop_rests_longer_each_time(bench):
    b = bench("die", limits=replace(LIMITS, rest_s=0.4, longest_rest_s=0.8))
    tickets = [b.queue.submit(job(Act.FINE, m=m), f"session {m}") for m in (1, 2)]
    began = time.monotonic()
    assert all(isinstance(b.wait(ticket), Failed) for ticket in tickets)
    assert time.monotonic() - began > 0.4 + 0.8 + 0.8
    assert len(b.started) == 4


def test_a_program_that_is_not_there_fails_the_job():
    from kernels.worker.queue import WorkerQueue

    queue = WorkerQueue([lambda: WorkerProcess(["/no/such/program"])], limits=LIMITS)
    ticket = queue.submit(job(Act.FINE), "s")
    deadline = time.monotonic() + 5
    while not isinstance(state := queue.state(ticket), Failed):
        assert time.monotonic() < deadline
        time.sleep(0.01)
    assert "could not be started" in state.reason
    queue.close()


@pytest.mark.parametrize("act", [Act.PRINT, Act.FLOOD], ids=lambda act: act.name.lower())
def test_what_a_job_prints_does_no_harm(bench, act):
    b = bench()
    assert isinstance(b.wait(b.queue.submit(job(act), "s")), Done)


def test_a_result_that_is_not_a_number_arrives(bench):
    b = bench()
    row = b.wait(b.queue.submit(job(Act.NOT_A_NUMBER), "s")).row
    assert row.rel_err != row.rel_err


def test_positions_count_the_running_job_and_go_down(bench):
    b = bench()
    tickets = [b.queue.submit(job(Act.SLOW, m=m), f"session {m}") for m in range(1, 5)]
    b.wait(tickets[0], _is_running)
    assert [b.queue.state(ticket) for ticket in tickets[1:]] == [Waiting(1), Waiting(2), Waiting(3)]
    b.wait(tickets[0])
    b.wait(tickets[1], _is_running)
    assert [b.queue.state(ticket) for ticket in tickets[2:]] == [Waiting(1), Waiting(2)]


def test_stop_in_the_queue_takes_the_job_out(bench):
    b = bench()
    first, second, third = (b.queue.submit(job(Act.SLOW, m=m), f"session {m}") for m in (1, 2, 3))
    b.wait(first, _is_running)
    b.queue.stop(second)
    assert b.queue.state(second) == STOPPED
    assert b.queue.state(third) == Waiting(1)
    assert isinstance(b.wait(third), Done)


@pytest.mark.parametrize("act", [Act.SLOW, Act.POLL_STOPPED], ids=lambda act: act.name.lower())
def test_stop_while_running_ends_the_job_and_keeps_the_worker(bench, act):
    b = bench(limits=replace(LIMITS, stop_s=5.0))
    ticket = b.queue.submit(job(act), "s")
    b.wait(ticket, _is_running)
    b.queue.stop(ticket)
    assert b.queue.state(ticket) == STOPPED
    assert isinstance(b.wait(b.queue.submit(job(Act.FINE), "s")), Done)
    assert len(b.started) == 1


def test_a_job_that_does_not_stop_is_killed_after_the_grace_time(bench):
    b = bench()
    ticket = b.queue.submit(job(Act.HANG), "s")
    b.wait(ticket, _is_running)
    b.queue.stop(ticket)
    assert isinstance(b.wait(b.queue.submit(job(Act.FINE), "s")), Done)
    assert len(b.started) == 2
    assert not b.started[0].is_alive


def test_stop_while_the_worker_loads_leaves_it_to_the_next_job(bench):
    b = bench()
    ticket = b.queue.submit(job(Act.FINE), "one")
    b.wait(ticket, lambda state: isinstance(state, Starting))
    b.queue.stop(ticket)
    assert isinstance(b.wait(b.queue.submit(job(Act.FINE, m=2), "two")), Done)
    assert len(b.started) == 1


def test_equal_jobs_run_once_for_all_who_asked(bench):
    b = bench()
    b.queue.submit(job(Act.SLOW, m=1), "first")
    tickets = [b.queue.submit(job(Act.SLOW, m=2), f"session {n}") for n in range(5)]
    assert {b.queue.state(ticket) for ticket in tickets} == {b.queue.state(tickets[0])}
    b.queue.stop(tickets[0])
    rows = [b.wait(ticket).row for ticket in tickets[1:]]
    assert all(row is rows[0] for row in rows)
    assert b.queue.state(tickets[0]) == STOPPED


def test_the_same_session_asking_twice_gets_one_ticket(bench):
    b = bench()
    assert b.queue.submit(job(Act.SLOW), "s") == b.queue.submit(job(Act.SLOW), "s")


def test_a_newer_job_of_a_session_takes_the_place_of_its_waiting_one(bench):
    b = bench()
    b.wait(b.queue.submit(job(Act.SLOW, m=1), "first"), _is_running)
    old = b.queue.submit(job(Act.FINE, m=2), "second")
    other = b.queue.submit(job(Act.FINE, m=3), "third")
    new = b.queue.submit(job(Act.FINE, m=4), "second")
    assert b.queue.state(old) == REPLACED
    assert b.queue.state(new) == Waiting(1)
    assert b.queue.state(other) == Waiting(2)
    assert all(isinstance(b.wait(ticket), Done) for ticket in (new, other))


def test_a_newer_job_leaves_the_running_one_alone(bench):
    b = bench()
    running = b.queue.submit(job(Act.SLOW, m=1), "s")
    b.wait(running, _is_running)
    b.queue.submit(job(Act.FINE, m=2), "s")
    assert isinstance(b.wait(running), Done)


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


def test_only_so_many_results_are_kept(bench):
    b = bench(results_kept=2)
    tickets = [b.queue.submit(job(Act.FINE, m=m), "s") for m in (1,)]
    b.wait(tickets[0])
    for m in (2, 3):
        tickets.append(b.queue.submit(job(Act.FINE, m=m), "s"))
        b.wait(tickets[-1])
    assert b.queue.state(tickets[0]) == FORGOTTEN
    assert isinstance(b.queue.state(tickets[1]), Done)


def test_closing_stops_what_runs_and_ends_the_worker(bench):
    b = bench(limits=replace(LIMITS, stop_s=5.0))
    running, waiting = b.queue.submit(job(Act.HANG), "one"), b.queue.submit(job(Act.FINE), "two")
    b.wait(running, _is_running)
    began = time.monotonic()
    b.queue.close()
    assert time.monotonic() - began < 3
    assert all(isinstance(b.queue.state(ticket), Stopped) for ticket in (running, waiting))
    assert _gone(b.started[0].pid)
    assert isinstance(b.queue.state(b.queue.submit(job(Act.FINE), "late")), Stopped)


def test_a_worker_does_not_outlive_a_killed_parent():
    program = (
        "import sys, time\n"
        "from kernels.worker.process import WorkerProcess\n"
        "from kernels.worker.messages import Do\n"
        "from tests.kernels.worker.stand_in import Act, job\n"
        f"worker = WorkerProcess([sys.executable, {str(STAND_IN)!r}])\n"
        "worker.receive(20)\n"
        "worker.send(Do(1, job(Act.HANG)))\n"
        "worker.receive(20)\n"
        "print(worker.pid, flush=True)\n"
        "time.sleep(600)\n"
    )
    with subprocess.Popen(
        [sys.executable, "-c", program],
        cwd=TOP,
        env={**os.environ, "PYTHONPATH": str(TOP)},
        stdout=subprocess.PIPE,
        text=True,
    ) as parent:
        pid = int(parent.stdout.readline())
        assert _alive(pid)
        parent.kill()
    assert _gone(pid)
