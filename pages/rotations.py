"""Where do outliers go?"""

import streamlit as st

from fp8core.experiments.outliers import REAL_RESTS, Rest
from fp8core.inputs.recorded import source_of_seed
from pages.kit.address import follow_moved
from pages.kit.controls import Controls
from pages.kit.shared_controls import SEED
from pages.kit.shell import guard
from pages.kit.terms.explain import draw_text
from pages.kit.view import open_view
from pages.rotations import error as rotations_error
from pages.rotations import many as rotations_many
from pages.rotations import vector as rotations_vector
from pages.rotations.controls import (
    ALL_CONTROLS,
    COUNT,
    ERROR_OF,
    FORMAT,
    OPENING,
    PRODUCT,
    REST,
    SCALE,
    SHOW,
    SIZE,
    TILE,
)
from pages.rotations.words import INTRODUCTION, RULES, SOURCES

SECTIONS = {
    "vector": rotations_vector,
    "many": rotations_many,
    "error": rotations_error,
}

guard()
follow_moved({(SHOW.key, "matmul"): (None, {SHOW.key: "error", ERROR_OF.key: PRODUCT})})
view = open_view("Where do outliers go?")
controls = Controls(*ALL_CONTROLS, opening=OPENING)
controls.toolbar(st.sidebar)
with view.below:
    draw_text(INTRODUCTION, view.know)
    section = controls.draw(SHOW, view.sections)
    controls.draw(SIZE, view.control if section == "many" else None)
    for control in (REST, COUNT, SEED):
        controls.draw(control)
    if section != "many":
        for control in (FORMAT, TILE, SCALE):
            if control is not TILE or controls.value(SIZE) != SIZE.default:
                controls.draw(control)
    SECTIONS[section].show(controls)
    if Rest[controls.value(REST).upper()] in REAL_RESTS:
        view.know.caption(source_of_seed(controls.value(SEED)))
    view.know.markdown(RULES)
    view.know.caption(SOURCES)
