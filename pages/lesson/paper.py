"""Chapters for paper: every step with its question and room for the answer."""

from collections.abc import Sequence
from pathlib import Path
from urllib.parse import urljoin

import streamlit as st

from pages.kit.controls import Controls
from pages.kit.inert import plain
from pages.kit.lesson.chapter import Chapter, Kind, Prediction
from pages.kit.lesson.facts import filled
from pages.kit.lesson.library import Place
from pages.kit.lesson.prediction import in_unit
from pages.kit.widgets import Choice
from pages.lesson.overview import PRINT

_STYLE = f"<style>{Path(__file__).with_suffix('.css').read_text(encoding='utf-8')}</style>"


def show(controls: Controls, chapter_control: Choice[str], chapters: Sequence[Chapter]) -> None:
    st.html(_STYLE)
    with st.container(key="paper_controls"):
        st.caption("Print this page with the browser: the controls stay off the paper.")
        row = st.container(horizontal=True, vertical_alignment="bottom")
        controls.draw(chapter_control, row.container(width=280))
        controls.draw(PRINT, row)
    with st.container(key="paper"):
        for chapter in chapters:
            st.title(chapter.title, anchor=False)
            st.markdown(f"{chapter.minutes} minutes · {len(chapter.steps)} steps")
            for number in range(1, len(chapter.steps) + 1):
                with st.container(key=f"paper_step_{chapter.name}_{number}"):
                    _draw_step(Place(chapter, number))


def _draw_step(place: Place) -> None:
    step = place.step
    st.header(f"{place.number}. {step.title}", anchor=False)
    try:
        settings = step.settings(is_locked=False)
        st.markdown(filled(step.text, settings))
        if step.predict is not None:
            st.markdown(f"**Predict.** {filled(step.predict.ask, settings)}")
            _draw_room(step.predict)
        st.markdown(f"**Do:** {filled(step.do, settings)}")
    except ValueError as wrong:
        st.error(plain(f"This step cannot be shown: {wrong}."))
    st.caption(f"On the screen: {plain(short_link(place))}")


def _draw_room(predict: Prediction) -> None:
    if predict.kind is Kind.CHOICE:
        st.markdown("\n".join(f"- ☐ {option.say}" for option in predict.options))
    elif predict.kind is Kind.AXIS:
        ends = (in_unit(value or 0.0, predict) for value in (predict.low, predict.high))
        st.markdown(f"My answer, {' to '.join(ends)}:")
    else:
        st.markdown(f"My answer{f', in {predict.unit}' if predict.unit else ''}:")
    st.html('<div class="answer_line"></div>')


def short_link(place: Place) -> str:
    """An address that is short enough to type. The step itself leads to its page and sets it."""
    return f"{urljoin(st.context.url or '', '.')}?lesson={place.key}"
