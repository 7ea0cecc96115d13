"""Where do the small terms go?"""

import streamlit as st

from pages.ui import (
    accumulation_cost,
    accumulation_curves,
    accumulation_measured,
    accumulation_steps,
    accumulation_units,
)
from pages.ui.accumulation_controls import ALL_CONTROLS, SHOW
from pages.ui.controls import Controls
from pages.ui.shell import guard

SECTIONS = {
    "steps": accumulation_steps,
    "curves": accumulation_curves,
    "cost": accumulation_cost,
    "units": accumulation_units,
    "measured": accumulation_measured,
}
IDEA = (
    "A tensor core does not add one product after the other. It aligns a few products with the running sum "
    "**c**. It keeps only the bits that fit into a fixed window below the largest of them, and drops the "
    "rest. Multiplying in FP8 is exact; **adding is where bits are lost**, and the longer the sum, the more."
)

SOURCES = (
    "Sources: MMA-Sim, arXiv 2511.10909, and Khattak & Mikaitis, arXiv 2512.07004, for the steps; "
    "DeepSeek-V3, arXiv 2412.19437, section 3.3.2, for promotion."
)

guard()
st.title("Where do the small terms go?")
controls = Controls(*ALL_CONTROLS)
st.markdown(IDEA)

controls.toolbar(st.sidebar)

SECTIONS[controls.draw(SHOW)].show(controls)

st.caption(SOURCES)
