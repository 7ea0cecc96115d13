"""Contract: a result that comes line by line is shown as far as it is, and no line of it is lost to haste."""

from dataclasses import replace

from kernels.check.job import CheckJob
from kernels.worker.states import Running
from tests.kernels.check.reports import REPORT


def test_a_check_shows_its_report_so_far(bench):
    b = bench()
    ticket = b.queue.submit(CheckJob(quick=True), "s")
    first = b.wait(ticket, lambda state: isinstance(state, Running) and state.partial is not None)
    assert (first.partial.job, first.partial.finished) == (ticket.job, False)
    later = b.wait(ticket, lambda state: not isinstance(state, Running) or len(state.partial.lines) > 1)
    assert later.partial.lines[: len(first.partial.lines)] == first.partial.lines
    assert b.wait(ticket).row == replace(REPORT, job=ticket.job)
