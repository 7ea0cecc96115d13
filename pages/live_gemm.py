"""How fast is FP8, and how wrong?

A tensor core cuts its sums. A real matmul shows how wrong it is, and how fast.
"""

from dataclasses import replace

import streamlit as st

from kernels.measure.rows import Row
from pages.kit.controls import link_params
from pages.kit.gemm.presets import SMALL, refusal
from pages.kit.gemm.queue_panel import draw_queue, session, submit, workers
from pages.kit.gemm.results import Origin, Result, draw_bad_lines, draw_downloads
from pages.kit.shared_controls import draw_source, recipe_params
from pages.kit.shell import open_page
from pages.kit.view import draw_notice, stage
from pages.live_gemm.facts import CONTROLS, draw_job, small_instead
from pages.live_gemm.result import draw_details, draw_picture, notice
from pages.live_gemm.results import draw_table, recorded, to_show, usual
from pages.live_gemm.words import geometry

IDEA = (
    "One matmul of a layer, D[M, N] = A[M, K] · B[K, N], with both operands quantized as a **recipe** says. "
    "It is measured twice: how far D is from the exact product, and how long it takes beside bf16."
)

has_gpu = workers().has_gpu
view, controls = open_page("How fast is FP8, and how wrong?", *CONTROLS)


def run() -> None:
    """Run the chosen GEMM, or a small one where its shape cannot run here."""
    controls.preset(**instead)
    submit(replace(job, **instead))


with view.below:
    job = draw_job(controls)
    reason = refusal(job, has_gpu=has_gpu)
    instead = (reason and small_instead(job, has_gpu=has_gpu)) or {}
    small = f" {SMALL.label}" if instead else ""
    view.control.button(
        f"Run{small} on the GPU" if has_gpu else f"Run{small} on this CPU",
        type="primary",
        icon=":material/play_arrow:",
        on_click=run,
        key="run",
        disabled=reason is not None and not instead,
    )
    with view.notice:
        draw_queue()
    draw_bad_lines()
    here = [Result(row, Origin.HERE) for row in session().rows_of(Row)]
    records = recorded(job)
    know = view.know
    know.markdown(IDEA)
    know.markdown(geometry(job))
    know.page_link(
        "pages/tile_layouts.py",
        label="See these tiles",
        icon=":material/grid_on:",
        query_params=link_params(**recipe_params(job.recipe, job.own), matmul=job.matmul),
    )
    choice = []
    if results := here + records:
        with know:
            st.markdown(
                "First the runs of this session, newest first. Then every recorded run of this recipe and "
                "matmul, of any shape. Pick one to see it in full."
            )
            choice = draw_table(results, key=f"results {job.recipe} {job.matmul} {len(here)}")
            draw_downloads(results)
    on_screen = choice or to_show(job, here, records) or usual(job, records)
    if reason is not None:
        know.info(reason, icon=":material/block:")
    if on_screen:
        # An interpreter's run has no times: those of the nearest recorded run stand beside it.
        results = (*on_screen, *usual(job, records))
        timing = next((one for one in results if one.row.ours and not one.is_interpreted), None)
        # While a run is on its way, its progress takes the place of the Notice on recorded rows.
        if on_screen[0].origin is Origin.HERE or not session().tickets:
            draw_notice(notice(on_screen[0], timing, runs=small))
        draw_picture(controls, on_screen[0], timing, job, stage())
        for result in on_screen:
            draw_details(result, job, know)
    else:
        draw_notice(f"Nothing has been run yet for **{job.size}**, and nothing is recorded for it.")
        stage().info(f"No GEMM of {job.recipe_data.title}, {job.matmul_data.title}, is recorded for a GPU.")
    draw_source(job.recipe_data)
