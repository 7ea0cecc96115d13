"""The queue of jobs that all sessions share, this session's jobs, and the panel that shows them."""

import atexit
import os
import threading
import time
import uuid
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from typing import TypeVar

import streamlit as st
from streamlit import runtime
from streamlit.runtime.scriptrunner import get_script_run_ctx

from kernels.compiled import use_compiled
from kernels.cores import processes_beside_app
from kernels.measure.jobs import Allowance
from kernels.measure.rows import Row
from kernels.precompile import precompile
from kernels.train.variants import VARIANTS
from kernels.worker.cluster.hosts import CLUSTER_VARIABLE, Follower
from kernels.worker.jobs import (
    Done,
    Failed,
    Final,
    Job,
    Partial,
    Result,
    Running,
    Starting,
    State,
    Stopped,
    Ticket,
    Waiting,
    kind_of,
)
from kernels.worker.queue import WorkerQueue, runs_a_minute
from kernels.worker.worker import launchers, visible_gpus
from pages.kit.gemm.presets import offered
from pages.kit.inert import plain
from pages.kit.widgets import Place

POLL_SECONDS = 0.4
ROWS_LIMIT = 50
_STATE_KEY = "_gemm_session"
_MAKING = threading.Lock()  # two sessions that come first at the same time get the same queue

NO_GPU = (
    "This server has no GPU, so nothing can be measured here. Start the app on a machine with a GPU that "
    "multiplies FP8, and this button measures there."
)

R = TypeVar("R", bound=Result)


@dataclass(frozen=True)
class Workers:
    queue: WorkerQueue
    has_gpu: bool


def workers() -> Workers:
    """This server's queue. With a GPU its workers start at once, and the pages' kernels are compiled.

    It is no st.cache_resource: any visitor can make Streamlit empty its caches.
    """
    with _MAKING:
        return _workers()


@cache
def _workers() -> Workers:
    use_compiled()
    gpus, cluster = visible_gpus(os.environ), os.environ.get(CLUSTER_VARIABLE)
    # In a cluster the jobs wait for a GPU: small ones in the interpreter would be other jobs.
    has_gpu = bool(gpus or cluster)
    jobs = (*offered(), *(variant.job for variant in VARIANTS.values()))
    queue = WorkerQueue(
        () if cluster and not gpus else launchers(gpus),
        allowance=Allowance.of(os.environ) if has_gpu else None,
        pace=runs_a_minute(os.environ),
        precompile=precompile(jobs, processes_beside_app(len(gpus))) if gpus else None,
        is_eager=has_gpu,
        is_present=is_present,
    )
    server = Workers(queue, has_gpu)
    atexit.register(server.queue.close)
    if cluster:
        follower = Follower(server.queue, cluster)
        atexit.register(follower.close)
        follower.start()
    return server


def _name_here() -> str:
    context = get_script_run_ctx(suppress_warning=True)
    return f"{context.session_id if context else ''}/{uuid.uuid4().hex}"


def is_present(name: str) -> bool:
    """Return True if a session's page is connected, also in a hidden tab. A reload is a new session."""
    return not runtime.exists() or runtime.get_instance().is_active_session(name.partition("/")[0])


@dataclass(frozen=True)
class End:
    """A job that failed, was stopped, or has an earlier result, `measured` at a time.time()."""

    job: Job
    state: Final
    measured: float = 0.0


@dataclass
class Session:
    name: str = field(default_factory=_name_here)
    tickets: list[Ticket] = field(default_factory=list)
    rows: list[Result] = field(default_factory=list)
    last: End | None = None
    news: int = 0  # answers that came, first ones and last ones, and other ends of jobs
    # Those of them of which the page knew when it last asked for something; None where it has not
    read_news: int | None = None

    def awaits(self, kind: type[Job]) -> bool:
        self.read_news = self.news
        return any(isinstance(ticket.job, kind) for ticket in self.tickets)

    def rows_of(self, kind: type[R]) -> list[R]:
        self.read_news = self.news
        return [row for row in self.rows if isinstance(row, kind)]


def session() -> Session:
    """This session's jobs and results, the newest ones included."""
    mine: Session = st.session_state.setdefault(_STATE_KEY, Session())
    for ticket in list(mine.tickets):
        state = workers().queue.state(ticket)
        if isinstance(state, Final):
            mine.tickets.remove(ticket)
            _keep(mine, ticket, state)
        elif is_first(state.partial if isinstance(state, Waiting | Running) else None):
            _add(mine, state.partial)
    return mine


def is_awaited(job: Job) -> bool:
    return any(ticket.job == job for ticket in session().tickets)


def is_first(partial: Result | None) -> bool:
    """Return True for a first answer, which a careful one replaces."""
    return partial is not None and kind_of(partial).partial is Partial.ANSWER


def _keep(mine: Session, ticket: Ticket, state: Final) -> None:
    mine.news += 1
    mine.last = None
    if isinstance(state, Done):
        mine.rows = [row for row in mine.rows if row is not state.row]  # one asked for again comes first
        _add(mine, state.row)
        if state.age_s is not None:
            mine.last = End(ticket.job, state, time.time() - state.age_s)
        return
    if state.partial is not None:
        # Another result so far is shown with the reason why it ended; here it would stand a second time.
        if not is_first(state.partial) and not kind_of(state.partial).part_stays:
            return
        _add(mine, state.partial)
    if isinstance(state, Failed) or not is_first(state.partial):
        mine.last = End(ticket.job, state)


