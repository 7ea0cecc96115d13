"""The sentence that tells a reader what to notice.

In a lesson a reader predicts first. Until the prediction is locked, a gray field keeps its place.
"""

import streamlit as st

from pages.kit.view import current, notice_place
from pages.kit.widgets import Place

HIDDEN_KEY = "_notices_hidden"  # true in the session while a step of a lesson waits for a prediction
_PREFIX = "**Notice:** "
WAITING = "What to notice here appears with the answer."


def notices_wait() -> bool:
    """True while a prediction comes first. A page then leaves out what would tell the answer, too."""
    return bool(st.session_state.get(HIDDEN_KEY, False))


def draw_notice(text: str, place: Place | None = None) -> None:
    """Draw `text`, Markdown, in the place of the page's Notice, unless a prediction comes first."""
    place = notice_place() if place is None else place
    if notices_wait():
        draw_hidden(place, WAITING)
        return
    place.markdown(text.removeprefix(_PREFIX))
    if (view := current()) is not None:
        view.first_read.append(text)


def draw_hidden(place: Place, title: str, height: int = 26) -> None:
    """Draw the gray field of something that would tell the answer, in `height` pixels as that has."""
    place.html(f'<div class="fp8-hidden" style="min-height:{height}px">{title}</div>')
