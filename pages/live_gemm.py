"""What does this recipe cost, and what does it give? One GEMM, run and measured."""

import streamlit as st

from kernels.bench.row import Row
from pages.kit.controls import Controls, link_params
from pages.kit.gemm.presets import SMALL, refusal, small_instead
from pages.kit.gemm.queue_panel import draw_queue, session, submit, workers
from pages.kit.gemm.results import Origin, Result, draw_bad_lines, nearby, recorded, to_show
from pages.kit.gemm.results_table import draw_downloads, draw_table
from pages.kit.gemm.words import geometry
from pages.kit.recipes import draw_source, recipe_params
from pages.kit.shell import guard
from pages.kit.terms.explain import draw_text
from pages.sections.gemm.job import CONTROLS, draw_job
from pages.sections.gemm.nearby import draw_nothing
from pages.sections.gemm.view import draw_results

IDEA = (
    "One matmul of a layer, D[M, N] = A[M, K] · B[K, N], with both operands quantized as a **recipe** says. "
    "It is measured twice: how far D is from the exact product, and how long it takes beside bf16."
)

guard()
st.title("What does this recipe cost, and what does it give?")
controls = Controls(*CONTROLS)
draw_text(IDEA)
controls.toolbar(st.sidebar)
job = draw_job(controls, st.container(), st.sidebar)
has_gpu = workers().has_gpu

st.write(geometry(job))
st.page_link(
    "pages/tile_layouts.py",
    label="See these tiles",
    icon=":material/grid_on:",
    query_params=link_params(**recipe_params(job.recipe, job.own), matmul=job.matmul),
)

reason = refusal(job, has_gpu=has_gpu)
with st.container(horizontal=True):
    st.button(
        "Run on the GPU" if has_gpu else "Run in Triton's interpreter",
        type="primary",
        icon=":material/play_arrow:",
        on_click=submit,
        key="run",
        args=(job,),
        disabled=reason is not None,
    )
    if reason is not None and (small := small_instead(job, has_gpu=has_gpu)):
        st.button(f"Take {SMALL.label} instead", on_click=controls.preset, kwargs=small)
if reason is not None:
    st.info(reason, icon=":material/block:")
draw_queue()

here = [Result(row, Origin.HERE) for row in session().rows_of(Row)]
records = recorded(job)
unasked = to_show(job, here, records)
full_view = st.container()
results = here + records
picked = []
if results:
    st.header("Results")
    st.caption(
        "First the runs of this session, newest first. Then every recorded run of this recipe and matmul, "
        "of any shape. Pick one or two to see them in full."
    )
    picked = draw_table(results, key=f"results {job.recipe} {job.matmul} {len(here)}")
    draw_downloads(results)
with full_view:
    draw_bad_lines()
    if picked or unasked:
        draw_results(picked or unasked, job)
    else:
        draw_nothing(job, nearby(records))
draw_source(job.recipe_data)
