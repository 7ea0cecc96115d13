"""Which recipe survives outliers?"""

import streamlit as st

from pages.kit.address import follow_moved
from pages.kit.controls import Controls
from pages.kit.shell import guard
from pages.kit.terms.explain import draw_text
from pages.kit.view import open_view
from pages.outliers import lines as outliers_lines
from pages.outliers import map as outliers_map
from pages.outliers import matmuls as outliers_matmuls
from pages.outliers import more as outliers_more
from pages.outliers.controls import ALL_CONTROLS, MORE, SHOW
from pages.outliers.words import INTRODUCTION, SOURCES

SECTIONS = {
    "map": outliers_map,
    "lines": outliers_lines,
    "matmuls": outliers_matmuls,
    "more": outliers_more,
}
MOVED = {(SHOW.key, name): (None, {SHOW.key: "more", MORE.key: name}) for name in MORE.options}

guard()
follow_moved(MOVED | {(SHOW.key, "tiles"): ("pages/compare_recipes.py", {"differ_show": "size"})})
view = open_view("Which recipe survives outliers?")
controls = Controls(*ALL_CONTROLS)
controls.toolbar(st.sidebar)
with view.below:
    draw_text(INTRODUCTION, view.know)
    SECTIONS[controls.draw(SHOW, view.sections)].show(controls)
    view.know.caption(SOURCES)
