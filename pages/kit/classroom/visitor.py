"""The random id by which a class knows a browser, and nothing else about its reader."""

import re
import uuid

import streamlit as st

COOKIE = "fp8_explorer_visitor"
_STATE_KEY = "_visitor"
_WELL_FORMED = re.compile(r"[0-9a-f]{32}", re.ASCII)


def visitor() -> str:
    """The id that this browser's cookie holds; where it has none, one of this session's own."""
    told = st.context.cookies.get(COOKIE, "")
    return told if is_well_formed(told) else st.session_state.setdefault(_STATE_KEY, new_visitor())


def new_visitor() -> str:
    """A new random id."""
    return uuid.uuid4().hex


def is_well_formed(told: object) -> bool:
    """True for a text that `new_visitor` could have given."""
    return isinstance(told, str) and _WELL_FORMED.fullmatch(told) is not None
