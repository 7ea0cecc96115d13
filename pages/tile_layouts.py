"""Which elements share one scale?"""

import streamlit as st

from fp8core.inputs import InputKind, rules
from fp8core.recipes import RECIPES
from pages.kit.controls import Controls
from pages.kit.shared_controls import MATMUL, RECIPE, SEED
from pages.kit.shell import guard
from pages.sections.tiles import copies as tile_copies
from pages.sections.tiles import counts as tile_counts
from pages.sections.tiles import overview as tile_overview
from pages.sections.tiles import picture as tile_picture
from pages.sections.tiles import rule as tile_rule
from pages.sections.tiles.controls import ALL_CONTROLS, IN, INPUT, OUT, SHOW, TOKENS
from pages.sections.tiles.exact_rules import exact_rules
from pages.sections.tiles.words import ONE_SCALE

NUMBERS, SIZES = (INPUT, SEED), (TOKENS, IN, OUT)
SECTIONS = {
    "picture": (tile_picture, (RECIPE, MATMUL), (*NUMBERS, *SIZES)),
    "overview": (tile_overview, (), NUMBERS),
    "copies": (tile_copies, (RECIPE,), (*NUMBERS, *SIZES)),
    "rule": (tile_rule, (MATMUL,), (*NUMBERS, *SIZES)),
    "counts": (tile_counts, (RECIPE,), SIZES),
}
CORNER = ". A narrow drawn corner of x still shows two outlier channels."
CHOICE_WIDTH = {RECIPE: 550, MATMUL: 250}

guard()
st.title("Which elements share one scale?")
controls = Controls(*ALL_CONTROLS)
st.markdown(ONE_SCALE)
controls.toolbar(st.sidebar)

section, choices, settings = SECTIONS[controls.draw(SHOW)]
row = st.container(horizontal=True)
for choice in choices:
    controls.draw(choice, row.container(width=CHOICE_WIDTH[choice]))
for setting in settings:
    if setting is TOKENS:
        st.sidebar.caption("Sizes of the layer")
    controls.draw(setting, st.sidebar)
    if setting is INPUT:
        kind = InputKind(controls.value(INPUT))
        st.sidebar.caption(rules(kind) + (CORNER if kind is InputKind.OUTLIER_CHANNELS else "."))

section.show(controls, tile_picture.layer_of(controls))

if RECIPE in choices:
    st.caption(f"Source of this recipe: {RECIPES[controls.value(RECIPE)].source}.")
exact_rules()
