"""Contract: the line answers a ticket with its own job or not at all; a run that never began is the next."""

from dataclasses import replace

import pytest

from kernels.worker.ledger import FORGOTTEN, Line
from kernels.worker.states import Done, Waiting
from tests.kernels.worker.stand_in import Act, job, row


@pytest.fixture
def lines() -> tuple[Line, Line]:
    """Two lines of one process."""
    return Line(results_kept=9), Line(results_kept=9)


def test_two_lines_of_a_process_give_no_ticket_the_same_number(lines):
    numbers = [line.submit(job(Act.FINE, m), "s").number for m in (1, 2) for line in lines]
    assert len(set(numbers)) == len(numbers)


@pytest.mark.parametrize("is_over", [False, True], ids=["waits", "is over"])
def test_a_ticket_of_another_job_gets_no_answer(lines, is_over):
    line, _ = lines
    ticket = line.submit(job(Act.FINE, m=1), "s")
    if is_over:
        run = line.take(not_before=0.0)
        line.finish(run, Done(row(run.job)))
    before = line.state(ticket)
    foreign = replace(ticket, job=job(Act.FINE, m=2))
    line.stop(foreign)
    assert line.state(foreign) == FORGOTTEN
    assert line.state(ticket) == before == (Done(row(ticket.job)) if is_over else Waiting(0))


def test_a_run_that_is_put_back_comes_before_those_that_wait(lines):
    line, _ = lines
    tickets = [line.submit(job(Act.FINE, m), f"session {m}") for m in (1, 2)]
    run = line.take(not_before=0.0)
    line.report(run, 0.5, "quantizing")
    line.put_back(run)
    assert [line.state(ticket) for ticket in tickets] == [Waiting(0), Waiting(1)]
    assert line.take(not_before=0.0) is run


def test_a_run_that_nobody_wants_is_not_put_back(lines):
    line, _ = lines
    ticket = line.submit(job(Act.FINE), "s")
    run = line.take(not_before=0.0)
    line.stop(ticket)
    line.put_back(run)
    later = line.submit(job(Act.FINE), "s")
    assert line.state(later) == Waiting(0)
