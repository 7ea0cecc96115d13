"""Contract: the queue gives a ticket its own job's answer or none, equal jobs run once, and everybody has a
fair turn: first answers before careful ones, little debt before much, compiled code before what compiles.
"""

import time
from dataclasses import replace

import pytest

from kernels.check.report import CheckJob
from kernels.measure.jobs import Allowance, GemmJob
from kernels.precompile import Compilation, codes_of
from kernels.train.job import TrainJob
from kernels.worker import queue as queues
from kernels.worker.jobs import Done, Failed, Starting, Stopped, Waiting
from kernels.worker.queue import ABSENT_S, FORGOTTEN, GONE, REPLACED, SLOT_S, WorkerQueue
from kernels.worker.worker import STOPPED
from tests.kernels.check.reports import REPORT
from tests.kernels.worker.conftest import LIMITS, PATIENCE_S, is_running
from tests.kernels.worker.gates import Gate
from tests.kernels.worker.shells import answer
from tests.kernels.worker.stand_in import Act, job, row


class Clock:
    now = 50.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.mark.parametrize("is_over", [False, True], ids=["waits", "is over"])
def test_a_ticket_of_another_job_gets_no_answer(is_over):
    queue = WorkerQueue(())
    ticket = queue.submit(job(Act.FINE, m=1), "s")
    if is_over:
        run = queue.take(not_before=0.0)
        queue.finish(run, Done(row(run.job)))
    before = queue.state(ticket)
    foreign = replace(ticket, job=job(Act.FINE, m=2))
    queue.stop(foreign)
    assert queue.state(foreign) == FORGOTTEN
    assert queue.state(ticket) == before == (Done(row(ticket.job)) if is_over else Waiting(0))


def test_a_run_that_is_put_back_comes_before_those_that_wait():
    queue = WorkerQueue(())
    tickets = [queue.submit(job(Act.FINE, m), f"session {m}") for m in (1, 2)]
    run = queue.take(not_before=0.0)
    queue.report(run, 0.5, "quantizing")
    queue.put_back(run)
    assert [queue.state(ticket) for ticket in tickets] == [Waiting(0), Waiting(1)]
    assert queue.take(not_before=0.0) is run


def test_the_line_names_every_job_and_who_waits_for_it():
    queue = WorkerQueue(())
    for m, session in ((1, "ann"), (2, "ben"), (2, "cid")):
        queue.submit(job(Act.FINE, m), session)
    assert [(one.job.m, one.state, one.sessions) for one in queue.everyone()] == [
        (1, Waiting(0), ("ann",)),
        (2, Waiting(1), ("ben", "cid")),
    ]
    run = queue.take(not_before=0.0)
    assert [type(one.state) for one in queue.everyone()] == [Starting, Waiting]
    queue.finish(run, Done(row(run.job)))
    assert [one.job.m for one in queue.everyone()] == [2]


def test_an_equal_job_is_answered_at_once_with_the_age_of_the_answer(clock):
    queue = WorkerQueue((), clock=clock)
    queue.submit(job(Act.FINE), "one")
    answer(queue)
    clock.now += 90.0
    assert queue.state(queue.submit(job(Act.FINE), "two")) == Done(row(job(Act.FINE)), age_s=90.0)
    assert queue.state(queue.submit(job(Act.FINE), "two", again=True)) == Waiting(0)
    assert queue.state(queue.submit(job(Act.FINE, m=1), "three")) == Waiting(1)


def test_a_first_answer_is_there_while_the_careful_one_waits(clock):
    queue = WorkerQueue((), clock=clock)
    ticket, first = queue.submit(job(Act.FINE), "s"), replace(row(job(Act.FINE)), is_first=True)
    run = queue.take(not_before=0.0)
    queue.report(run, 0.2, "measuring with care", first)
    queue.report(run, 0.3, "timing")
    assert queue.state(ticket).partial is first
    assert not queue.must_give_way(run)
    other = queue.submit(job(Act.FINE, m=1), "other")
    assert queue.state(other) == Waiting(0), "the careful one gives way"
    assert queue.must_give_way(run)
    queue.give_way(run)
    waiting = queue.state(ticket)
    assert (waiting, waiting.partial) == (Waiting(1), first)
    joined = queue.submit(job(Act.FINE), "third")
    assert queue.state(joined).partial is first
    answer(queue)
    assert queue.take(not_before=0.0) is run
    assert run.so_far is first
    newer = queue.submit(job(Act.FINE, m=2), "s")
    queue.finish(run, Done(row(run.job)))
    assert isinstance(queue.state(ticket), Done)
    assert queue.state(newer) == Waiting(0)


