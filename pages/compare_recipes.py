"""In what do recipes differ?

A tile can have many shapes. Each recipe has chosen its own.
"""

import streamlit as st

from pages.compare_recipes import size as differences_size
from pages.compare_recipes import table as differences_table
from pages.compare_recipes.facts import CONTROLS, SHOW
from pages.kit.controls import Controls
from pages.kit.shell import guard
from pages.kit.view import open_view

SECTIONS = {"table": differences_table, "size": differences_size}

guard()
view = open_view("In what do recipes differ?")
controls = Controls(*CONTROLS)
controls.toolbar(st.sidebar)
with view.below:
    SECTIONS[controls.draw(SHOW, view.sections)].show(controls)
