"""Who is on which step, and what does the class predict? The teacher's view of a class."""

import streamlit as st

from pages.kit.classroom.store import store
from pages.kit.controls import Controls
from pages.kit.shell import guard
from pages.sections.classroom.controls import LINK
from pages.sections.classroom.door import draw_door, is_teacher
from pages.sections.classroom.join import draw_join
from pages.sections.classroom.lead import draw_ends, draw_lead

guard()
st.title("The class")
controls = Controls(LINK)
controls.toolbar(st.sidebar)
if not is_teacher():
    draw_door()
    st.stop()

if store().trouble:
    st.error(store().trouble)
draw_lead()
with st.expander("Join", expanded=True, icon=":material/qr_code:"):
    draw_join(controls.draw(LINK))
draw_ends()
