"""Contract: helpers compile what jobs wait for, then what is offered; a worker waits for none of them."""

from kernels.bench.ready.job import ReadyJob
from kernels.worker.ahead import code_of
from kernels.worker.jobs import Job
from kernels.worker.ledger import Ledger
from tests.kernels.worker.stand_in import Act, job, row

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