def test_a_newer_job_ends_a_waiting_careful_one_which_keeps_its_first_answer():
    queue = WorkerQueue(())
    ticket, first = queue.submit(job(Act.FINE), "s"), replace(row(job(Act.FINE)), is_first=True)
    run = queue.take(not_before=0.0)
    queue.report(run, 0.2, "measuring with care", first)
    queue.give_way(run)
    queue.submit(job(Act.FINE, m=2), "s")
    assert queue.state(ticket) == replace(REPLACED, partial=first)


def test_a_check_gives_way_after_its_slot_and_goes_on_with_its_report(clock):
    queue = WorkerQueue((), clock=clock)
    queue.submit(CheckJob(), "s")
    run = queue.take(not_before=0.0)
    queue.report(run, 0.1, "casts", REPORT)
    queue.submit(job(Act.FINE), "other")
    clock.now += SLOT_S - 0.1
    assert not queue.must_give_way(run)
    clock.now += 0.2
    assert queue.must_give_way(run)
    queue.give_way(run)
    assert queue.take(not_before=0.0).job == job(Act.FINE)
    assert queue.take(not_before=0.0).so_far is REPORT


def test_a_session_that_has_left_gives_its_jobs_up_and_a_short_loss_is_forgiven(clock):
    here = {"running", "ghost", "living"}
    queue = WorkerQueue((), clock=clock, is_present=lambda session: session in here)
    running, ghost, living = (
        queue.submit(job(Act.FINE, m=m), who) for m, who in enumerate(("running", "ghost", "living"), 1)
    )
    run = queue.take(not_before=0.0)
    here.clear()
    clock.now += 1.0
    here.add("living")
    assert queue.state(living) == Waiting(1), "a ghost is passed over at once"
    assert queue.is_wanted(run)
    here.add("running")
    clock.now += ABSENT_S
    assert queue.is_wanted(run)
    assert queue.state(ghost) == GONE
    here.discard("running")
    clock.now += 1.0
    assert queue.is_wanted(run)
    clock.now += ABSENT_S
    assert not queue.is_wanted(run)
    assert queue.state(running) == GONE


def test_who_asks_too_fast_is_told_and_others_are_not(clock):
    queue = WorkerQueue((), clock=clock, pace=3)
    tickets = [queue.submit(job(Act.FINE, m=m), "hasty") for m in range(1, 5)]
    told = queue.state(tickets[3])
    assert told == Failed(
        "You asked for more than 3 runs in 60 s, and others wait too: run it again in 20 s."
    )
    assert queue.state(tickets[2]) == Waiting(0), "the last one that was taken stays"
    assert queue.state(queue.submit(job(Act.FINE, m=9), "other")) == Waiting(1)
    clock.now += 20.0
    assert isinstance(queue.state(queue.submit(job(Act.FINE, m=5), "hasty")), Waiting)


def test_results_are_bounded_and_those_go_that_nobody_asks_for(monkeypatch):
    monkeypatch.setattr(queues, "RESULTS", 4)
    queue = WorkerQueue(())
    left, asked = (queue.submit(job(Act.FINE, m), f"session {m}") for m in (1, 2))
    for m in range(3, 9):
        answer(queue)
        queue.submit(job(Act.FINE, m), "more")
        queue.state(asked)
    assert isinstance(queue.state(asked), Done)
    assert queue.state(left) == FORGOTTEN


class Pool:
    """What compiles ahead, as the test says."""

    def __init__(self, *, knows_device: bool = True):
        self.codes, self.knows_device = {}, knows_device

    def has_begun(self, *code):
        return code in self.codes and (self.codes[code].running() or self.codes[code].done())

    def submit(self, *code, rank):
        return self.codes.setdefault(code, Compilation())

    def begin(self, code) -> None:
        compilation = self.codes.setdefault(code, Compilation())
        compilation.set_running_or_notify_cancel()
        compilation.began = time.monotonic() - 3.0


