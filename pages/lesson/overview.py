"""All chapters: what they take, what comes before, and how far this visitor is."""

from collections.abc import Sequence
from html import escape

import streamlit as st

from pages.kit.charts.words import count
from pages.kit.classroom.shared import visitor
from pages.kit.classroom.store import store
from pages.kit.controls import Controls
from pages.kit.inert import plain
from pages.kit.lesson.chapter import Chapter
from pages.kit.lesson.library import Library, Place, places_of
from pages.kit.lesson.panel import go
from pages.kit.lesson.prediction import answer_at, truth_is_out
from pages.kit.look.presenter import projected
from pages.kit.view import draw_notice, here, stage
from pages.kit.widgets import Choice, Select, Toggle

ALL = ""

PRINT = Toggle(
    key="print",
    label="For paper",
    help="All steps one under the other. The browser's own print command makes a PDF of them.",
)
KNOW = "Each step is beside its page. Your answer is locked. Then the page computes the truth."
_SQUARES = (
    '<p class="chapter key"><i class="done"></i>predicted<i></i>waits for your prediction'
    '<i class="told"></i>no question</p>'
)
_KEY = "lesson_map"
_STYLE = f"""<style>
.st-key-{_KEY} > div > [data-testid="stHorizontalBlock"] {{
    gap: 0 24px; min-height: 44px; flex-wrap: nowrap;
    border-bottom: 1px solid light-dark(#dfe3e9, #2b3441); }}
.st-key-{_KEY} [data-testid="stPageLink"] {{ width: 300px; }}
.st-key-{_KEY} > div > [data-testid="stHorizontalBlock"] {{ position: relative; }}
.st-key-{_KEY} > div > [data-testid="stHorizontalBlock"]:hover {{ background: light-dark(#f7f8fa, #151a22); }}
.st-key-{_KEY} a {{ padding: 0; min-height: 28px !important; background: none !important; }}
.st-key-{_KEY} a::after {{ content: ""; position: absolute; inset: 0; }}
.st-key-{_KEY} a p::after {{ content: " →"; color: light-dark(#525c6a, #a9b3c1); }}
.chapter.key {{ gap: 4px 6px !important; flex-wrap: wrap; margin: 12px 0 0; }}
.chapter.key i:not(:first-child) {{ margin-left: 16px; }}
.st-key-{_KEY} a p {{ font-size: 16px; font-weight: 600; }}
.chapter {{ display: flex; align-items: center; gap: 4px 20px; font-size: 15px; line-height: 20px;
    color: light-dark(#525c6a, #a9b3c1); }}
.chapter > span:first-child {{ display: flex; gap: 5px; width: 190px; flex: none; align-items: center; }}
.chapter i {{ width: 16px; height: 16px; border-radius: 2px;
    border: 1.5px solid light-dark(#78828f, #76818f); }}
.chapter i.done {{ background: light-dark(#2a3441, #c3ccd8); border-color: light-dark(#2a3441, #c3ccd8); }}
.chapter i.told {{ height: 0; border-width: 0 0 2px; }}
.chapter > span:nth-child(2) {{ width: 88px; flex: none; }}
.chapter b {{ color: light-dark(#14181f, #edf0f4); font-weight: 650; }}
@media (max-width: 640px) {{
    .st-key-{_KEY} > div > [data-testid="stHorizontalBlock"] {{ min-height: 50px; gap: 0 8px; }}
    .st-key-{_KEY} [data-testid="stPageLink"] {{ width: 190px; }}
    .chapter {{ font-size: 13px; flex-wrap: wrap; }}
    .chapter > span:first-child {{ width: 160px; gap: 3px; }}
    .chapter i {{ width: 13px; height: 13px; }}
    .chapter .after {{ display: none; }}
}}
</style>"""
_PROJECTED = f"""<style>@media (min-width: 641px) {{
.st-key-{_KEY} > div > [data-testid="stHorizontalBlock"] {{ min-height: 28px; border: 0; }}
.st-key-{_KEY} [data-testid="stPageLink"] {{ width: 230px; }}
.chapter .after {{ display: none; }}
}}</style>"""


def chapter_control(lessons: Library) -> Choice[str]:
    return Select(
        key="chapter",
        label="Chapter",
        options={ALL: "All chapters"} | {one.name: one.title for one in lessons.chapters},
    )


def show(controls: Controls, chapter_control: Choice[str], lessons: Library) -> None:
    view = here()
    for complaint in lessons.complaints:
        view.warning.warning(f"A chapter is left out. {plain(complaint)}")
    place = lessons.place(store().place_of(visitor()) or "")
    name = controls.draw(chapter_control, view.sections.container(width=260))
    controls.draw(PRINT)
    chapter = lessons.chapter(name)
    minutes = chapter.minutes if chapter else lessons.minutes
    what = "This chapter takes" if chapter else "All chapters take"
    draw_notice(f"Predict first, then see the truth. {what} about **{count(minutes, 'minute')}**.")
    _draw_resume(places_of(chapter) if chapter else lessons.places, place)
    with stage().container(key=_KEY, gap=None):
        st.html(_STYLE + (_PROJECTED if projected() else ""))
        for one in lessons.chapters if name == ALL else ():
            _draw_chapter(one, lessons, place)
        for one in places_of(chapter) if chapter else ():
            _draw_step(one, place)
        st.html(_SQUARES)
    view.know.markdown(KNOW)


def _draw_resume(places: Sequence[Place], place: Place | None) -> None:
    if not places:
        return
    to, label = places[0], f"Begin with {places[0].chapter.title}"
    if place in places:
        to, label = place, f"Go on with {place.chapter.title}, step {place.number}"
    if here().control.button(label, key="lesson_resume", type="primary"):
        go(to)


def _draw_chapter(chapter: Chapter, lessons: Library, place: Place | None) -> None:
    places = places_of(chapter)
    states = [_state(one) for one in places]
    predictions, waiting = states.count("done"), states.count("")
    to = places[states.index("") if predictions and waiting else 0]
    squares = "".join(
        f'<i class="{state}" title="{escape(one.step.title)}"></i>'
        for one, state in zip(places, states, strict=True)
    )
    before = [chapter_before.title for name in chapter.after if (chapter_before := lessons.chapter(name))]
    after = f'<span class="after">after {escape(", ".join(before))}</span>' if before else ""
    if place is not None and place.chapter is chapter:
        after = f"<b>you are at step {place.number}</b>"
    label = f"{predictions} of {count(predictions + waiting, 'prediction')} made"
    status = f'<span role="img" aria-label="{label}">{squares}</span>'
    _draw_row(to, chapter.title, f"{status}<span>{count(chapter.minutes, 'minute')}</span>{after}")


def _draw_step(one: Place, place: Place | None) -> None:
    state = _state(one)
    status = {"": "waits for your prediction", "done": "predicted", "told": "no question"}[state]
    mine = "<b>you are here</b>" if place == one else ""
    _draw_row(one, f"{one.number}. {one.step.title}", f'<span><i class="{state}"></i>{status}</span>{mine}')


def _draw_row(to: Place, label: str, status: str) -> None:
    with st.container(horizontal=True, vertical_alignment="center"):
        parameters = to.parameters(truth_is_out(to))
        st.page_link(f"pages/{to.step.page}.py", label=label, query_params=parameters, width="content")
        st.html(f'<div class="chapter">{status}</div>')


def _state(place: Place) -> str:
    if place.step.predict is None:
        return "told"
    return "done" if answer_at(place) is not None else ""
