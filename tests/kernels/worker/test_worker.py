"""A worker's life: whatever a job does, it ends with a sentence and the others go on."""

import os
import subprocess
import sys
import time
from dataclasses import replace

import pytest

from kernels.worker.jobs import Done, Failed, Starting, Stopped, Waiting
from tests.kernels.worker.conftest import LIMITS, PATIENCE_S, is_running
from tests.kernels.worker.gates import Gate
from tests.kernels.worker.shells import is_alive, is_gone
from tests.kernels.worker.stand_in import HELD_AT, STAND_IN, TOP, Act, job

CRASHES = {
    Act.KILLED: "was ended by signal SIGKILL (the system does that when memory runs out)",
    Act.RAISE: "ended with exit code 1: RuntimeError: CUDA error: an illegal memory access was encountered",
}


def test_a_job_goes_through_starting_and_running_to_its_row(bench):
    b = bench(closed=[Gate.LOAD, Gate.JOB])
    ticket = b.queue.submit(job(Act.HELD), "s")
    assert isinstance(b.queue.state(ticket), Waiting | Starting)
    b.wait(ticket, lambda state: isinstance(state, Starting))
    b.gates.open(Gate.LOAD)
    running = b.wait(ticket, lambda state: is_running(state) and state.fraction > 0.25)
    assert running.note == "multiplying"
    assert running.fraction == HELD_AT
    assert running.elapsed_s > 0
    b.gates.open(Gate.JOB)
    done = b.wait(ticket)
    assert isinstance(done, Done)
    assert done.row.job == ticket.job


@pytest.mark.parametrize("act", CRASHES)
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


def test_out_of_memory_names_the_shape_and_keeps_the_worker(bench):
    b = bench()
    failed = b.wait(b.queue.submit(job(Act.OUT_OF_MEMORY), "s"))
    assert "64 × 64 × 64" in failed.reason
    assert "smaller" in failed.reason
    assert isinstance(b.wait(b.queue.submit(job(Act.FINE), "s")), Done)
    assert len(b.started) == 1


def test_a_hang_is_ended_at_the_time_limit(bench):
    b = bench(limits=replace(LIMITS, job_s=1.0))
    bad = b.queue.submit(job(Act.HANG), "one")
    assert "after 1 s" in b.wait(bad).reason
    assert isinstance(b.wait(b.queue.submit(job(Act.FINE), "two")), Done)
    assert not b.started[0].is_alive


def test_a_worker_that_does_not_load_fails_the_job_at_the_start_limit(bench):
    b = bench("sleep", limits=replace(LIMITS, start_s=0.2))
    assert "did not load within 0.2 s" in b.wait(b.queue.submit(job(Act.FINE), "s")).reason


def test_a_crash_loop_rests_longer_each_time(bench):
    b = bench("die", limits=replace(LIMITS, rest_s=0.1, longest_rest_s=0.2))
    began = time.monotonic()
    tickets = [b.queue.submit(job(Act.FINE, m=m), f"session {m}") for m in (1, 2)]
    assert all(isinstance(b.wait(ticket), Failed) for ticket in tickets)
    assert time.monotonic() - began > 0.1 + 0.2 + 0.2
    assert len(b.started) == 4


def test_closing_stops_what_runs_and_ends_the_worker(bench):
    """It does not wait for the grace time, which is longer than this test."""
    b = bench(limits=replace(LIMITS, stop_s=10 * PATIENCE_S))
    running, waiting = b.queue.submit(job(Act.HANG), "one"), b.queue.submit(job(Act.FINE), "two")
    b.wait(running, is_running)
    began = time.monotonic()
    b.queue.close()
    assert time.monotonic() - began < PATIENCE_S
    assert all(isinstance(b.queue.state(ticket), Stopped) for ticket in (running, waiting))
    assert is_gone(b.started[0].pid)
    assert isinstance(b.queue.state(b.queue.submit(job(Act.FINE), "late")), Stopped)


def test_a_worker_does_not_outlive_a_killed_parent():
    program = (
        "import sys, time\n"
        "from kernels.worker.worker import WorkerProcess\n"
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
        assert is_alive(pid)
        parent.kill()
    assert is_gone(pid)
