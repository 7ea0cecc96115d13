"""How can a network train in eight bits?"""

import streamlit as st

from pages.kit.address import foreign, frame_parameters
from pages.kit.charts.ink import INKS
from pages.kit.controls import Controls
from pages.kit.notice import draw_notice
from pages.kit.shell import guard, theme
from pages.kit.terms.explain import draw_text
from pages.kit.view import open_view, stage
from pages.start.controls import CONTROLS, POWER
from pages.start.doors import draw_doors
from pages.start.numbers import tile
from pages.start.picture import picture
from pages.start.times import layer_times
from pages.start.words import INTRODUCTION, about_numbers, about_times, notice

# The page that an address without a page's name opened before there was this one: links still mean it.
FIRST_PAGE = "pages/tile_layouts.py"

guard()
if meant := foreign(control.key for control in CONTROLS):
    st.switch_page(FIRST_PAGE, query_params={**meant, **frame_parameters()})
view = open_view("How can a network train in eight bits?")
controls = Controls(*CONTROLS)
controls.toolbar(st.sidebar)
view.control.caption("Size × 2ⁿ", width="content")
shown, times = tile(controls.draw(POWER, view.control.container(width=300))), layer_times()
draw_notice(notice(shown))
stage().html(picture(shown, INKS[theme()]))
with view.below:
    draw_doors(times, INKS[theme()])
draw_text(INTRODUCTION, view.know)
view.know.markdown(about_numbers(shown))
view.know.caption(about_times(times))
