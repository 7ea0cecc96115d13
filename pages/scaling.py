"""Why can't fp8 do without a scale?"""

import streamlit as st

from pages.ui import scaling_delayed, scaling_rules, scaling_window
from pages.ui.controls import Controls
from pages.ui.scaling_controls import ALL_CONTROLS, SHOW
from pages.ui.shell import guard

SECTIONS = {"window": scaling_window, "rules": scaling_rules, "delayed": scaling_delayed}

guard()
st.title("Why can't fp8 do without a scale?")
controls = Controls(*ALL_CONTROLS)
controls.toolbar(st.sidebar)
SECTIONS[controls.draw(SHOW)].show(controls)
