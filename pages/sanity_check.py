"""Does FP8 work on this GPU? The checks of `python -m kernels.check`, live, and kept for all."""

import streamlit as st

from kernels.check.job import CheckJob
from pages.kit.controls import Controls
from pages.kit.gemm.queue_panel import draw_queue, session, workers
from pages.kit.shell import guard
from pages.kit.terms.explain import draw_text
from pages.sections.sanity import words
from pages.sections.sanity.controls import EXTENT, NEWEST, QUICK, chosen, shown_control
from pages.sections.sanity.history import history, start
from pages.sections.sanity.report import draw_checklist, draw_report, draw_verdict

IDEA = (
    "One run checks casts, quantizers and every recipe's matmuls against the reference, **bit for bit or "
    "within a derived bound**. It also times them, and gives each line a verdict."
)
BUSY = (
    "A check of another session waits or runs. **Run** shares it if it is of the same kind, else it waits "
    "in the queue."
)

guard()
st.title("Does FP8 work on this GPU?")
is_running = session().awaits(CheckJob)  # asked first: a check that ends now is in neither, else
past = history().past()
shown = shown_control(past)
controls = Controls(EXTENT, shown)
controls.toolbar(st.sidebar)
check = chosen(past, controls.draw(shown, st.sidebar) if past else NEWEST)

if check is None or is_running:
    draw_text(IDEA)
    if not is_running:
        st.markdown(words.questions())
else:
    draw_verdict(check)


def run(quick: bool) -> None:
    """Start a check, and show it once it is over."""
    controls.preset(run=NEWEST)
    start(CheckJob(quick=quick))


has_gpu = workers().has_gpu
with st.container(horizontal=True, vertical_alignment="bottom"):
    extent = controls.draw(EXTENT, st.container(width="content"))
    st.button(
        "Run" if has_gpu else "Run in Triton's interpreter",
        type="primary",
        icon=":material/play_arrow:",
        key="run_check",
        on_click=run,
        args=(extent == QUICK,),
        disabled=is_running,
    )
if not has_gpu and check is None:
    st.info(
        f"{words.no_gpu()}, so this page cannot test FP8 on a GPU. It can still check the results of the "
        "kernels in Triton's interpreter on the CPU, without speed.",
        icon=":material/calculate:",
    )
if history().is_busy and not is_running:
    st.caption(BUSY)
draw_queue(draw_checklist)
if check is not None and not is_running:
    draw_report(check)
st.caption(
    "In a terminal, `python -m kernels.check` runs these checks on every GPU in turn. On a server with "
    "several GPUs, a check here runs on the first free one."
)
