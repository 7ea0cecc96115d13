"""How can a network train in eight bits?"""

import streamlit as st

from pages.kit.address import foreign, frame_parameters
from pages.kit.controls import Controls
from pages.kit.shell import guard
from pages.kit.view import open_view, page_ink
from pages.start import window
from pages.start.times import INTRODUCTION, TILES, about_times, draw_doors, timed_layer

# The page that an address without a page's name opened before there was this one: links still mean it.
FIRST_PAGE = TILES
OLD_CONTROL = "power"  # the control of the picture that was here before

guard()
if parameters := foreign([*(control.key for control in window.CONTROLS), OLD_CONTROL]):
    st.switch_page(FIRST_PAGE, query_params={**parameters, **frame_parameters()})
view = open_view("How can a network train in eight bits?")
controls = Controls(*window.CONTROLS)
controls.toolbar()
window.show(controls)
layer = timed_layer()
with view.below:
    draw_doors(layer, page_ink(), window.at_full_size(controls))
view.know.markdown(INTRODUCTION)
view.know.markdown(window.about_numbers())
view.know.caption(about_times(layer))
