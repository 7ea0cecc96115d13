"""The lines that tell a reader what to notice.

In a lesson a reader predicts first. Until the prediction is locked, these lines stay hidden.
"""

import streamlit as st

from pages.kit.view import notice_place
from pages.kit.widgets import Place

HIDDEN_KEY = "_notices_hidden"
"""True in the session while a step of a lesson waits for a prediction."""
_PREFIX = "**Notice:** "
WAITING = "*What to notice here is hidden until you have predicted.*"


def notices_wait() -> bool:
    """True while a prediction comes first. A page then leaves out what would tell the answer, too."""
    return bool(st.session_state.get(HIDDEN_KEY, False))


def draw_notice(text: str, place: Place | None = None) -> None:
    """Draw `text`, Markdown, in the place of the page's Notice, unless a prediction comes first."""
    place = notice_place() if place is None else place
    place.markdown(WAITING if notices_wait() else text.removeprefix(_PREFIX))
