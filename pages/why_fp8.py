"""Why train with eight bits?"""

import streamlit as st

from pages.kit.controls import Controls
from pages.kit.shell import guard
from pages.kit.view import open_view
from pages.why_fp8 import bound as why_bound
from pages.why_fp8 import cache as why_cache
from pages.why_fp8 import history as why_history
from pages.why_fp8 import memory as why_memory
from pages.why_fp8 import rates as why_rates
from pages.why_fp8 import scaled as why_scaled
from pages.why_fp8.controls import ALL_CONTROLS, SHOW

SECTIONS = {
    "bound": why_bound,
    "rates": why_rates,
    "cache": why_cache,
    "memory": why_memory,
    "scaled": why_scaled,
    "history": why_history,
}

guard()
view = open_view("Why train with eight bits?")
controls = Controls(*ALL_CONTROLS)
controls.toolbar(st.sidebar)
with view.below:
    SECTIONS[controls.draw(SHOW, view.sections)].show(controls)
