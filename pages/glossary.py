"""What does this word mean, and where is it shown?"""

import streamlit as st

from pages.kit.controls import Controls
from pages.kit.shell import guard
from pages.sections.glossary import words as glossary_words
from pages.sections.glossary.controls import ALL_CONTROLS

guard()
st.title("What does this word mean?")
controls = Controls(*ALL_CONTROLS)
controls.toolbar(st.sidebar)
st.markdown(
    "Every word of these pages in one sentence. On the other pages, a dotted line under a word shows its "
    "sentence. The link below each entry opens the page that shows it, with the controls set."
)

glossary_words.show(controls)