def test_while_code_is_compiled_others_are_served_and_its_reader_is_told_for_how_long(monkeypatch):
    monkeypatch.setattr(queues, "_LOOK_EVERY_S", 0.01)
    pool = Pool()
    queue = WorkerQueue((), precompile=pool)
    new, known, later = (job(Act.FINE, m=m) for m in (1, 2, 3))
    simple = {of: codes_of(of)[0] for of in (new, known, later)}
    tickets = [queue.submit(asked, f"session {asked.m}") for asked in (new, known)]
    pool.begin(simple[new])
    assert queue.state(tickets[0]).compiling_s >= 3.0
    assert queue.state(tickets[1]).compiling_s is None
    run = queue.take(not_before=0.0)
    assert run.job == known
    assert pool.codes[simple[known]].cancelled(), "the worker compiles it"
    queue.report(run, 0.2, "measuring with care", row(known))
    assert queue.must_give_way(run)
    queue.give_way(run)
    given = queue.submit(later, "third")
    pool.begin(simple[later])
    pool.codes[simple[new]].set_result("")
    assert queue.take(not_before=0.0).job == new
    assert queue._next() is None, "no careful answer begins while one for a first is compiled"
    pool.codes[simple[later]].set_result("")
    assert queue.state(given).compiling_s is None
    assert queue.take(not_before=0.0).job == later


def test_the_simple_kernel_answers_first_and_the_careful_answer_waits_for_the_planned_one():
    pool = Pool()
    queue, asked = WorkerQueue((), precompile=pool), job(Act.FINE)
    simple, planned = codes_of(asked)
    ticket = queue.submit(asked, "s")
    pool.begin(planned)
    pool.codes[simple].set_result("")
    run = queue.take(not_before=0.0)
    assert run.simple_first
    assert not pool.codes[planned].done()
    first = replace(row(asked), is_first=True)
    queue.report(run, 0.2, "measuring with care", first)
    queue.give_way(run)
    state = queue.state(ticket)
    assert (state.ahead, state.partial) == (0, first)
    assert state.compiling_s >= 3.0
    assert queue._next() is None, "the planned kernel is not compiled"
    pool.codes[planned].set_result("")
    assert queue.take(not_before=0.0) is run
    assert not run.simple_first


def test_no_answer_is_simple_where_nobody_compiles_the_planned_kernel():
    queue = WorkerQueue((), precompile=Pool(knows_device=False))
    queue.submit(job(Act.FINE), "s")
    assert not queue.take(not_before=0.0).simple_first


@pytest.mark.parametrize("is_done", [False, True])
def test_a_planned_kernel_whose_compilation_has_begun_gives_the_first_answer(is_done):
    pool = Pool()
    queue, asked = WorkerQueue((), precompile=pool), job(Act.FINE)
    _, planned = codes_of(asked)
    pool.begin(planned)
    if is_done:
        pool.codes[planned].set_result("")
    queue.submit(asked, "s")
    assert [*pool.codes] == [planned]
    assert (queue._next() is not None) is is_done
    if is_done:
        assert not queue.take(not_before=0.0).simple_first


def test_a_training_run_does_not_wait_for_its_layers():
    pool = Pool()
    queue = WorkerQueue((), precompile=pool)
    queue.submit(TrainJob(recipe="mxfp8", model="s"), "s")
    assert len(pool.codes) == 4
    assert isinstance(queue.take(not_before=0.0).job, TrainJob)


@pytest.mark.parametrize("first", ["it came before", "shorter", "a worker lost it", "its session had little"])
def test_who_comes_first(clock, first):
    queue = WorkerQueue((), clock=clock)
    big, small = (GemmJob(recipe="mxfp8", matmul="fprop", m=m, n=4096, k=4096) for m in (4096, 64))
    if first == "its session had little":
        queue.submit(big, "much")
        run = queue.take(not_before=0.0)
        clock.now += 9.0
        queue.finish(run, Done(row(run.job)))
    second = queue.submit(job(Act.FINE, m=1) if first != "shorter" else big, "much").job
    if first == "a worker lost it":
        queue.put_back(queue.take(not_before=0.0))
        queue.submit(job(Act.FINE, m=2), "little")
        assert queue.take(not_before=0.0).job == second
        return
    other = queue.submit(small if first == "shorter" else job(Act.FINE, m=2), "little").job
    order = [queue.take(not_before=0.0).job for _ in range(2)]
    assert order == ([second, other] if first == "it came before" else [other, second])


