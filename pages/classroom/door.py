"""The view of a visitor without the token: the class, how to join it, the field for the token."""

from collections.abc import Callable
from html import escape

import streamlit as st

from pages.kit.classroom.join import class_link, qr_html, without_scheme
from pages.kit.classroom.shared import shared, visitor
from pages.kit.classroom.store import store
from pages.kit.view import draw_notice, here, stage

TOKEN_KEY = "class_token"
_REFUSED_KEY = "_class_refused"
OVER_KEY = "_class_over"  # the class that this session ended, in figures
IDEA = (
    "A class works through the lesson together. **Nothing personal is kept**: only a random id of the "
    "browser, steps, answers and times."
)
KNOW = (
    "Each student works in a browser. The teacher sees which step each one is on, and what the class "
    "predicts. Students are numbers."
)
ASKS = "Do you teach? The terminal that started the server shows the token."


def is_teacher() -> bool:
    return shared().is_teacher(visitor())


def by_teacher(action: Callable[..., object]) -> Callable[..., None]:
    """A button's action, which does nothing once its reader has left the teacher's view."""

    def act(*arguments: object) -> None:
        if is_teacher():
            action(*arguments)

    return act


def draw_door() -> None:
    draw_notice(IDEA)
    row = stage().container(horizontal=True, gap="large")
    with row.container(width=320):
        url, doubt = class_link("")
        st.html(qr_html(url, 260))
        st.markdown("**Join:** scan this, or type the address.")
        st.code(url, language=None, wrap_lines=True)
        if doubt:
            st.caption(doubt)
    with row.container(width=360):
        st.header("Teacher", anchor=False)
        with st.form("class_door", border=False, enter_to_submit=True):
            st.text_input("Token", key=TOKEN_KEY, type="password", max_chars=100, autocomplete="off")
            st.form_submit_button("Open the teacher's view", key="class_enter", on_click=_enter)
        if refusal := st.session_state.pop(_REFUSED_KEY, None):
            st.error(refusal)
        else:
            st.caption(ASKS)
    here().know.markdown(KNOW)


def _enter() -> None:
    refusal = shared().enter(st.session_state.get(TOKEN_KEY, ""), visitor())
    st.session_state[TOKEN_KEY] = ""
    st.session_state[_REFUSED_KEY] = refusal
    if refusal is None:
        st.session_state.pop(OVER_KEY, None)
        store().open(True)


def draw_corner(link: str) -> None:
    url, doubt = class_link(link)
    words = f"<span><b>Join</b><br>{escape(without_scheme(url))}</span>"
    with st.container(key="class_join"):
        st.html(f'<div class="class-join">{words}{qr_html(url, 100)}</div>')
    if doubt:
        here().warning.warning(doubt)
