"""Which elements share one scale?"""

import streamlit as st

from fp8core.inputs import InputKind, rules
from pages.kit.controls import Controls
from pages.kit.recipes import draw_recipe, draw_source
from pages.kit.shared_controls import MATMUL, SEED
from pages.kit.shell import guard
from pages.kit.terms.explain import draw_text
from pages.sections.tiles import copies as tile_copies
from pages.sections.tiles import counts as tile_counts
from pages.sections.tiles import overview as tile_overview
from pages.sections.tiles import picture as tile_picture
from pages.sections.tiles import rule as tile_rule
from pages.sections.tiles.controls import ALL_CONTROLS, FAMILY, IN, INPUT, OUT, SHOW, TOKENS
from pages.sections.tiles.exact_rules import exact_rules
from pages.sections.tiles.words import ONE_SCALE

NUMBERS, SIZES = (INPUT, SEED), (TOKENS, IN, OUT)
SECTIONS = {
    "picture": (tile_picture, True, (MATMUL,), (*NUMBERS, *SIZES)),
    "overview": (tile_overview, False, (FAMILY,), NUMBERS),
    "copies": (tile_copies, True, (), (*NUMBERS, *SIZES)),
    "rule": (tile_rule, True, (MATMUL,), (*NUMBERS, *SIZES)),
    "counts": (tile_counts, True, (), SIZES),
}
CORNER = ". A narrow drawn corner of x still shows two outlier channels."
CHOICE_WIDTH = {MATMUL: 250, FAMILY: 620}

guard()
st.title("Which elements share one scale?")
controls = Controls(*ALL_CONTROLS)
draw_text(ONE_SCALE)
controls.toolbar(st.sidebar)

section, of_a_recipe, choices, settings = SECTIONS[controls.draw(SHOW)]
row = st.container(horizontal=True)
recipe = draw_recipe(controls, row) if of_a_recipe else None
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

if recipe is not None:
    draw_source(recipe)
exact_rules()
