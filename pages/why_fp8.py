"""Why train with eight bits?"""

import streamlit as st

from pages.kit.controls import Controls
from pages.kit.shell import guard
from pages.sections.why import bound as why_bound
from pages.sections.why import cache as why_cache
from pages.sections.why import history as why_history
from pages.sections.why import memory as why_memory
from pages.sections.why import rates as why_rates
from pages.sections.why import scaled as why_scaled
from pages.sections.why.controls import ALL_CONTROLS, SHOW

SECTIONS = {
    "rates": why_rates,
    "bound": why_bound,
    "cache": why_cache,
    "memory": why_memory,
    "scaled": why_scaled,
    "history": why_history,
}

guard()
st.title("Why train with eight bits?")
controls = Controls(*ALL_CONTROLS)
controls.toolbar(st.sidebar)
SECTIONS[controls.draw(SHOW)].show(controls)
