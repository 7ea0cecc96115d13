"""Live GEMM without a result for the chosen GEMM: it says so, and lists recorded GEMMs nearby."""

from collections.abc import Sequence
from dataclasses import replace

from kernels.bench.job import GemmJob
from pages.kit.controls import link_params
from pages.kit.gemm.results import as_asked
from pages.kit.gemm.words import differences
from pages.kit.recipes import recipe_params
from pages.kit.widgets import Place

_SHOWN = 5


def nothing(job: GemmJob, *, near: bool = True) -> str:
    """A sentence on a GEMM without a result; or on its recipe and matmul, of which no run is recorded."""
    if near:
        return f"Nothing has been run yet for **{job.size}**, and nothing is recorded for it."
    return f"No GEMM of {job.recipe_data.title}, {job.matmul_data.title}, is recorded for a GPU."


def draw_nearby(job: GemmJob, near: Sequence[GemmJob], place: Place) -> None:
    """Links to the nearest recorded GEMMs, where the chosen one is none of them."""
    asked = as_asked(job)
    if not near or asked in near:
        return
    asked_words = f"{job.recipe_data.title}, {job.matmul_data.title}"
    place.markdown(
        f"Nothing is recorded for {job.size}. Other GEMMs of {asked_words}, are, the nearest first:"
    )
    for one in near[:_SHOWN]:
        place.page_link(
            "pages/live_gemm.py",
            label=title(one, job),
            icon=":material/history:",
            query_params=link_params(
                **recipe_params(one.recipe, one.own),
                matmul=one.matmul,
                m=one.m,
                n=one.n,
                k=one.k,
                a_input=one.input.value,
                accumulation=one.accumulation.value,
            ),
        )


def title(one: GemmJob, asked: GemmJob) -> str:
    """M × N × K, and the settings that differ from the chosen ones."""
    of_this_size = replace(one, m=asked.m, n=asked.n, k=asked.k, seed=asked.seed)
    differs = differences(of_this_size, asked)
    return f"M × N × K = {one.m} × {one.n} × {one.k}" + (f", {differs}" if differs else "")
