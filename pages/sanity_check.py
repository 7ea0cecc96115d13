"""Does FP8 work on this GPU?

Eight bits train as well as bf16. Does your GPU compute them right?
"""

import streamlit as st

from kernels.check.report import CheckJob, Report
from pages.kit.gemm.queue_panel import draw_queue, session, submit, workers
from pages.kit.shell import open_page
from pages.kit.view import draw_notice, stage
from pages.sanity_check.facts import EXTENT, NEWEST, QUICK, check_of, past_control
from pages.sanity_check.history import history
from pages.sanity_check.report import (
    before,
    count,
    draw_report,
    draw_squares,
    no_gpu,
    of_report,
    planned,
    verdict,
)

IDEA = (
    "One run checks casts, quantizers and every recipe's matmuls against the reference, **bit for bit or "
    "within a derived bound**. It also times them, and gives each line a verdict."
)
BUSY = (
    "A check of another session waits or runs. **Run** shares it if it is of the same kind, else it waits "
    "in the queue."
)
TERMINAL = (
    "In a terminal, `python -m kernels.check` runs these checks on every GPU in turn. On a server with "
    "several GPUs, a check here runs on the first free one."
)

is_running = session().awaits(CheckJob)  # before the history: a check that ends now is in neither, else
past = history().past()
runs = past_control(past)
view, controls = open_page("Does FP8 work on this GPU?", EXTENT, runs)
has_gpu = workers().has_gpu


def run(quick: bool) -> None:
    """Start a check, and show it once it is over."""
    controls.preset(run=NEWEST)
    history().follow(submit(CheckJob(quick=quick)))


def draw_partial(report: Report) -> None:
    """Draw the squares of a check that runs."""
    draw_squares(of_report(report), st)


with view.below:
    check = check_of(past, controls.draw(runs) if past else NEWEST)
    extent = controls.draw(EXTENT, view.control)
    view.control.button(
        "Run" if has_gpu else "Run in Triton's interpreter",
        type="primary",
        icon=":material/play_arrow:",
        key="run_check",
        on_click=run,
        args=(extent == QUICK,),
        disabled=is_running,
    )
    if is_running:
        with stage():
            draw_queue(draw_partial)
    else:
        squares = (
            planned(quick=extent == QUICK, has_gpu=has_gpu) if check is None else of_report(check.report)
        )
        draw_notice(before(count(squares), has_gpu) if check is None else verdict(check))
        draw_squares(squares, stage())
        draw_queue(draw_partial)
        if history().is_busy:
            st.caption(BUSY)
    if check is not None and not is_running:
        draw_report(check)
view.know.markdown(IDEA)
if not has_gpu:
    view.know.markdown(f"{no_gpu()}, so this page cannot test FP8 on a GPU.")
view.know.caption(TERMINAL)
