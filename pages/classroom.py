"""Who is on which step, and what does the class predict? The teacher's view of a class."""

import streamlit as st

from pages.classroom import answers
from pages.classroom.answers import draw_export, step_control
from pages.classroom.door import by_teacher, draw_corner, draw_door, is_teacher
from pages.classroom.plan import draw_plan
from pages.classroom.roster import ask, draw_ends, draw_lead, draw_line, draw_over, draw_roster
from pages.kit.classroom.join import LINK
from pages.kit.classroom.store import store
from pages.kit.controls import Controls
from pages.kit.gemm.queue_panel import workers
from pages.kit.shell import end, guard
from pages.kit.view import open_view, stage

guard()
asking = answers.asking()
step = step_control({key: answers.title(place) for key, place in asking.items()})
controls = Controls(step, LINK)
place = asking.get(controls.value(step)) if is_teacher() else None
view = open_view(answers.question(place) if place else "What does the class predict?")
controls.toolbar()
if not is_teacher():
    draw_over()
    draw_door()
    end()
if place is not None:
    ask(place)

if store().trouble:
    view.warning.error(store().trouble)
draw_corner(controls.draw(LINK))
with view.notice, st.container(key="class_count"):
    answers.draw_count(place)
controls.draw(step, view.sections.container(width=420))
with stage(), st.container(key="class_picture"):
    if place is not None:
        answers.draw_step(place, by_teacher(lambda place: controls.preset(step=place.key)))
with view.below:
    draw_lead(place)
    st.header("The plan", anchor=False)
    draw_plan(place)
    st.header("Who is where", anchor=False)
    draw_roster()
    st.header("The line for the GPU", anchor=False)
    draw_line(workers())
    st.header("The end", anchor=False)
    draw_export()
    draw_ends()
