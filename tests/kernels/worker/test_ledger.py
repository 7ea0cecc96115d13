"""Contract: the ledger gives a ticket its own job's answer or none; a run that never began is the next."""

from dataclasses import replace

import pytest

from kernels.worker.ledger import FORGOTTEN, Ledger
from kernels.worker.states import Done, Waiting
from tests.kernels.worker.stand_in import Act, job, row


@pytest.fixture
def ledgers() -> tuple[Ledger, Ledger]:
    """Two ledgers of one process."""
    return Ledger(results_kept=9), Ledger(results_kept=9)


def test_two_ledgers_of_a_process_give_no_ticket_the_same_number(ledgers):
    numbers = [ledger.submit(job(Act.FINE, m), "s").number for m in (1, 2) for ledger in ledgers]
    assert len(set(numbers)) == len(numbers)


@pytest.mark.parametrize("is_over", [False, True], ids=["waits", "is over"])
def test_a_ticket_of_another_job_gets_no_answer(ledgers, is_over):
    ledger, _ = ledgers
    ticket = ledger.submit(job(Act.FINE, m=1), "s")
    if is_over:
        run = ledger.take(not_before=0.0)
        ledger.finish(run, Done(row(run.job)))
    before = ledger.state(ticket)
    foreign = replace(ticket, job=job(Act.FINE, m=2))
    ledger.stop(foreign)
    assert ledger.state(foreign) == FORGOTTEN
    assert ledger.state(ticket) == before == (Done(row(ticket.job)) if is_over else Waiting(0))


def test_a_run_that_is_put_back_comes_before_those_that_wait(ledgers):
    ledger, _ = ledgers
    tickets = [ledger.submit(job(Act.FINE, m), f"session {m}") for m in (1, 2)]
    run = ledger.take(not_before=0.0)
    ledger.report(run, 0.5, "quantizing")
    ledger.put_back(run)
    assert [ledger.state(ticket) for ticket in tickets] == [Waiting(0), Waiting(1)]
    assert ledger.take(not_before=0.0) is run


def test_a_run_that_nobody_wants_is_not_put_back(ledgers):
    ledger, _ = ledgers
    ticket = ledger.submit(job(Act.FINE), "s")
    run = ledger.take(not_before=0.0)
    ledger.stop(ticket)
    ledger.put_back(run)
    later = ledger.submit(job(Act.FINE), "s")
    assert ledger.state(later) == Waiting(0)
