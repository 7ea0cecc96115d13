"""The mode for a projector: large text, small controls, and the picture first.

`?embed=true`, `present=true` in the address, or the toolbar's switch turn it on.
"""

import streamlit as st

from pages.kit import address
from pages.kit.widgets import Place

PARAMETER = "present"
_STATE_KEY, _ADDRESS_KEY, _SWITCH_KEY = "_presents", "_present_told", "_present_switch"


def projected() -> bool:
    return bool(st.context.is_embedded) or bool(st.session_state.get(_STATE_KEY, False))


def read() -> None:
    """Obey a new value in the address, and make the address say the mode.

    A value counts once: the browser may send an old address late.
    """
    value = address.frame_parameters().get(PARAMETER)
    if value is not None and value != st.session_state.get(_ADDRESS_KEY):
        st.session_state[_ADDRESS_KEY] = value
        st.session_state[_STATE_KEY] = value == "true"
    if st.session_state.get(_STATE_KEY, False) and value != "true":
        st.session_state[_ADDRESS_KEY] = st.query_params[PARAMETER] = "true"


def draw_switch(place: Place) -> None:
    """Draw the button for the mode; none on an embedded page."""
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
    """Turn the mode on or off. An emptied session calls this without a click."""
    if not st.session_state.get(_SWITCH_KEY):
        return
    is_on = st.session_state[_STATE_KEY] = not st.session_state.get(_STATE_KEY, False)
    if is_on:
        st.session_state[_ADDRESS_KEY] = st.query_params[PARAMETER] = "true"
    else:
        st.query_params.pop(PARAMETER, None)
