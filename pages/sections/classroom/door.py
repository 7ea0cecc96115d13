"""What a visitor without the token sees: what a class is, how to join it, and the field for the token."""

import streamlit as st

from pages.kit.classroom.shared import shared
from pages.kit.classroom.store import store
from pages.kit.classroom.visitor import visitor
from pages.sections.classroom.join import draw_link

TOKEN_KEY = "class_token"
_REFUSED_KEY = "_class_refused"
IDEA = """
A class works through the pages together, each student in a browser. The teacher sees which step each one is
on, and what the class predicts. Students are numbers: nothing personal is kept, only a random id of the
browser, steps, answers and times.
"""
ASKS = "Do you teach? The token stands on the terminal on which the server was started."


def is_teacher() -> bool:
    """True for a reader who gave the token since the server started."""
    return shared().is_teacher(visitor())


def draw_door() -> None:
    """Ask for the token."""
    st.markdown(IDEA)
    draw_link()
    st.header("Teacher", anchor=False)
    with st.form("class_door", border=False, enter_to_submit=True):
        st.text_input(
            "Token", key=TOKEN_KEY, type="password", help=ASKS, max_chars=100, autocomplete="off", width=360
        )
        st.form_submit_button("Open the teacher's view", key="class_enter", on_click=_enter)
    if refused := st.session_state.pop(_REFUSED_KEY, None):
        st.error(refused)
    else:
        st.caption(ASKS)


def _enter() -> None:
    """Try the token, and forget what was typed. A right one opens the class."""
    refused = shared().enter(st.session_state.get(TOKEN_KEY, ""), visitor())
    st.session_state[TOKEN_KEY] = ""
    st.session_state[_REFUSED_KEY] = refused
    if refused is None:
        store().open(True)
