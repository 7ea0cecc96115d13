"""How others join: the address, and its QR code."""

import streamlit as st

from pages.classroom.links import JoinLink, join_link
from pages.classroom.qr import qr_html
from pages.kit.classroom.follow import OWN_PAGE
from pages.kit.inert import plain


def link(typed: str = "") -> JoinLink:
    """The class's address. Raises ValueError, a sentence, for a typed text that is no address."""
    return join_link(typed, st.context.url, st.get_option("server.address") or "", OWN_PAGE)


def draw_join(typed: str, pixels: int) -> None:
    """Draw the class's QR code, its address to copy, and a sentence where it may not work."""
    wrong = ""
    try:
        found = link(typed)
    except ValueError as refused:
        found, wrong = link(), str(refused)
    st.html(qr_html(found.url, pixels))
    st.markdown("**Join:** scan the code, or type the address.")
    st.code(found.url, language=None, wrap_lines=True)
    if wrong:
        st.error(plain(wrong))
    if found.doubt:
        st.caption(found.doubt)
