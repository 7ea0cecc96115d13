"""Why can't fp8 do without a scale?

Eight bits reach over few powers of two. A scale puts the numbers among them.
"""

import streamlit as st

from pages.kit.controls import Controls
from pages.kit.shell import guard
from pages.kit.view import open_view
from pages.scaling import delayed, rules, window
from pages.scaling.facts import CONTROLS, SHOW

SECTIONS = {"window": window, "rules": rules, "delayed": delayed}

guard()
view = open_view("Why can't FP8 do without a scale?")
controls = Controls(*CONTROLS)
controls.toolbar(st.sidebar)
with view.below:
    SECTIONS[controls.draw(SHOW, view.sections)].show(controls)
