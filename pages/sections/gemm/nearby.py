"""Live GEMM without a result for the chosen GEMM: it says so, and lists recorded GEMMs nearby."""

from collections.abc import Sequence
from dataclasses import replace

import streamlit as st

from kernels.bench.job import GemmJob
from pages.kit.controls import link_params
from pages.kit.gemm.words import differences
from pages.kit.recipes import recipe_params

_SHOWN = 5


def draw_nothing(job: GemmJob, near: Sequence[GemmJob]) -> None:
    """Say that this GEMM has no result. Links open the nearest recorded ones."""
    asked = f"{job.recipe_data.title}, {job.matmul_data.title}"
    nothing = f"Nothing has been run yet in this session for {job.size}, and nothing is recorded for it"
    if not near:
        st.info(f"{nothing}. No GEMM of {asked}, is recorded for a GPU.")
        return
    st.info(f"{nothing}. Other GEMMs of {asked}, are recorded. Each link opens one, the nearest first:")
    for one in near[:_SHOWN]:
        st.page_link(
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
