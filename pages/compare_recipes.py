"""In what do recipes differ?"""

import streamlit as st

from pages.kit.controls import Controls
from pages.kit.shell import guard
from pages.kit.terms.explain import draw_text
from pages.sections.differences import size as differences_size
from pages.sections.differences import table as differences_table
from pages.sections.differences.controls import ALL_CONTROLS, SHOW

SECTIONS = {"table": differences_table, "size": differences_size}

guard()
st.title("In what do recipes differ?")
controls = Controls(*ALL_CONTROLS)
draw_text(
    "Every recipe divides numbers by scales. Recipes differ in three things: **which numbers share a "
    "scale**, **the format of the scale itself**, and **which copies** of a tensor are kept."
)
controls.toolbar(st.sidebar)

SECTIONS[controls.draw(SHOW)].show(controls)
