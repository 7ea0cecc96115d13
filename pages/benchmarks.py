"""How close to the hardware do these kernels get?

One matmul was fast. What about every recipe, and other shapes?
"""

import streamlit as st

from pages.benchmarks import any_shape as benchmarks_any_shape
from pages.benchmarks import cost as benchmarks_cost
from pages.benchmarks import data
from pages.benchmarks import ratios as benchmarks_ratios
from pages.benchmarks import roofline as benchmarks_roofline
from pages.benchmarks.controls import CONTROLS, SHOW, gpu_control
from pages.kit.controls import Controls
from pages.kit.gemm import results as gemm_results
from pages.kit.gemm.results import draw_downloads
from pages.kit.shell import guard
from pages.kit.view import open_view

SECTIONS = {
    "ratios": benchmarks_ratios,
    "roofline": benchmarks_roofline,
    "any_shape": benchmarks_any_shape,
    "cost": benchmarks_cost,
}
IDEA = (
    "A GPU's clock falls when it gets warm or meets its power limit. So one time alone says little about a "
    "kernel. Here each kernel is **compared with torch's own op in the same run**: the two took turns, on "
    "random normal data."
)
SOURCES = (
    "The rows come from `python -m kernels.measure gemm`. These files hold all fields of rows on this GPU:"
)

guard()
view = open_view("How close to the hardware?")
of_gpu = gpu_control([*dict.fromkeys([*data.gpus(), *benchmarks_any_shape.gpus()])])
controls = Controls(*CONTROLS, of_gpu)
controls.toolbar(st.sidebar)
with view.below:
    gemm_results.draw_bad_lines()
    section = SECTIONS[controls.draw(SHOW, view.sections)]
    gpu = controls.draw(of_gpu) if len(of_gpu.options) > 1 else controls.value(of_gpu)
    section.show(controls, gpu)
view.know.markdown(IDEA)
if every := data.every_result(gpu):
    view.know.caption(SOURCES)
    with view.know:
        draw_downloads(every)
