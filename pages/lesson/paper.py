"""Chapters for paper: every step with its picture, its question and room for the answer; then the answers."""

from collections.abc import Sequence
from pathlib import Path

import streamlit as st

from pages.kit.classroom.join import LINK, class_link, qr_html, without_scheme
from pages.kit.classroom.shared import shared, visitor
from pages.kit.classroom.store import store
from pages.kit.controls import Controls
from pages.kit.inert import plain
from pages.kit.lesson.chapter import Chapter, Kind, Prediction
from pages.kit.lesson.facts import filled, truth_of
from pages.kit.lesson.library import Place, places_of
from pages.kit.lesson.pictures import draw_step_picture
from pages.kit.lesson.prediction import in_unit, truth_is_out, verdict
from pages.kit.widgets import Choice
from pages.lesson.overview import PRINT

_STYLE = f"<style>{Path(__file__).with_suffix('.css').read_text(encoding='utf-8')}</style>"
QR_PIXELS = 110


def show(controls: Controls, chapter_control: Choice[str], chapters: Sequence[Chapter]) -> None:
    st.html(_STYLE)
    with st.container(key="paper_controls"):
        st.caption("Print this page with the browser: the controls stay off the paper.")
        row = st.container(horizontal=True, vertical_alignment="bottom")
        controls.draw(chapter_control, row.container(width=280))
        controls.draw(LINK, row.container(width=280))
        controls.draw(PRINT, row)
        url, doubt = class_link(controls.value(LINK))
        if doubt:
            st.caption(doubt)
    with st.container(key="paper"):
        for chapter in chapters:
            for place in places_of(chapter):
                with st.container(key=f"paper_step_{chapter.name}_{place.number}"):
                    # A page never ends between a chapter's title and its first step.
                    if place.number == 1:
                        _draw_head(chapter, link_to(url, place))
                    _draw_step(place, url)
        answers = [place for chapter in chapters for place in _answers(chapter)]
        if answers:
            with st.container(key="paper_answers"):
                st.title("Answers", anchor=False)
                for place in answers:
                    _draw_answer(place)


def link_to(url: str, place: Place) -> str:
    """An address that is short enough to type: the step itself sets its page."""
    return f"{url}?lesson={place.key}"


def _draw_head(chapter: Chapter, link: str) -> None:
    row = st.container(horizontal=True, horizontal_alignment="distribute")
    with row.container(width="content"):
        st.title(chapter.title, anchor=False)
        st.markdown(f"{chapter.minutes} minutes · {len(chapter.steps)} steps")
        st.markdown(plain(without_scheme(link)))
    row.html(qr_html(link, QR_PIXELS), width="content")


def _draw_step(place: Place, url: str) -> None:
    step = place.step
    st.header(f"{place.number}. {step.title}", anchor=False)
    try:
        settings = step.settings(is_locked=False)
        st.markdown(filled(step.text, settings))
        draw_step_picture(place, "paper-picture")
        if step.predict is not None:
            st.markdown(f"**Predict.** {filled(step.predict.ask, settings)}")
            _draw_room(step.predict)
        st.markdown(f"**Do:** {filled(step.do, settings)}")
    except ValueError as wrong:
        st.error(plain(f"This step cannot be shown: {wrong}."))
    st.caption(f"On the screen: {plain(without_scheme(link_to(url, place)))}")


def _draw_room(predict: Prediction) -> None:
    if predict.kind is Kind.CHOICE:
        st.markdown("\n".join(f"- ☐ {option.say}" for option in predict.options))
    elif predict.kind is Kind.AXIS:
        ends = (in_unit(value or 0.0, predict) for value in (predict.low, predict.high))
        st.markdown(f"My answer, {' to '.join(ends)}:")
    else:
        st.markdown(f"My answer{f', in {predict.unit}' if predict.unit else ''}:")
    st.html('<div class="answer_line"></div>')


def _answers(chapter: Chapter) -> list[Place]:
    """The steps whose answers this reader may have: in a class, the revealed ones."""
    may_all = not store().is_open or shared().is_teacher(visitor())
    return [one for one in places_of(chapter) if one.step.predict and (may_all or truth_is_out(one))]


def _draw_answer(place: Place) -> None:
    predict = place.step.predict
    try:
        truth = truth_of(place.step)
        words = filled(predict.reveal, place.step.settings(is_locked=True), truth)
        st.markdown(f"**{place.chapter.title} {place.number}.** {verdict(predict, None, truth)} {words}")
    except ValueError as wrong:
        st.error(plain(f"This step cannot be shown: {wrong}."))
