"""The mode for a projector: large text, small controls, and the picture first.

`?embed=true` and `present=true` in the address turn it on; the switch in the toolbar does for a session.
"""

import streamlit as st

from pages.kit import address
from pages.kit.widgets import Place, reported

PARAMETER = "present"
_STATE_KEY, _TOLD_KEY, _SWITCH_KEY = "_presents", "_present_told", "_present_switch"


def projected() -> bool:
    return bool(st.context.is_embedded) or bool(st.session_state.get(_STATE_KEY, False))


def read() -> None:
    """Obey the address where it says something new, and make it say what holds.

    The browser may send an address late, from before the switch was used: one that was obeyed once decides
    nothing more.
    """
    value = address.frame_parameters().get(PARAMETER)
    if value is not None and value != st.session_state.get(_TOLD_KEY):
        st.session_state[_TOLD_KEY] = value
        st.session_state[_STATE_KEY] = value == "true"
    if st.session_state.get(_STATE_KEY, False) and value != "true":
        st.session_state[_TOLD_KEY] = st.query_params[PARAMETER] = "true"


def draw_switch(place: Place) -> None:
    """Draw the button that turns the mode on or off. An embedded page is always in it: it has none."""
    if st.context.is_embedded:
        return
    place.button(
        "Stop presenting" if projected() else "Present",
        key=_SWITCH_KEY,
        type="tertiary",
        on_click=_switch,
        help="For a projector: large text, the picture first. The sidebar waits behind its arrow.",
    )


def _switch() -> None:
    """Turn the mode on or off; a callback. An emptied session calls it without a click."""
    if not reported(_SWITCH_KEY):
        return
    is_on = st.session_state[_STATE_KEY] = not st.session_state.get(_STATE_KEY, False)
    if is_on:
        st.session_state[_TOLD_KEY] = st.query_params[PARAMETER] = "true"
    else:
        st.query_params.pop(PARAMETER, None)