def test_positions_count_the_running_job_and_go_down_and_stop_takes_a_waiting_one_out():
    queue = WorkerQueue(())
    tickets = [queue.submit(job(Act.FINE, m=m), f"session {m}") for m in range(1, 5)]
    run = queue.take(not_before=0.0)
    assert [queue.state(ticket) for ticket in tickets[1:]] == [Waiting(1), Waiting(2), Waiting(3)]
    queue.stop(tickets[1])
    assert [queue.state(ticket) for ticket in tickets[1:]] == [STOPPED, Waiting(1), Waiting(2)]
    queue.finish(run, Done(row(run.job)))
    assert queue.take(not_before=0.0).job == tickets[2].job
    assert queue.state(tickets[3]) == Waiting(1)


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


def test_equal_jobs_run_once_for_all_who_asked():
    queue = WorkerQueue(())
    tickets = [queue.submit(job(Act.FINE), f"session {n}") for n in range(5)]
    assert {queue.state(ticket) for ticket in tickets} == {Waiting(0)}
    queue.stop(tickets[0])
    answer(queue)
    rows = [queue.state(ticket).row for ticket in tickets[1:]]
    assert all(row is rows[0] for row in rows)
    assert queue.state(tickets[0]) == STOPPED


def test_a_newer_job_of_a_session_takes_the_place_of_its_waiting_one():
    queue = WorkerQueue(())
    old, other, new = (
        queue.submit(job(Act.FINE, m), session) for m, session in ((2, "one"), (3, "two"), (4, "one"))
    )
    assert [queue.state(ticket) for ticket in (old, other, new)] == [REPLACED, Waiting(1), Waiting(0)]
    assert [queue.take(not_before=0.0).job for _ in range(2)] == [new.job, other.job]


def test_a_job_that_is_too_large_is_refused_with_what_it_asks_the_limit_and_the_remedy():
    queue = WorkerQueue((), allowance=Allowance())
    huge = GemmJob(recipe="mxfp8", matmul="fprop", m=65536, n=65536, k=65536)
    refused = queue.state(queue.submit(huge, "s"))
    assert isinstance(refused, Failed)
    assert "562,950 GFLOP" in refused.reason
    assert "20,000 GFLOP" in refused.reason
    assert "Make M, N or K smaller, or start the app with a larger FP8_EXPLORER_JOB_GFLOP." in refused.reason
    assert queue.state(queue.submit(job(Act.FINE), "s")) == Waiting(0)


def test_an_eager_worker_starts_before_anybody_asks_and_warms_up(bench):
    b = bench(is_eager=True)
    deadline = time.monotonic() + PATIENCE_S
    while not b.started:
        assert time.monotonic() < deadline
        time.sleep(0.01)
    for m, words in enumerate(("warming up", "warm at last"), 1):
        while words not in b.started[0].stderr_tail:
            assert time.monotonic() < deadline
            time.sleep(0.01)
        assert isinstance(b.wait(b.queue.submit(job(Act.FINE, m=m), "s")), Done)
    assert len(b.started) == 1


def test_a_check_that_gave_way_goes_on_where_it_was(bench, monkeypatch):
    monkeypatch.setattr("kernels.worker.queue.SLOT_S", 0.1)
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


def test_a_check_that_is_stopped_keeps_its_report_so_far(bench):
    b = bench(closed=[Gate.CHECK])
    ticket = b.queue.submit(CheckJob(), "s")
    partial = b.wait(ticket, lambda state: is_running(state) and state.partial is not None).partial
    b.queue.stop(ticket)
    ended = b.queue.state(ticket)
    assert isinstance(ended, Stopped)
    assert len(ended.partial.lines) >= len(partial.lines)
    assert not ended.partial.finished
