"""The lesson beside a page: text, task, prediction, and the way on.

The frame calls `requested_step` before the page table, and `draw` before the page.
"""

from contextlib import suppress
from html import escape
from pathlib import Path

import streamlit as st

from pages.kit import address
from pages.kit.classroom.shared import visitor
from pages.kit.classroom.store import store
from pages.kit.inert import plain, quoted
from pages.kit.lesson.facts import facts_of, filled
from pages.kit.lesson.library import Library, Place, library
from pages.kit.lesson.prediction import Standing, draw_prediction, standing, truth_is_out
from pages.kit.look import presenter
from pages.kit.view import HIDDEN_KEY

LESSON = "lesson"
OVERVIEW = "pages/lesson.py"
_CSS = Path(__file__).with_suffix(".css").read_text(encoding="utf-8")
# For a projector, the panel's smallest text, of 14 pixels, has 18
_STYLE, _PROJECTED = (
    f"<style>:root {{ --lesson-zoom: {zoom}; --lesson-wide: {wide}; --lesson-page: {page}; }}\n{_CSS}</style>"
    for zoom, wide, page in ((1, "400px", "28px 48px 24px"), (1.3, "420px", "24px 24px 16px"))
)
# The line below the step on a telephone
_TO_THE_PICTURE = '<p class="lesson-line"><a href="#picture">↑ To the picture</a></p>'
_STEP_KEY, _LEFT_KEY = "_lesson_shown", "_lesson_left"
# Whether the truth was out in the last run; and the step at which it came out before this reader's eyes
_OUT_KEY, _NEWS_KEY = "_lesson_truth_is_out", "_lesson_truth_came_out"


def requested_step() -> Place | None:
    """Return the address's step, if the lesson has it.

    A page outside the lesson hides nothing, and the next step counts as new.
    """
    text = address.frame_parameters().get(LESSON)
    place = None if text is None else library().place(text)
    if place is None:
        st.session_state[HIDDEN_KEY] = False
        if key := st.session_state.pop(_STEP_KEY, None):
            st.session_state[_LEFT_KEY] = key
    return place


def draw(place: Place | None, page: str) -> None:
    """Draw the step beside `page`, or a link back to the step that the reader left."""
    if place is None:
        if (text := address.frame_parameters().get(LESSON)) is not None:
            st.warning(f"The lesson has no step {quoted(text)}. Here is the page without it.")
        _draw_way_back()
        return
    is_new = st.session_state.get(_STEP_KEY) != place.key
    st.session_state[_STEP_KEY] = place.key
    # Read once: the teacher may reveal while this runs
    now, was_out = standing(place), st.session_state.get(_OUT_KEY, False)
    st.session_state[_OUT_KEY] = now.is_out
    if is_new:
        store().save_place(visitor(), place.key)
        st.session_state.pop(_NEWS_KEY, None)
        if page != place.step.page or (not address.parameters() and place.step.settings(now.is_out)):
            go(place)
    elif now.is_out != was_out:
        st.session_state[_NEWS_KEY] = place.key
        if page == place.step.page:
            _show(place, now.is_out)
    presenter.read()
    st.html(_PROJECTED if presenter.projected() else _STYLE)
    st.html(_lead(place.key, is_answered=_NEWS_KEY in st.session_state), unsafe_allow_javascript=True)
    _draw_first(place, now, is_here=page == place.step.page)
    with st.sidebar, st.container(key="lesson_panel"):
        try:
            _draw_step(place, now, is_here=page == place.step.page)
        except ValueError as wrong:
            st.error(plain(f"This step cannot be shown: {wrong}."))
        st.html(_TO_THE_PICTURE)
        _draw_way(place, now, library())


def _draw_first(place: Place, now: Standing, is_here: bool) -> None:
    """Draw the question or the task above the picture, for a telephone."""
    step, is_waiting = place.step, place.step.predict is not None and not now.is_out
    with st.container(key="lesson_first", gap=None):
        words = "Answer" if is_waiting else "Read on"
        st.html(_progress(place) + f'<p class="lesson-line"><a href="#step">{words} ↓</a></p>')
        with suppress(ValueError):  # the panel says why
            settings = step.settings(is_locked=False)
            if is_here:
                st.markdown(filled(step.predict.ask if is_waiting else step.do, settings))


def go(place: Place) -> None:
    """Open a step beside its page. The frame's other parameters stay."""
    others = {key: text for key, text in address.frame_parameters().items() if key != LESSON}
    parameters = {**place.parameters(truth_is_out(place)), **others}
    st.switch_page(f"pages/{place.step.page}.py", query_params=parameters)