def _add(mine: Session, row: Result) -> None:
    if any(row is other for other in mine.rows):
        return
    mine.news += 1
    for place, other in enumerate(mine.rows):
        if row.job == other.job and isinstance(other, Row) and other.is_first:
            mine.rows[place] = row
            break
    else:
        mine.rows.insert(0, row)
    del mine.rows[ROWS_LIMIT:]


def submit(job: Job, *, again: bool = False) -> Ticket:
    """Queue a job for this session; also a callback. With `again`, ignore an earlier answer."""
    mine = session()
    ticket = workers().queue.submit(job, mine.name, again=again)
    mine.last = None
    if ticket not in mine.tickets:
        mine.tickets.insert(0, ticket)
    return ticket


def draw_run(
    label: str, on_click: Callable[[], object], *, key: str, place: Place, reason: str | None = None
) -> None:
    """Draw the button that runs a job on this server's GPU, or the reason why it cannot."""
    reason = reason if workers().has_gpu else NO_GPU
    place.button(
        label,
        type="primary",
        icon=":material/play_arrow:",
        key=key,
        on_click=on_click,
        disabled=reason is not None,
    )
    if reason is not None:
        place.caption(reason)


def draw_queue(draw_partial: Callable[[Result], None] | None = None) -> None:
    """Show this session's waiting jobs, or how the last one failed.

    The page reruns if a job has ended since it read its results.
    """
    mine = session()
    read_news, mine.read_news = mine.read_news, None
    if read_news is not None and read_news < mine.news:
        st.rerun()
    last = mine.last
    if last is not None and isinstance(last.state, Failed):
        st.error(f"{last.job.title}: {plain(last.state.reason)}", icon=":material/error:")
    if mine.tickets:
        _panel(draw_partial, mine.news)
    elif last is not None and isinstance(last.state, Stopped):
        st.info(f"{last.job.title}: {plain(last.state.reason)}", icon=":material/stop_circle:")
    elif last is not None and isinstance(last.state, Done):
        _draw_reused(last)


def _draw_reused(reused: End) -> None:
    with st.container(horizontal=True, vertical_alignment="center"):
        when = ago(time.time() - reused.measured)
        st.caption(f"{reused.job.title}: measured {when}, for an equal run.", width="content")
        st.button(
            "Measure again",
            key="measure_again",
            icon=":material/refresh:",
            on_click=submit,
            args=(reused.job,),
            kwargs={"again": True},
        )


@st.fragment(run_every=POLL_SECONDS)
def _panel(draw_partial: Callable[[Result], None] | None, news: int) -> None:
    mine = session()
    if mine.news != news:
        mine.read_news = None
        st.rerun()
    for ticket in mine.tickets:
        state = workers().queue.state(ticket)
        with st.container(horizontal=True, vertical_alignment="center"):
            fraction = state.fraction if isinstance(state, Running) else 0.0
            st.progress(fraction, text=f"{ticket.job.title} · {plain(in_words(state))}")
            st.button(
                "Stop",
                key=f"stop {ticket.number}",
                icon=":material/stop:",
                on_click=workers().queue.stop,
                args=(ticket,),
            )
        partial = state.partial if isinstance(state, Waiting | Running) else None
        if draw_partial is not None and partial is not None and not is_first(partial):
            draw_partial(partial)


_SOON_S = 1.0
_MINUTE_S, _HOUR_S = 60, 3600


def in_words(state: State) -> str:
    match state:
        case Waiting(ahead, _, None) if state.compiling_s is not None:
            return f"{_place(ahead)}: compiling its code, {state.compiling_s:.0f} s"
        case Waiting(ahead, _, None):
            length = "a second" if state.expected_s <= _SOON_S else _length(state.expected_s)
            return f"{_place(ahead)}, about {length}"
        case Waiting() if state.compiling_s is not None:
            return f"the fast kernel is compiled for the careful answer, {state.compiling_s:.0f} s"
        case Waiting(ahead, _, partial) if kind_of(partial).partial is Partial.PART:
            return f"it goes on where it was, after those who wait for a first answer: {_place(ahead)}"
        case Waiting(ahead):
            return f"the careful answer comes once nobody waits for a first one: {_place(ahead)}"
        case Starting(elapsed_s):
            return f"starting the worker, {elapsed_s:.0f} s"
        case Running():
            return f"{state.note}, {state.elapsed_s:.0f} s"
        case Done():
            return "done"
        case Failed(reason) | Stopped(reason):
            return reason


def _place(ahead: int) -> str:
    return f"waiting, {ahead} ahead of you" if ahead else "next"


def ago(seconds: float) -> str:
    return "just now" if seconds <= _SOON_S else f"{_length(seconds)} ago"


def _length(seconds: float) -> str:
    if seconds < _MINUTE_S:
        return f"{seconds:.0f} s"
    if seconds < _HOUR_S:
        return f"{seconds / _MINUTE_S:.0f} min"
    return f"{seconds / _HOUR_S:.0f} h"
