"""Which recipes train as well as bf16?"""

import streamlit as st

from pages.kit.controls import Controls
from pages.kit.shell import guard
from pages.kit.terms.explain import draw_text
from pages.sections.loss import breaks as loss_breaks
from pages.sections.loss import curves as loss_curves
from pages.sections.loss import elsewhere as loss_elsewhere
from pages.sections.loss import inside as loss_inside
from pages.sections.loss import sure as loss_sure
from pages.sections.loss import train as loss_train
from pages.sections.loss.controls import ALL_CONTROLS, SHOW
from pages.sections.loss.words import IDEA

SECTIONS = {
    "curves": loss_curves,
    "train": loss_train,
    "inside": loss_inside,
    "breaks": loss_breaks,
    "sure": loss_sure,
    "elsewhere": loss_elsewhere,
}

guard()
st.title("Does the loss notice?")
controls = Controls(*ALL_CONTROLS)
draw_text(IDEA)
controls.toolbar(st.sidebar)
SECTIONS[controls.draw(SHOW)].show(controls)
