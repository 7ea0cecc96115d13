"""Why train with eight bits?"""

import streamlit as st

from pages.kit.controls import Controls
from pages.kit.shell import guard
from pages.kit.view import open_view
from pages.sections.why import bound as why_bound
from pages.sections.why import cache as why_cache
from pages.sections.why import history as why_history
from pages.sections.why import memory as why_memory
from pages.sections.why import rates as why_rates
from pages.sections.why import scaled as why_scaled
from pages.sections.why.controls import ALL_CONTROLS, SHOW

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
