"""What can eight bits say?

Eight bits are twice as fast as sixteen, but they say few numbers.
"""

from pages.formats import code, compare, gradients, overflow
from pages.formats.controls import SHOW
from pages.formats.facts import CONTROLS, exact_rules
from pages.kit.shell import open_page

SECTIONS = {"code": code, "compare": compare, "gradients": gradients, "overflow": overflow}
IDEA = (
    "A number format turns a few bits into a number. The **sign** is plus or minus, the **exponent** chooses "
    "a power of two, and the **mantissa** says how far the number lies toward the next power. Eight bits "
    "give at most 256 numbers. Every other real number is rounded to one of them."
)

view, controls = open_page(
    "What can eight bits say?",
    *CONTROLS,
    moved={(SHOW.key, "range"): (None, {SHOW.key: "compare", compare.AXIS.key: "count"})},
)
with view.below:
    SECTIONS[controls.draw(SHOW, view.sections)].show(controls)
view.know.markdown(IDEA)
view.know.markdown(exact_rules())
