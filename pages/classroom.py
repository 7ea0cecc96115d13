"""Who is on which step, and what does the class predict? The teacher's view of a class."""

import streamlit as st

from pages.kit.classroom.store import store
from pages.kit.controls import Controls
from pages.kit.gemm.queue_panel import workers
from pages.kit.shell import end, guard
from pages.sections.classroom import answers
from pages.sections.classroom.controls import LINK, step_control
from pages.sections.classroom.door import draw_door, is_teacher
from pages.sections.classroom.export import draw_export
from pages.sections.classroom.gpu import draw_limits, draw_line
from pages.sections.classroom.join import draw_join
from pages.sections.classroom.lead import draw_ends, draw_lead
from pages.sections.classroom.roster import draw_roster

guard()
st.title("The class")
asking = answers.asking()
step = step_control({key: answers.title(place) for key, place in asking.items()})
controls = Controls(step, LINK)
controls.toolbar(st.sidebar)
if not is_teacher():
    draw_door()
    end()

if store().trouble:
    st.error(store().trouble)
draw_lead()
people, link = st.columns([3, 2], gap="large")
with people:
    st.header("Who is where", anchor=False)
    draw_roster()
with link, st.expander("Join", expanded=True, icon=":material/qr_code:"):
    draw_join(controls.draw(LINK))
st.header("What the class predicts", anchor=False)
chosen = asking.get(controls.draw(step))
if chosen is not None:
    answers.draw_step(chosen)
st.header("The line for the GPU", anchor=False)
draw_line(workers())
with st.expander("Limits of a run"):
    draw_limits(workers())
st.header("The end", anchor=False)
draw_export()
draw_ends()
