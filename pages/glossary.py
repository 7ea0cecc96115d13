"""What does this word mean, and where is it shown?"""

import streamlit as st

from pages.kit.controls import Controls
from pages.kit.shell import guard
from pages.sections.glossary import concepts as glossary_concepts
from pages.sections.glossary import words as glossary_words
from pages.sections.glossary.controls import ALL_CONTROLS, SHOW

guard()
st.title("What does this word mean?")
controls = Controls(*ALL_CONTROLS)
controls.toolbar(st.sidebar)

if controls.draw(SHOW) == "concepts":
    glossary_concepts.show()
else:
    glossary_words.show(controls)
