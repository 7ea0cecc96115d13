"""Contract: the ledger gives a ticket its own job's answer or none; a run that never began is the next; first
answers come before careful ones, and compiled code before code that a helper has yet to compile.
"""

from dataclasses import replace

import pytest

from kernels.bench.ready.job import ReadyJob
from kernels.check.job import CheckJob
from kernels.worker.ahead import code_of
from kernels.worker.jobs import Job
from kernels.worker.ledger import ABSENT_S, FORGOTTEN, GONE, REPLACED, Ledger
from kernels.worker.order import SLOT_S, Place
from kernels.worker.rate import Pace
from kernels.worker.results import Answers, Mailbox, Room, size_of
from kernels.worker.states import Done, Failed, Starting, Ticket, Waiting
from tests.kernels.check.reports import REPORT
from tests.kernels.worker.shells import answer
from tests.kernels.worker.stand_in import Act, job, row


@pytest.mark.parametrize("is_over", [False, True], ids=["waits", "is over"])
def test_a_ticket_of_another_job_gets_no_answer(is_over):
    ledger = Ledger()
    ticket = ledger.submit(job(Act.FINE, m=1), "s")
    if is_over:
        run = ledger.take(not_before=0.0)
        ledger.finish(run, Done(row(run.job)))
    before = ledger.state(ticket)
    foreign = replace(ticket, job=job(Act.FINE, m=2))
    ledger.stop(foreign)
    assert ledger.state(foreign) == FORGOTTEN
    assert ledger.state(ticket) == before == (Done(row(ticket.job)) if is_over else Waiting(0))


def test_a_run_that_is_put_back_comes_before_those_that_wait():
    ledger = Ledger()
    tickets = [ledger.submit(job(Act.FINE, m), f"session {m}") for m in (1, 2)]
    run = ledger.take(not_before=0.0)
    ledger.report(run, 0.5, "quantizing")
    ledger.put_back(run)
    assert [ledger.state(ticket) for ticket in tickets] == [Waiting(0), Waiting(1)]
    assert ledger.take(not_before=0.0) is run


def test_the_line_names_every_job_and_who_waits_for_it():
    ledger = Ledger()
    for m, session in ((1, "ann"), (2, "ben"), (2, "cid")):
        ledger.submit(job(Act.FINE, m), session)
    assert [(one.job.m, one.state, one.sessions) for one in ledger.everyone()] == [
        (1, Waiting(0), ("ann",)),
        (2, Waiting(1), ("ben", "cid")),
    ]
    run = ledger.take(not_before=0.0)
    assert [type(one.state) for one in ledger.everyone()] == [Starting, Waiting]
    ledger.finish(run, Done(row(run.job)))
    assert [one.job.m for one in ledger.everyone()] == [2]


class Clock:
    now = 50.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


def test_an_equal_job_is_answered_at_once_with_the_age_of_the_answer(clock):
    ledger = Ledger(clock=clock)
    ledger.submit(job(Act.FINE), "one")
    answer(ledger)
    clock.now += 90.0
    assert ledger.state(ledger.submit(job(Act.FINE), "two")) == Done(row(job(Act.FINE)), age_s=90.0)
    assert ledger.state(ledger.submit(job(Act.FINE), "two", again=True)) == Waiting(0)
    assert ledger.state(ledger.submit(job(Act.FINE, m=1), "three")) == Waiting(1)


def test_a_first_answer_is_there_while_the_careful_one_waits(clock):
    ledger = Ledger(clock=clock)
    ticket, first = ledger.submit(job(Act.FINE), "s"), replace(row(job(Act.FINE)), is_first=True)
    run = ledger.take(not_before=0.0)
    ledger.report(run, 0.2, "measuring with care", first)
    ledger.report(run, 0.3, "timing")
    assert ledger.state(ticket).partial is first
    assert not ledger.must_give_way(run)
    other = ledger.submit(job(Act.FINE, m=1), "other")
    assert ledger.state(other) == Waiting(0), "the careful one gives way"
    assert ledger.must_give_way(run)
    ledger.give_way(run)
    waiting = ledger.state(ticket)
    assert (waiting, waiting.partial) == (Waiting(1), first)
    joined = ledger.submit(job(Act.FINE), "third")
    assert ledger.state(joined).partial is first
    answer(ledger)
    assert ledger.take(not_before=0.0) is run
    assert run.so_far is first
    newer = ledger.submit(job(Act.FINE, m=2), "s")
    ledger.finish(run, Done(row(run.job)))
    assert isinstance(ledger.state(ticket), Done)
    assert ledger.state(newer) == Waiting(0)


def test_a_newer_job_ends_a_waiting_careful_one_which_keeps_its_first_answer():
    ledger = Ledger()
    ticket, first = ledger.submit(job(Act.FINE), "s"), replace(row(job(Act.FINE)), is_first=True)
    run = ledger.take(not_before=0.0)
    ledger.report(run, 0.2, "measuring with care", first)
    ledger.give_way(run)
    ledger.submit(job(Act.FINE, m=2), "s")
    assert ledger.state(ticket) == replace(REPLACED, partial=first)


