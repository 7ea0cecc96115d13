"""How close to the hardware do these kernels get?"""

import streamlit as st

from pages.kit.controls import Controls
from pages.kit.gemm import results as gemm_results
from pages.kit.shell import guard
from pages.kit.terms.explain import draw_text
from pages.sections.benchmarks import any_shape as benchmarks_any_shape
from pages.sections.benchmarks import cost as benchmarks_cost
from pages.sections.benchmarks import ratios as benchmarks_ratios
from pages.sections.benchmarks import roofline as benchmarks_roofline
from pages.sections.benchmarks import table as benchmarks_table
from pages.sections.benchmarks.controls import CONTROLS, SHOW, Section, gpu_control
from pages.sections.benchmarks.data import gpus

SECTIONS = {
    Section.RATIOS: benchmarks_ratios,
    Section.ROOFLINE: benchmarks_roofline,
    Section.ANY_SHAPE: benchmarks_any_shape,
    Section.COST: benchmarks_cost,
    Section.TABLE: benchmarks_table,
}
IDEA = (
    "A GPU's clock falls when it gets warm or meets its power limit. So one time alone says little about a "
    "kernel. Here each kernel is **compared with torch's own op in the same run**: the two took turns, on "
    "random normal data."
)
SOURCES = (
    "Sources: the rows come from `python -m kernels.bench`. The chart follows S. Williams, A. Waterman, D. "
    "Patterson, Roofline, Communications of the ACM 52(4), 2009. The table names the sources of datasheet "
    "peaks."
)

guard()
st.title("How close to the hardware do these kernels get?")
of_gpu = gpu_control(gpus())
controls = Controls(*CONTROLS, of_gpu)
draw_text(IDEA)
gemm_results.draw_bad_lines()
controls.toolbar(st.sidebar)
gpu = controls.draw(of_gpu, st.sidebar) if len(of_gpu.options) > 1 else controls.value(of_gpu)

SECTIONS[Section(controls.draw(SHOW))].show(controls, gpu)

st.caption(SOURCES)
