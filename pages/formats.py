"""What can eight bits say?

Eight bits are twice as fast as sixteen, but they say few numbers.
"""

import streamlit as st

from pages.formats import code, compare, gradients, overflow
from pages.formats.controls import SHOW
from pages.formats.facts import CONTROLS, exact_rules
from pages.kit.address import follow_moved
from pages.kit.controls import Controls
from pages.kit.shell import guard
from pages.kit.view import open_view

SECTIONS = {"code": code, "compare": compare, "gradients": gradients, "overflow": overflow}
IDEA = (
    "A number format turns a few bits into a number. The **sign** is plus or minus, the **exponent** chooses "
    "a power of two, and the **mantissa** says how far the number lies toward the next power. Eight bits "
    "give at most 256 numbers. Every other real number is rounded to one of them."
)

guard()
follow_moved({(SHOW.key, "range"): (None, {SHOW.key: "compare", compare.AXIS.key: "count"})})
view = open_view("What can eight bits say?")
controls = Controls(*CONTROLS)
controls.toolbar(st.sidebar)
with view.below:
    SECTIONS[controls.draw(SHOW, view.sections)].show(controls)
view.know.markdown(IDEA)
view.know.markdown(exact_rules())
