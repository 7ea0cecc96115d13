"""The queue of jobs that all sessions share, this session's place in it, and the panel that shows it."""

import atexit
import os
import threading
import uuid
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from typing import TypeVar

import streamlit as st

from kernels.worker.jobs import Job, Result
from kernels.worker.launch import launchers, visible_gpus
from kernels.worker.queue import WorkerQueue
from kernels.worker.states import Done, Failed, Final, Running, Starting, State, Stopped, Ticket, Waiting
from pages.kit.inert import plain

POLL_SECONDS = 0.4
ROWS_KEPT = 50
_STATE_KEY = "_gemm_session"
_MAKING = threading.Lock()
"""Two sessions that come first at the same time get the same queue."""

R = TypeVar("R", bound=Result)


@dataclass(frozen=True)
class Workers:
    """The queue, and a flag: does the driver list a GPU for it?"""

    queue: WorkerQueue
    has_gpu: bool


def workers() -> Workers:
    """The one queue of this server. It starts no process before there is a job.

    It is no st.cache_resource, because any visitor can make Streamlit empty its caches.
    """
    with _MAKING:
        return _made()


@cache
def _made() -> Workers:
    gpus = visible_gpus(os.environ)
    made = Workers(WorkerQueue(launchers(gpus)), bool(gpus))
    atexit.register(made.queue.close)
    return made


@dataclass
class Session:
    """The jobs and results of this session, newest first."""

    name: str = field(default_factory=lambda: uuid.uuid4().hex)
    tickets: list[Ticket] = field(default_factory=list)
    rows: list[Result] = field(default_factory=list)
    last: Failed | Stopped | None = None
    last_job: Job | None = None
    ended: int = 0
    """Jobs that came to their end."""
    known: int | None = None
    """Those of them of which the page knew when it last asked for something; None where it has not."""

    def awaits(self, kind: type[Job]) -> bool:
        """True if a job of one kind has not ended."""
        self.known = self.ended
        return any(isinstance(ticket.job, kind) for ticket in self.tickets)

    def rows_of(self, kind: type[R]) -> list[R]:
        """The results of one kind."""
        self.known = self.ended
        return [row for row in self.rows if isinstance(row, kind)]


def session() -> Session:
    """This session's jobs and results as of now: results that have come are among its rows."""
    mine: Session = st.session_state.setdefault(_STATE_KEY, Session())
    for ticket in list(mine.tickets):
        state = workers().queue.state(ticket)
        if isinstance(state, Final):
            mine.tickets.remove(ticket)
            _keep(mine, ticket, state)
    return mine


def _keep(mine: Session, ticket: Ticket, state: Final) -> None:
    mine.ended += 1
    if isinstance(state, Done):
        mine.rows.insert(0, state.row)
        del mine.rows[ROWS_KEPT:]
        mine.last = mine.last_job = None
    else:
        # A result so far is shown with the reason why it ended; here it would stand a second time.
        mine.last, mine.last_job = (state, ticket.job) if state.partial is None else (None, None)


def submit(job: Job) -> Ticket:
    """Queue a job for this session; also a callback."""
    mine = session()
    ticket = workers().queue.submit(job, mine.name)
    mine.last = mine.last_job = None
    if ticket not in mine.tickets:
        mine.tickets.insert(0, ticket)
    return ticket


def draw_queue(draw_partial: Callable[[Result], None] | None = None) -> None:
    """Show the job that this session waits for, as long as it waits, and how its last job ended if it failed.

    The page runs again where a job has ended since the page read its results. `draw_partial` draws the result
    so far of a running job, if it has one.
    """
    mine = session()
    known, mine.known = mine.known, None
    if known is not None and known < mine.ended:
        st.rerun()
    if mine.tickets:
        _panel(draw_partial)
    elif isinstance(mine.last, Failed):
        st.error(f"{_name(mine.last_job)}: {plain(mine.last.reason)}", icon=":material/error:")
    elif isinstance(mine.last, Stopped):
        st.info(f"{_name(mine.last_job)}: {plain(mine.last.reason)}", icon=":material/stop_circle:")


@st.fragment(run_every=POLL_SECONDS)
def _panel(draw_partial: Callable[[Result], None] | None) -> None:
    mine = session()
    if not mine.tickets:
        mine.known = None
        st.rerun()
    for ticket in mine.tickets:
        state = workers().queue.state(ticket)
        with st.container(border=True, horizontal=True, vertical_alignment="center"):
            st.progress(_fraction(state), text=f"{_name(ticket.job)} · {plain(in_words(state))}")
            st.button(
                "Stop",
                key=f"stop {ticket.number}",
                icon=":material/stop:",
                on_click=workers().queue.stop,
                args=(ticket,),
            )
        if draw_partial is not None and isinstance(state, Running) and state.partial is not None:
            draw_partial(state.partial)


def _fraction(state: State) -> float:
    return state.fraction if isinstance(state, Running) else 0.0


def in_words(state: State) -> str:
    """A state in a few words."""
    match state:
        case Waiting(0):
            return "next"
        case Waiting(ahead):
            return f"waiting, {ahead} ahead of you"
        case Starting(elapsed_s):
            return f"starting the worker, {elapsed_s:.0f} s"
        case Running():
            return f"{state.note}, {state.elapsed_s:.0f} s"
        case Done():
            return "done"
        case Failed(reason) | Stopped(reason):
            return reason


def _name(job: Job | None) -> str:
    return "Your last run" if job is None else job.title
