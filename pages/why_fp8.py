"""Why train with eight bits?

Eight bits lose small numbers. What do they buy?
"""

import streamlit as st

from pages.kit.address import follow_moved
from pages.kit.controls import Controls
from pages.kit.shell import guard
from pages.kit.view import open_view
from pages.why_fp8 import bound, history, memory, rates, scaled
from pages.why_fp8.controls import SHOW
from pages.why_fp8.facts import CONTROLS

SECTIONS = {"bound": bound, "rates": rates, "memory": memory, "scaled": scaled, "history": history}

guard()
follow_moved({(SHOW.key, "cache"): (None, {SHOW.key: "memory", memory.MOMENT.key: memory.CACHE})})
view = open_view("Why train with eight bits?")
controls = Controls(*CONTROLS)
controls.toolbar(st.sidebar)
with view.below:
    SECTIONS[controls.draw(SHOW, view.sections)].show(controls)