def _draw_step(place: Place, now: Standing, is_here: bool) -> None:
    step = place.step
    is_waiting = step.predict is not None and not now.is_out
    st.session_state[HIDDEN_KEY] = is_waiting and is_here
    st.html(_progress(place))
    st.subheader(step.title, anchor=False)
    if not is_here:
        st.info("This step is shown beside another page.")
        # The next run takes the step as new, and leads to its page.
        st.button("Go there", key="lesson_there", on_click=st.session_state.pop, args=(_STEP_KEY, None))
        return
    settings = step.settings(is_locked=False)
    first, second = st.container(), st.container()
    # A class reads the question on the projector, and hears the rest.
    text, ask = (second, first) if presenter.projected() else (first, second)
    text.markdown(filled(step.text, settings))
    if step.predict is not None:
        with ask:
            draw_prediction(place, step.predict, now)
    # What there is to do may show the truth: a prediction comes first.
    if not is_waiting:
        st.markdown(f"**Do:** {filled(step.do, settings)}")


def _draw_way_back() -> None:
    """Link to this session's last step."""
    key = st.session_state.get(_LEFT_KEY, "")
    # Reading the chapters imports every page's facts: who took no lesson need not wait for that.
    place = library().place(key) if key else None
    if place is not None:
        st.sidebar.page_link(
            f"pages/{place.step.page}.py",
            label=f"Back to the lesson: {place.words}",
            icon=":material/school:",
            query_params=place.parameters(truth_is_out(place)),
        )


def _show(place: Place, is_locked: bool) -> None:
    page = facts_of(place.step.page)
    for key, value in page.settings(place.step.settings(is_locked)).items():
        address.set_widget(key, value)


def _draw_way(place: Place, now: Standing, lessons: Library) -> None:
    plan = lessons.plan(store().plan)
    before, after = lessons.moved(place, -1, plan), lessons.moved(place, 1, plan)
    row = st.container(horizontal=True, key="lesson_way")
    is_last = after is None or after.chapter != place.chapter
    name = f"Next chapter: {after.chapter.title}" if is_last and after else "Next" if after else "Finish"
    kind = "secondary" if place.step.predict is not None and not now.is_out else "primary"
    if row.button(name, key="lesson_next", type=kind, icon=":material/arrow_forward:", icon_position="right"):
        go(after) if after else st.switch_page(OVERVIEW)
    row = st.container(horizontal=True, key="lesson_foot")
    if row.button("Back", key="lesson_back", type="tertiary", icon=":material/arrow_back:"):
        go(before) if before else st.switch_page(OVERVIEW)
    row.button(
        "Settings of this step",
        key="lesson_again",
        type="tertiary",
        help="Every control of the page back to where this step wants it.",
        on_click=_show,
        args=(place, now.is_out),
    )
    row.button("Leave the lesson", key="lesson_leave", type="tertiary", on_click=_leave)


def _leave() -> None:
    st.session_state.pop(_STEP_KEY, None)
    st.session_state.pop(_LEFT_KEY, None)
    if LESSON in st.query_params:
        del st.query_params[LESSON]


def _progress(place: Place) -> str:
    steps = len(place.chapter.steps)
    strokes = "".join(f"<i{' class=done' * (number < place.number)}></i>" for number in range(steps))
    title, _, step = place.words.partition(" · ")
    return (
        f'<div class="lesson-steps"><p><b>{escape(title)}</b> · {escape(step)}</p>'
        f'<div aria-hidden="true">{strokes}</div></div>'
    )


def _lead(key: str, is_answered: bool) -> str:
    """Move keyboard focus to the title of a new step, or to a revealed answer.

    It runs when an argument changes. Otherwise the panel stays scrolled to the last step's button.
    """
    target = '[data-testid="stAlert"]' if is_answered else "h3"
    scroll = "" if is_answered else _TO_THE_TOP
    return f"""<script>/* {key} */
(() => {{
    {scroll}
    window.lessonLeads ||= document.addEventListener('click', (event) => {{
        const link = event.target.closest('.lesson-line a');
        if (!link) return;
        event.preventDefault();
        const target = link.hash === '#step' ? '.st-key-lesson_panel' : '[data-testid="stMain"]';
        document.querySelector(target).scrollIntoView();
    }}) || true;
    const seek = (tries) => {{
        const target = document.querySelector('.st-key-lesson_panel {target}');
        if (!target) return tries && setTimeout(() => seek(tries - 1), 100);
        target.tabIndex = -1;
        target.focus({{ preventScroll: {str(not is_answered).lower()} }});
    }};
    seek(20);
}})();
</script>"""


_TO_THE_TOP = """["stSidebarContent", "stAppViewContainer", "stMain"].forEach(
        name => document.querySelector(`[data-testid=${name}]`)?.scrollTo(0, 0));"""
