"""Which recipes train as well as bf16?

Eight bits are fast, and a little wrong. Does a training run suffer?
"""

import streamlit as st

from pages.kit.address import follow_moved
from pages.kit.controls import Controls
from pages.kit.shell import guard
from pages.kit.view import open_view
from pages.loss import breaks as loss_breaks
from pages.loss import curves as loss_curves
from pages.loss import elsewhere as loss_elsewhere
from pages.loss import train as loss_train
from pages.loss.controls import ALL_CONTROLS, ENDS, LAYERS, LOSS, SHOW

SECTIONS = {
    "curves": loss_curves,
    "train": loss_train,
    "breaks": loss_breaks,
    "elsewhere": loss_elsewhere,
}

guard()
follow_moved(
    {
        (SHOW.key, old): (None, {SHOW.key: "curves", LOSS.key: loss})
        for old, loss in (("inside", LAYERS), ("sure", ENDS))
    }
)
view = open_view("Does the loss notice?")
controls = Controls(*ALL_CONTROLS)
controls.toolbar(st.sidebar)
with view.below:
    SECTIONS[controls.draw(SHOW, view.sections)].show(controls)
