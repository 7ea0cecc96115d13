"""What does quantizing cost?

The matmuls are fast. To quantize their operands can take longer than they do.
"""

from pages.fused import amax, kernels, timeline
from pages.fused.facts import CONTROLS
from pages.fused.rows import SHOW, source_control
from pages.kit.shell import open_page

of_gpu = source_control()
of_size = kernels.size_control()
view, controls = open_page(
    "What does quantizing cost?",
    *CONTROLS,
    of_gpu,
    of_size,
    moved={
        (SHOW.key, "memory"): ("pages/why_fp8.py", {"why_show": "memory"}),
        (SHOW.key, "cache"): ("pages/why_fp8.py", {"why_show": "memory", "why_moment": "cache"}),
    },
)
with view.below:
    section = controls.draw(SHOW, view.sections)
    if section == "amax":
        amax.show(controls)
    elif section == "kernels":
        kernels.show(controls, controls.draw(of_gpu), of_size)
    else:
        timeline.show(controls, controls.draw(of_gpu))
