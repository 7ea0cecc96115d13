"""The plan of a class: which steps it takes in its minutes, which it skips, and where it is."""

import streamlit as st

from pages.classroom.answers import title
from pages.classroom.door import by_teacher
from pages.kit.charts.words import count
from pages.kit.classroom.store import store
from pages.kit.lesson.chapter import Plan
from pages.kit.lesson.library import Library, Place, library, places_of

_KEY = "class_plan"
NONE = ""


@st.fragment
def draw_plan(present: Place | None) -> None:
    """Draw the choice of a plan, which "Next" follows in every open page, and its steps."""
    lessons = library()
    names = [NONE, *(plan.name for plan in lessons.plans)]
    st.session_state[_KEY] = store().plan if store().plan in names else NONE
    st.segmented_control(
        "Plan",
        names,
        key=_KEY,
        format_func=lambda name: f"{name} minutes" if name else "All steps",
        required=True,
        label_visibility="collapsed",
        on_change=by_teacher(lambda: store().follow_plan(st.session_state.get(_KEY) or NONE)),
    )
    plan = lessons.plan(store().plan)
    if plan is None:
        st.caption("With a plan, “Next” leads the class through its steps and skips all others.")
        return
    minute = 0
    for place in lessons.places:
        if (minutes := plan.steps.get(place.key)) is None:
            continue
        with st.container(horizontal=True, vertical_alignment="center", gap="small"):
            st.caption(f"{minute} min", width=64)
            st.page_link(
                f"pages/{place.step.page}.py",
                label=f"**{title(place)}**" if place == present else title(place),
                query_params=place.parameters(),
                width="content",
            )
            st.caption(count(minutes, "minute"), width="content")
        minute += minutes
    st.caption(skipped(lessons, plan))


def skipped(lessons: Library, plan: Plan) -> str:
    skips = []
    for chapter in lessons.chapters:
        numbers = [str(place.number) for place in places_of(chapter) if place.key not in plan.steps]
        if len(numbers) == len(chapter.steps):
            skips.append(chapter.title)
        elif numbers:
            skips.append(f"{chapter.title} {', '.join(numbers)}")
    return f"Skipped: {'; '.join(skips).rstrip('?')}."
