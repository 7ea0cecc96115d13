"""How can a network train in eight bits?"""

import streamlit as st

from pages.kit.address import foreign, frame_parameters
from pages.kit.charts.ink import INKS
from pages.kit.controls import Controls
from pages.kit.shell import guard, theme
from pages.kit.terms.explain import draw_text
from pages.kit.view import open_view
from pages.start import hero
from pages.start.times import INTRODUCTION, about_times, draw_doors, layer_times

# The page that an address without a page's name opened before there was this one: links still mean it.
FIRST_PAGE = "pages/tile_layouts.py"
# The control of the picture that was here before.
OLD_CONTROL = "power"

guard()
if parameters := foreign([*(control.key for control in hero.CONTROLS), OLD_CONTROL]):
    st.switch_page(FIRST_PAGE, query_params={**parameters, **frame_parameters()})
view = open_view("How can a network train in eight bits?")
controls = Controls(*hero.CONTROLS)
controls.toolbar(st.sidebar)
hero.show(controls)
times = layer_times()
with view.below:
    draw_doors(times, INKS[theme()])
draw_text(INTRODUCTION, view.know)
view.know.markdown(hero.about_numbers())
view.know.caption(about_times(times))
