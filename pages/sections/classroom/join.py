"""How others join: the address, and its QR code."""

import streamlit as st

from pages.kit.classroom.follow import OWN_PAGE
from pages.kit.inert import plain
from pages.sections.classroom.links import JoinLink, join_link
from pages.sections.classroom.qr import qr_html


def link(typed: str = "") -> JoinLink:
    """The class's address. Raises ValueError, a sentence, for a typed text that is no address."""
    return join_link(typed, st.context.url, st.get_option("server.address") or "", OWN_PAGE)


def draw_link(typed: str = "") -> JoinLink:
    """Show the class's address as text to copy, and say where it may not work."""
    try:
        found = link(typed)
    except ValueError as wrong:
        st.error(plain(str(wrong)))
        found = link()
    st.code(found.url, language=None, wrap_lines=True)
    if found.doubt:
        st.warning(found.doubt, icon=":material/lan:")
    return found


def draw_join(typed: str) -> None:
    """Show the class's address and its QR code."""
    found = draw_link(typed)
    st.html(qr_html(found.url))
