"""All chapters: what they take, what comes before, and how far this visitor is."""

import streamlit as st

from pages.kit.charts.words import count
from pages.kit.classroom.store import store
from pages.kit.classroom.visitor import visitor
from pages.kit.controls import Controls, link_params
from pages.kit.inert import plain
from pages.kit.lesson.answers import answer_at
from pages.kit.lesson.chapter import Chapter
from pages.kit.lesson.library import Library, Place
from pages.kit.widgets import Choice
from pages.kit.widgets import Place as Spot
from pages.sections.lesson.controls import ALL, PRINT

PAGE = "pages/lesson.py"


def show(controls: Controls, chapter_control: Choice[str], lessons: Library) -> None:
    """Draw the way to go on, then every chapter, or the steps of the chosen one."""
    for complaint in lessons.complaints:
        st.warning(f"A chapter is left out. {plain(complaint)}")
    st.markdown(
        f"{count(len(lessons.chapters), 'chapter')}, about {lessons.minutes} minutes in all. A step stands "
        "beside the page that it is about. **Predict** first: your answer is locked, then the page computes "
        "the truth."
    )
    here = lessons.place(store().place_of(visitor()) or "")
    _draw_resume(lessons, here)
    row = st.container(horizontal=True, vertical_alignment="bottom")
    chosen = controls.draw(chapter_control, row.container(width=280))
    controls.draw(PRINT, row)
    for chapter in lessons.chapters:
        if chosen in (ALL, chapter.name):
            _draw_chapter(chapter, lessons, here, has_steps=chosen != ALL)


def _draw_resume(lessons: Library, here: Place | None) -> None:
    """The link to where this visitor was, or to the first step."""
    if not lessons.places:
        return
    place = here or lessons.places[0]
    where = f"{place.chapter.title}, step {place.number}"
    _step_link(place, f"**Go on with {where}**" if here else f"**Begin with {place.chapter.title}**", st)


def _draw_chapter(chapter: Chapter, lessons: Library, here: Place | None, has_steps: bool) -> None:
    places = [place for place in lessons.places if place.chapter is chapter]
    with st.container(border=True):
        st.subheader(chapter.title, anchor=False)
        st.markdown(" · ".join(_told(chapter, places, lessons, here)))
        if has_steps:
            for place in places:
                _step_link(place, f"{place.number}. {place.step.title}", st)
        row = st.container(horizontal=True)
        if not has_steps:
            _step_link(places[0], "Begin", row)
            steps = link_params(chapter=chapter.name, print=False)
            row.page_link(PAGE, label="Steps", query_params=steps, icon=":material/list:")
        paper = link_params(chapter=chapter.name, print=True)
        row.page_link(PAGE, label="For paper", query_params=paper, icon=":material/print:")


def _told(chapter: Chapter, places: list[Place], lessons: Library, here: Place | None) -> list[str]:
    """What a chapter takes, and what this visitor has of it."""
    told = [count(chapter.minutes, "minute"), count(len(places), "step")]
    before = [found.title for name in chapter.after if (found := lessons.chapter(name))]
    asked = [place for place in places if place.step.predict is not None]
    answered = sum(answer_at(place) is not None for place in asked)
    if before:
        told.append(f"after {', '.join(before)}")
    if asked:
        told.append(f"{answered} of {count(len(asked), 'prediction')} made")
    if here is not None and here.chapter is chapter:
        told.append(f"**you are at step {here.number}**")
    return told


def _step_link(place: Place, label: str, spot: Spot) -> None:
    """A link to a step beside its page."""
    spot.page_link(
        f"pages/{place.step.page}.py",
        label=label,
        icon=":material/arrow_forward:",
        query_params=place.parameters(answer_at(place) is not None),
    )
