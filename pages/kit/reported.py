"""The value that a widget reported, for its callback.

One message of a visitor has Streamlit empty his session. At the next run it calls the callback of every
widget, and finds none of them by its key: there is nothing that the callback could do.
"""

from typing import Any

import streamlit as st


def reported(key: str) -> Any | None:
    """The value of the widget `key`; None where it has none, or Streamlit has forgotten the widget."""
    return st.session_state.get(key)


def selected(key: str, parameter: str) -> list[dict[str, Any]] | None:
    """The marks that are selected in the chart `key`; None where Streamlit has forgotten the chart."""
    event = reported(key)
    return None if event is None else list(event.get("selection", {}).get(parameter) or [])
