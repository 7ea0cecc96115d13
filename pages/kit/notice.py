"""The sentence on what to notice. Before a prediction, a gray field keeps its place."""

import streamlit as st

from pages.kit.view import current, notice_place

HIDDEN_KEY = "_notices_hidden"  # true in the session while a step of a lesson waits for a prediction
WAITING = "What to notice here appears with the answer."


def notices_wait() -> bool:
    """Return True before a prediction: pages leave out what would tell the answer."""
    return bool(st.session_state.get(HIDDEN_KEY, False))


def draw_notice(text: str) -> None:
    if notices_wait():
        notice_place().html(f'<div class="fp8-hidden" style="min-height:26px">{WAITING}</div>')
        return
    notice_place().markdown(text)
    if (view := current()) is not None:
        view.first_read.append(text)
