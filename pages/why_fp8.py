"""Why train with eight bits?"""

import streamlit as st

from pages.kit.address import follow_moved
from pages.kit.controls import Controls
from pages.kit.shell import guard
from pages.kit.view import open_view
from pages.why_fp8 import bound as why_bound
from pages.why_fp8 import history as why_history
from pages.why_fp8 import memory as why_memory
from pages.why_fp8 import rates as why_rates
from pages.why_fp8 import scaled as why_scaled
from pages.why_fp8.controls import SHOW
from pages.why_fp8.facts import CONTROLS

SECTIONS = {
    "bound": why_bound,
    "rates": why_rates,
    "memory": why_memory,
    "scaled": why_scaled,
    "history": why_history,
}

guard()
follow_moved({(SHOW.key, "cache"): (None, {SHOW.key: "memory", why_memory.MOMENT.key: why_memory.CACHE})})
view = open_view("Why train with eight bits?")
controls = Controls(*CONTROLS)
controls.toolbar(st.sidebar)
with view.below:
    SECTIONS[controls.draw(SHOW, view.sections)].show(controls)
