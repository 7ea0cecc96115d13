"""Contract: a result that comes line by line is shown as far as it is, and no line of it is lost: neither to
haste nor to an end before the end.
"""

import os
import signal
from dataclasses import replace

from kernels.check.job import CheckJob
from kernels.worker.states import Failed, Running, Stopped
from tests.kernels.check.reports import REPORT
from tests.kernels.worker.gates import Gate


def test_a_check_shows_its_report_so_far(bench):
    b = bench(closed=[Gate.CHECK])
    ticket = b.queue.submit(CheckJob(quick=True), "s")
    first = b.wait(ticket, lambda state: isinstance(state, Running) and state.partial is not None)
    assert (first.partial.job, first.partial.finished) == (ticket.job, False)
    later = b.wait(ticket, lambda state: len(state.partial.lines) > 1)
    assert later.partial.lines[: len(first.partial.lines)] == first.partial.lines
    b.gates.open(Gate.CHECK)
    assert b.wait(ticket).row == replace(REPORT, job=ticket.job)


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


def test_a_check_whose_worker_dies_keeps_its_report_so_far(bench):
    b = bench(closed=[Gate.CHECK])
    ticket, partial = running_with_a_partial(b)
    os.kill(b.started[-1].pid, signal.SIGKILL)
    ended = b.wait(ticket)
    assert isinstance(ended, Failed)
    assert "SIGKILL" in ended.reason
    assert len(ended.partial.lines) >= len(partial.lines)
