"""Contract: a result that comes line by line is shown as far as it is, and no line of it is lost: neither to
haste nor to an end before the end.
"""

import io
import os
import signal
from dataclasses import replace

from kernels.check.job import CheckJob
from kernels.worker.child import _Voice
from kernels.worker.messages import Progress, decode
from kernels.worker.states import Failed, Running, Stopped
from tests.kernels.check.reports import REPORT
from tests.kernels.worker.gates import Gate
from tests.kernels.worker.stand_in import Act, job


def test_a_check_shows_its_report_so_far(bench):
    b = bench(closed=[Gate.CHECK])
    ticket = b.queue.submit(CheckJob(quick=True), "s")
    first = b.wait(ticket, lambda state: isinstance(state, Running) and state.partial is not None)
    assert (first.partial.job, first.partial.finished) == (ticket.job, False)
    later = b.wait(ticket, lambda state: len(state.partial.lines) > 1)
    assert later.partial.lines[: len(first.partial.lines)] == first.partial.lines
    b.gates.open(Gate.CHECK)
    assert b.wait(ticket).row == replace(REPORT, job=ticket.job)


def test_news_without_a_result_are_thinned_out_and_those_with_one_are_not():
    stream = io.StringIO()
    voice = _Voice(stream)
    told = [Progress(1, 0.1, "a"), Progress(1, 0.2, "b"), Progress(1, 0.3, "c", REPORT)]
    for message in told:
        voice.say(message)
    assert [decode(line) for line in stream.getvalue().splitlines()] == [told[0], told[2]]


def test_a_note_on_work_with_no_part_done_is_always_told():
    stream = io.StringIO()
    voice = _Voice(stream)
    told = [Progress(1, 0.0, "reading"), Progress(1, 0.0, "compiling"), Progress(1, 0.1, "step 1")]
    for message in told:
        voice.say(message)
    assert [decode(line) for line in stream.getvalue().splitlines()] == told[:2]


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


def test_a_job_without_a_partial_ends_without_one(bench):
    b = bench()
    stopped, failed = b.queue.submit(job(Act.POLL_STOPPED), "a"), b.queue.submit(job(Act.REFUSE), "b")
    b.wait(stopped, lambda state: isinstance(state, Running))
    b.queue.stop(stopped)
    assert b.queue.state(stopped).partial is None
    assert b.wait(failed).partial is None
