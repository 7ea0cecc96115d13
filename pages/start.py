"""How does FP8 training work?"""

import streamlit as st

from pages.kit.address import foreign, frame_parameters
from pages.kit.charts.ink import INKS
from pages.kit.controls import Controls
from pages.kit.shell import guard, theme
from pages.kit.terms.explain import draw_text
from pages.sections.start.controls import CONTROLS, POWER
from pages.sections.start.doors import draw_doors
from pages.sections.start.numbers import tile
from pages.sections.start.picture import picture
from pages.sections.start.times import layer_times
from pages.sections.start.words import INTRODUCTION

# The page that an address without a page's name opened before there was this one: links still mean it.
FIRST_PAGE = "pages/tile_layouts.py"

guard()
if meant := foreign(control.key for control in CONTROLS):
    st.switch_page(FIRST_PAGE, query_params={**meant, **frame_parameters()})
st.title("FP8 Explorer")
controls = Controls(*CONTROLS)
draw_text(INTRODUCTION)
draw_doors(INKS[theme()])
controls.toolbar(st.sidebar)
power = controls.draw(POWER)
st.html(picture(tile(power), layer_times(), INKS[theme()]))
