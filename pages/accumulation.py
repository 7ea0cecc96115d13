"""Where do the small terms go?

So far single numbers were rounded. Their sum is cut as well.
"""

from pages.accumulation import cost, curves, steps, units
from pages.accumulation.facts import CONTROLS, SHOW
from pages.kit.shell import open_page

SECTIONS = {"steps": steps, "curves": curves, "cost": cost, "units": units}
IDEA = (
    "A tensor core does not add one product after the other. It aligns a few products with the running sum "
    "**c**. It keeps only the bits that fit into a fixed window below the largest of them, and drops the "
    "rest. Multiplying in FP8 is exact; **adding is where bits are lost**, and the longer the sum, the more."
)
SOURCES = (
    "Sources: MMA-Sim, arXiv 2511.10909, and Khattak & Mikaitis, arXiv 2512.07004, for the steps; "
    "DeepSeek-V3, arXiv 2412.19437, section 3.3.2, for promotion."
)

view, controls = open_page("Where do the small terms go?", *CONTROLS)
with view.below:
    SECTIONS[controls.draw(SHOW, view.sections)].show(controls)
view.know.markdown(IDEA)
view.know.caption(SOURCES)
