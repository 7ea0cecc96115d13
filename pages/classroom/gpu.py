"""The line for the GPU: what runs, what waits, for whom; and the limits that each session has."""

import os

import streamlit as st

from kernels.bench.cost import GFLOP, SECONDS, Allowance
from kernels.worker.rate import RUNS, Pace
from kernels.worker.states import InLine
from pages.classroom.roster import student
from pages.kit.charts.ink import INKS
from pages.kit.classroom.answers import POLL_S
from pages.kit.classroom.shared import shared
from pages.kit.classroom.store import store
from pages.kit.gemm.queue_panel import Workers, in_words
from pages.kit.shell import theme
from pages.kit.tables import grid

_SHOWN = 30
LIMITS = (
    "A run over a limit is refused in a sentence. The environment sets the limits when the server starts."
)


@st.fragment(run_every=POLL_S)
def draw_line(workers: Workers) -> None:
    """Draw who waits for the GPU, or for the interpreter where there is none."""
    line = workers.queue.everyone()
    if not line:
        st.caption("Nobody waits, and nothing runs.")
        return
    rows = [[one.job.title, in_words(one.state), who(one)] for one in line[:_SHOWN]]
    st.html(grid(["Run", "State", "Asked by"], rows, INKS[theme()], names=3))
    if len(line) > _SHOWN:
        st.caption(f"{len(line) - _SHOWN} more wait.")


def who(one: InLine) -> str:
    """The students who asked for a job, by number."""
    numbers = store().students()
    visitors = {present.session: visitor for visitor, present in shared().present().items()}
    names = []
    for session in one.sessions:
        number = numbers.get(visitors.get(session.partition("/")[0], ""))
        names.append("somebody" if number is None else student(number))
    return ", ".join(sorted(set(names)))


def draw_limits(workers: Workers) -> None:
    """Draw the limits as they are on this server."""
    allowance, pace = Allowance.of(os.environ), Pace.of(os.environ)
    rows = [
        [SECONDS, f"{allowance.seconds:g}", "estimated seconds until the first answer of one run"],
        [GFLOP, f"{allowance.gflop:,.0f}", "work of one run, 2 · M · N · K, in GFLOP"],
        [RUNS, f"{pace.jobs:g}", "runs that one session may ask for in a minute"],
    ]
    st.html(grid(["Variable", "Now", "Limits"], rows, INKS[theme()], names=3))
    none = "" if workers.has_gpu else " There is no GPU here: only the runs a minute are limited."
    st.caption(LIMITS + none)
