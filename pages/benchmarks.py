"""How close to the hardware do these kernels get?

One matmul was fast. What about every recipe, and other shapes?
"""

from pages.benchmarks import any_shape, cost, data, ratios, roofline
from pages.benchmarks.controls import CONTROLS, SHOW, gpu_control
from pages.kit.gemm.results import draw_bad_lines, draw_downloads
from pages.kit.shell import open_page

SECTIONS = {"ratios": ratios, "roofline": roofline, "any_shape": any_shape, "cost": cost}
IDEA = (
    "A GPU's clock falls when it gets warm or meets its power limit. So one time alone says little about a "
    "kernel. Here each kernel is **compared with torch's own op in the same run**: the two took turns, on "
    "random normal data."
)
SOURCES = (
    "The rows come from `python -m kernels.measure gemm`. These files hold all fields of rows on this GPU:"
)

of_gpu = gpu_control(data.gpus())
view, controls = open_page("How close to the hardware?", *CONTROLS, of_gpu)
with view.below:
    draw_bad_lines()
    section = SECTIONS[controls.draw(SHOW, view.sections)]
    gpu = controls.draw(of_gpu) if len(of_gpu.options) > 1 else controls.value(of_gpu)
    section.show(controls, gpu)
view.know.markdown(IDEA)
if every := data.every_result(gpu):
    view.know.caption(SOURCES)
    with view.know:
        draw_downloads(every)
