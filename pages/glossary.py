"""What does this word mean, and where is it shown?"""

import streamlit as st

from pages.glossary.words import ALL_CONTROLS, show
from pages.kit.address import follow_moved
from pages.kit.controls import Controls
from pages.kit.shell import guard
from pages.kit.view import open_view

guard()
follow_moved({("glossary", "concepts"): ("pages/glossary.py", {})})
view = open_view("What does this word mean?")
controls = Controls(*ALL_CONTROLS)
controls.toolbar(st.sidebar)
with view.below:
    show(controls)
