"""The jobs that the page "Benchmarks" runs on this server's GPU, and why it cannot without one."""

import streamlit as st

from fp8core.linear import MATMULS
from kernels.bench.ceilings import CeilingsJob
from kernels.bench.job import Cache, GemmJob
from pages.kit.controls import Controls
from pages.kit.gemm import queue_panel as gpu_queue
from pages.kit.gemm.presets import refusal
from pages.kit.recipes import draw_recipe, recipe_values
from pages.sections.benchmarks.controls import SHAPE, SHAPES

NO_GPU = (
    "This server has no GPU, so nothing can be measured here. All figures are recorded ones. Start the app "
    "on a machine with a GPU that multiplies FP8, and this button measures there."
)


def draw_gemm(controls: Controls, matmul: str, cache: Cache) -> None:
    """Draw a recipe, a shape and the button that runs this matmul with them."""
    with st.container(border=True):
        st.markdown(f"**Measure one here**: {MATMULS[matmul].title}, {cache.value} L2")
        draw_recipe(controls)
        preset = SHAPES[controls.draw(SHAPE, st.container(width=420))]
        job = GemmJob(**recipe_values(controls), matmul=matmul, **preset.mnk(MATMULS[matmul]), cache=cache)
        _draw_run(job, "Run on the GPU", refusal(job, has_gpu=True))


def draw_ceilings() -> None:
    """Draw the button that measures this GPU's ceilings."""
    _draw_run(CeilingsJob(), "Measure this GPU's ceilings", None)


def _draw_run(job: GemmJob | CeilingsJob, label: str, reason: str | None) -> None:
    reason = reason if gpu_queue.workers().has_gpu else NO_GPU
    st.button(
        label,
        type="primary",
        icon=":material/play_arrow:",
        key="run_benchmark",
        on_click=gpu_queue.submit,
        args=(job,),
        disabled=reason is not None,
    )
    if reason is not None:
        st.caption(reason)
    gpu_queue.draw_queue()
