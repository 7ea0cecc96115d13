"""Where do outliers go?"""

import streamlit as st

from pages.ui import rotations_cost, rotations_error, rotations_many, rotations_matmul, rotations_vector
from pages.ui.controls import Controls
from pages.ui.rotations_controls import (
    ALL_CONTROLS,
    COUNT,
    FORMAT,
    OPENING,
    REST,
    SCALE,
    SEED,
    SHOW,
    SIZE,
    TILE,
)
from pages.ui.rotations_words import INTRODUCTION, RULES, SOURCES
from pages.ui.shell import guard

SECTIONS = {
    "vector": (rotations_vector, (FORMAT, TILE, SCALE)),
    "many": (rotations_many, ()),
    "error": (rotations_error, (FORMAT, TILE, SCALE)),
    "matmul": (rotations_matmul, (FORMAT, TILE, SCALE)),
    "bf16": (rotations_cost, (TILE, SCALE)),
}

guard()
st.title("Where do outliers go?")
controls = Controls(*ALL_CONTROLS, opening=OPENING)
st.markdown(INTRODUCTION)

controls.toolbar(st.sidebar)
for control in (SIZE, REST, COUNT, SEED):
    controls.draw(control, st.sidebar)

section, quantizer = SECTIONS[controls.draw(SHOW)]
if quantizer:
    st.sidebar.caption("Quantized to")
for control in quantizer:
    if control is not TILE or controls.value(SIZE) != SIZE.default:
        controls.draw(control, st.sidebar)

section.show(controls)

st.caption(SOURCES)
with st.expander("The exact rules: rotations, ties, limits"):
    st.markdown(RULES)
