"""Which elements share one scale?"""

import inspect

import streamlit as st

from fp8core import quantize, scales
from fp8core.inputs import INPUT_NOTES, InputKind
from fp8core.recipes import RECIPES
from pages.ui import tile_copies, tile_counts, tile_overview, tile_picture, tile_rule
from pages.ui.controls import Controls
from pages.ui.shell import guard
from pages.ui.tile_controls import ALL_CONTROLS, IN, INPUT, MATMUL, OUT, RECIPE, SEED, SHOW, TOKENS
from pages.ui.tile_words import ONE_SCALE

SECTIONS = {
    "picture": (tile_picture, (RECIPE, MATMUL)),
    "overview": (tile_overview, ()),
    "copies": (tile_copies, (RECIPE,)),
    "rule": (tile_rule, (MATMUL,)),
    "counts": (tile_counts, (RECIPE,)),
}

CORNER = "; a narrow drawn corner still shows two."
CHOICE_WIDTH = {RECIPE: 550, MATMUL: 250}

guard()
st.title("Which elements share one scale?")
controls = Controls(*ALL_CONTROLS)
st.markdown(ONE_SCALE)

controls.toolbar(st.sidebar)
controls.draw(INPUT, st.sidebar)
controls.draw(SEED, st.sidebar)
kind = InputKind(controls.value(INPUT))
st.sidebar.caption(INPUT_NOTES[kind].rule + (CORNER if kind is InputKind.OUTLIER_CHANNELS else "."))
st.sidebar.caption("Sizes of the layer")
for size in (TOKENS, IN, OUT):
    controls.draw(size, st.sidebar)

section, choices = SECTIONS[controls.draw(SHOW)]
row = st.container(horizontal=True)
for choice in choices:
    controls.draw(choice, row.container(width=CHOICE_WIDTH[choice]))

section.show(controls, tile_picture.layer_of(controls))

if RECIPE in choices:
    st.caption(f"Source of this recipe: {RECIPES[controls.value(RECIPE)].source}.")
with st.expander("The exact rules: rounding, the smallest scale, NaN"):
    st.code(inspect.getdoc(quantize), language=None, wrap_lines=True)
    st.markdown(inspect.getdoc(scales))
