"""Who is on which step, and what does the class predict? The teacher's view of a class."""

import streamlit as st

from pages.classroom import answers
from pages.classroom.answers import LINK, draw_export, step_control
from pages.classroom.door import draw_door, is_teacher
from pages.classroom.roster import draw_ends, draw_lead, draw_line, draw_roster
from pages.kit.classroom.store import store
from pages.kit.controls import Controls
from pages.kit.gemm.queue_panel import workers
from pages.kit.shell import end, guard
from pages.kit.view import open_view

guard()
asking = answers.asking()
step = step_control({key: answers.title(place) for key, place in asking.items()})
controls = Controls(step, LINK)
chosen = asking.get(controls.value(step)) if is_teacher() else None
view = open_view(answers.question(chosen) if chosen else "What does the class predict?")
controls.toolbar(st.sidebar)
if not is_teacher():
    draw_door()
    end()

if store().trouble:
    view.warning.error(store().trouble)
controls.draw(step, view.control.container(width=420))
link = controls.draw(LINK)
with view.notice:
    answers.draw_count(chosen)
answers.draw_step(chosen, link)
with view.below:
    draw_lead()
    st.header("Who is where", anchor=False)
    draw_roster()
    st.header("The line for the GPU", anchor=False)
    draw_line(workers())
    st.header("The end", anchor=False)
    draw_export()
    draw_ends()
