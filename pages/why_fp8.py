"""Why train with eight bits?

Eight bits lose small numbers. What do they buy?
"""

from pages.kit.shell import open_page
from pages.why_fp8 import bound, history, memory, rates, scaled
from pages.why_fp8.controls import SHOW
from pages.why_fp8.facts import CONTROLS

SECTIONS = {"bound": bound, "rates": rates, "memory": memory, "scaled": scaled, "history": history}

view, controls = open_page(
    "Why train with eight bits?",
    *CONTROLS,
    moved={(SHOW.key, "cache"): (None, {SHOW.key: "memory", memory.MOMENT.key: memory.CACHE})},
)
with view.below:
    SECTIONS[controls.draw(SHOW, view.sections)].show(controls)
