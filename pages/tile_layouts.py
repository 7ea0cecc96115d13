"""Tile layouts: a stand-in until the page is written."""

import streamlit as st

from pages.ui.controls import Controls
from pages.ui.shared import MATMUL, RECIPE
from pages.ui.shell import guard

guard()
st.title("Tile layouts")
controls = Controls(RECIPE, MATMUL)
controls.toolbar(st.sidebar)
recipe = controls.draw(RECIPE)
matmul = controls.draw(MATMUL)
st.text(f"{recipe} {matmul}")
