"""The sentence that tells a reader what to notice.

In a lesson a reader predicts first. Until the prediction is locked, a gray field keeps its place.
"""

import streamlit as st

from pages.kit.view import current, notice_place

HIDDEN_KEY = "_notices_hidden"  # true in the session while a step of a lesson waits for a prediction
WAITING = "What to notice here appears with the answer."


def notices_wait() -> bool:
    """True while a prediction comes first. A page then leaves out what would tell the answer, too."""
    return bool(st.session_state.get(HIDDEN_KEY, False))


def draw_notice(text: str) -> None:
    """Draw `text`, Markdown, in the place of the page's Notice, unless a prediction comes first."""
    if notices_wait():
        notice_place().html(f'<div class="fp8-hidden" style="min-height:26px">{WAITING}</div>')
        return
    notice_place().markdown(text)
    if (view := current()) is not None:
        view.first_read.append(text)
