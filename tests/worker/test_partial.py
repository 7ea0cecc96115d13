"""Contract: a result that comes line by line is shown as far as it is, and no line of it is lost to haste."""

import io
from dataclasses import replace

from kernels.check.job import CheckJob
from kernels.worker.child import _Voice
from kernels.worker.messages import Progress, decode
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


def test_news_without_a_result_are_thinned_out_and_those_with_one_are_not():
    stream = io.StringIO()
    voice = _Voice(stream)
    told = [Progress(1, 0.1, "a"), Progress(1, 0.2, "b"), Progress(1, 0.3, "c", REPORT)]
    for message in told:
        voice.say(message)
    assert [decode(line) for line in stream.getvalue().splitlines()] == [told[0], told[2]]
