"""Contract: the history of checks keeps what came of every ticket, once, newest first, and not for ever."""

from dataclasses import dataclass, field, replace

import pytest

from kernels.check.report import CheckJob
from kernels.check.run import STOPPED, WAITING
from kernels.worker.jobs import Done, Failed, Running, State, Stopped, Ticket
from kernels.worker.queue import FORGOTTEN
from pages.kit.gemm import queue_panel as gpu_queue
from pages.kit.gemm.queue_panel import Workers
from pages.sanity_check.history import MOST_CHECKS, History
from tests.pages.sanity_check.reports import report, so_far

WHOLE = report()
PART = so_far(WHOLE, 9)


@dataclass
class Queue:
    """A queue whose tickets are in the states that a test wants."""

    states: dict[Ticket, State] = field(default_factory=dict)

    def state(self, ticket: Ticket) -> State:
        return self.states[ticket]


@pytest.fixture
def queue(monkeypatch) -> Queue:
    queue = Queue()
    monkeypatch.setattr(gpu_queue, "workers", lambda: Workers(queue, has_gpu=True))
    return queue


def followed(history: History, queue: Queue, *states: State) -> None:
    for state in states:
        ticket = Ticket(len(queue.states), CheckJob())
        queue.states[ticket] = state
        history.follow(ticket)


def test_a_ticket_is_followed_to_its_end(queue):
    history = History()
    followed(history, queue, Running(fraction=0.5, note="", elapsed_s=1.0, partial=PART))
    assert history.past() == ()
    assert history.is_busy
    queue.states = dict.fromkeys(queue.states, Done(WHOLE))
    (past,) = history.past()
    assert (past.number, past.report, past.end) == (1, WHOLE, "")
    assert not history.is_busy
    assert history.past() == (past,)


@pytest.mark.parametrize("kind", [Failed, Stopped])
def test_an_end_before_the_end_keeps_the_lines_and_the_reason(queue, kind):
    history = History()
    followed(history, queue, kind("The worker was ended.", PART))
    (past,) = history.past()
    assert past.end == "The worker was ended."
    assert past.report.exit_code == 130
    details = [line.detail for line in past.report.lines]
    assert WAITING not in details
    assert details.count(STOPPED) == len(WHOLE.lines) - 9


@pytest.mark.parametrize(
    "state", [FORGOTTEN, Failed("It could not be started."), Stopped("Stopped.")], ids=repr
)
def test_an_end_without_a_line_is_no_entry(queue, state):
    history = History()
    followed(history, queue, state)
    assert history.past() == ()
    assert not history.is_busy


@pytest.mark.parametrize("stopped_first", [True, False])
def test_of_a_run_that_one_session_left_the_whole_stays(queue, stopped_first):
    history = History()
    states = [Stopped("Stopped on request.", PART), Done(WHOLE)]
    followed(history, queue, *(states if stopped_first else reversed(states)))
    (past,) = history.past()
    assert (past.number, past.report, past.end) == (1, WHOLE, "")


def test_the_newest_come_first_and_the_oldest_go(queue):
    history = History()
    count = MOST_CHECKS + 3
    starts = [f"2026-11-20T12:{minute:02}:00+00:00" for minute in range(count)]
    followed(history, queue, *(Done(replace(WHOLE, started=started)) for started in starts))
    past = history.past()
    assert [one.number for one in past] == list(range(count, count - MOST_CHECKS, -1))
    assert [one.report.started for one in past] == starts[: count - MOST_CHECKS - 1 : -1]