def test_a_check_gives_way_after_its_slot_and_goes_on_with_its_report(clock):
    ledger = Ledger(clock=clock)
    ledger.submit(CheckJob(), "s")
    run = ledger.take(not_before=0.0)
    ledger.report(run, 0.1, "casts", REPORT)
    ledger.submit(job(Act.FINE), "other")
    clock.now += SLOT_S - 0.1
    assert not ledger.must_give_way(run)
    clock.now += 0.2
    assert ledger.must_give_way(run)
    ledger.give_way(run)
    assert ledger.take(not_before=0.0).job == job(Act.FINE)
    assert ledger.take(not_before=0.0).so_far is REPORT


def test_a_session_that_has_left_gives_its_jobs_up_and_a_short_loss_is_forgiven(clock):
    here = {"running", "ghost", "living"}
    ledger = Ledger(clock=clock, is_present=lambda session: session in here)
    running, ghost, living = (
        ledger.submit(job(Act.FINE, m=m), who) for m, who in enumerate(("running", "ghost", "living"), 1)
    )
    run = ledger.take(not_before=0.0)
    here.clear()
    clock.now += 1.0
    here.add("living")
    assert ledger.state(living) == Waiting(1), "a ghost is passed over at once"
    assert ledger.is_wanted(run)
    here.add("running")
    clock.now += ABSENT_S
    assert ledger.is_wanted(run)
    assert ledger.state(ghost) == GONE
    here.discard("running")
    clock.now += 1.0
    assert ledger.is_wanted(run)
    clock.now += ABSENT_S
    assert not ledger.is_wanted(run)
    assert ledger.state(running) == GONE


def test_who_asks_too_fast_is_told_and_others_are_not(clock):
    ledger = Ledger(clock=clock, pace=Pace(jobs=3, seconds=60.0))
    tickets = [ledger.submit(job(Act.FINE, m=m), "hasty") for m in range(1, 5)]
    told = ledger.state(tickets[3])
    assert told == Failed(
        "You asked for more than 3 runs in 60 s, and others wait too: run it again in 20 s."
    )
    assert ledger.state(tickets[2]) == Waiting(0), "the last one that was taken stays"
    assert ledger.state(ledger.submit(job(Act.FINE, m=9), "other")) == Waiting(1)
    clock.now += 20.0
    assert isinstance(ledger.state(ledger.submit(job(Act.FINE, m=5), "hasty")), Waiting)


END = Done(row(job(Act.FINE)))


def ticket(number: int) -> Ticket:
    return Ticket(number, job(Act.FINE))


def test_results_are_bounded_in_bytes():
    size = size_of(END)
    assert size > 500
    assert size_of(Failed("no")) == 0
    box = Mailbox(Room(bytes=3 * size), lambda session: False)
    answers = Answers(Room(bytes=3 * size))
    for number in range(9):
        box.put(ticket(number), "s", END, size)
        answers.put(job(Act.FINE, m=number), END.row, 0.0, size)
    assert sum(box.get(ticket(number)) is not None for number in range(9)) == 3
    assert [number for number in range(9) if answers.get(job(Act.FINE, m=number))] == [6, 7, 8]


SPARE = ReadyJob(job(Act.FINE, m=99))


def next_job(ledger: Ledger) -> Job:
    """What a worker that is free gets now; a spare job where nobody waits."""
    return ledger.take(not_before=0.0, spare=lambda: SPARE).job


def test_code_that_is_compiled_comes_first_and_a_helper_compiles_the_rest():
    ledger = Ledger(compile_s=2.0)
    new, known = (job(Act.FINE, m=m) for m in (1, 2))
    for asked in (new, known):
        ledger.submit(asked, f"session {asked.m}")
    ledger.prepared(code_of(known))
    assert next_job(ledger) == known
    assert ledger.next_to_prepare() == code_of(new)
    assert next_job(ledger) is SPARE, "the helper has the other one"
    ledger.prepared(code_of(new))
    assert next_job(ledger) == new


def test_who_waits_for_a_helper_is_told_for_how_long():
    now = [5.0]
    ledger = Ledger(compile_s=2.0, clock=lambda: now[0])
    ticket = ledger.submit(job(Act.FINE), "s")
    assert ledger.state(ticket).compiling_s is None
    ledger.prepared(code := ledger.next_to_prepare())
    assert code == code_of(job(Act.FINE))
    assert ledger.state(ticket).compiling_s is None, "it is compiled"
    other = ledger.submit(job(Act.FINE, m=1), "s")
    ledger.next_to_prepare()
    now[0] += 3.0
    assert ledger.state(other).compiling_s == 3.0


def test_no_careful_answer_begins_while_code_for_a_first_one_is_compiled():
    ledger = Ledger(compile_s=2.0)
    ledger.submit(job(Act.FINE), "s")
    run = ledger.take(not_before=0.0)
    ledger.report(run, 0.2, "measuring with care", row(run.job))
    ledger.submit(job(Act.FINE, m=1), "other")
    assert ledger.next_to_prepare().m == 1
    assert ledger.must_give_way(run)
    ledger.give_way(run)
    assert next_job(ledger) is SPARE


NEW = Place(is_next=False, is_careful=False, served_s=0.0, cost_s=1.0, waited_s=0.0, number=9)


@pytest.mark.parametrize(
    "change",
    [
        {"is_next": True, "cost_s": 50.0},
        {"cost_s": 0.5},
        {"waited_s": 0.5},
        {"served_s": 1.0, "waited_s": 1.5},
        {"number": 8},
    ],
    ids=str,
)
def test_what_comes_first(change):
    assert NEW._replace(**change).key < NEW.key
