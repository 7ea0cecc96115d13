"""All chapters: what they take, what comes before, and how far this visitor is."""

import streamlit as st

from pages.kit.charts.words import count
from pages.kit.classroom.store import store
from pages.kit.classroom.visitor import visitor
from pages.kit.controls import Controls
from pages.kit.inert import plain
from pages.kit.lesson.answers import answer_at
from pages.kit.lesson.chapter import Chapter
from pages.kit.lesson.library import Library, Place
from pages.kit.lesson.panel import go
from pages.kit.widgets import Choice
from pages.sections.lesson.controls import ALL, PRINT


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
            with st.container(border=True):
                _draw_chapter(chapter, lessons, here, has_steps=chosen != ALL)
                _draw_links(controls, chapter_control, chapter, is_alone=chosen != ALL)


def _draw_resume(lessons: Library, here: Place | None) -> None:
    """The button that leads to where this visitor was, or to the first step."""
    if not lessons.places:
        return
    place = here or lessons.places[0]
    where = f"{place.chapter.title}, step {place.number}"
    label = f"Go on with {where}" if here else f"Begin with {place.chapter.title}"
    if st.button(label, key="lesson_resume", type="primary", icon=":material/arrow_forward:"):
        go(place)


def _draw_chapter(chapter: Chapter, lessons: Library, here: Place | None, has_steps: bool) -> None:
    """What the chapter takes, and the links to its steps, or to the first one."""
    places = [place for place in lessons.places if place.chapter is chapter]
    st.header(chapter.title, anchor=False)
    st.markdown(" · ".join(_told(chapter, places, lessons, here)))
    for place in places if has_steps else places[:1]:
        label = f"{place.number}. {place.step.title}"
        st.page_link(
            f"pages/{place.step.page}.py",
            label=label,
            icon=":material/arrow_forward:",
            query_params=place.parameters(answer_at(place) is not None),
        )


def _draw_links(controls: Controls, chapter_control: Choice[str], chapter: Chapter, is_alone: bool) -> None:
    """Buttons that show the chapter's steps, or the chapter for paper: they set this page's controls."""
    row = st.container(horizontal=True)
    for name, icon, is_paper in (
        ("All steps", ":material/list:", False),
        ("For paper", ":material/print:", True),
    ):
        if is_paper or not is_alone:
            row.button(
                name,
                key=f"lesson_{chapter.name}_{name}",
                icon=icon,
                type="tertiary",
                on_click=controls.preset,
                kwargs={chapter_control.key: chapter.name, PRINT.key: is_paper},
            )


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
