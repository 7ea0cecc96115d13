"""Why can't fp8 do without a scale?"""

import streamlit as st

from pages.kit.controls import Controls
from pages.kit.shell import guard
from pages.kit.view import open_view
from pages.scaling import delayed as scaling_delayed
from pages.scaling import rules as scaling_rules
from pages.scaling import window as scaling_window
from pages.scaling.controls import ALL_CONTROLS, SHOW

SECTIONS = {"window": scaling_window, "rules": scaling_rules, "delayed": scaling_delayed}

guard()
view = open_view("Why can't FP8 do without a scale?")
controls = Controls(*ALL_CONTROLS)
controls.toolbar(st.sidebar)
with view.below:
    SECTIONS[controls.draw(SHOW, view.sections)].show(controls)
