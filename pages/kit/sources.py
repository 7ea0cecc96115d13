"""The line that names where figures were read."""

import streamlit as st

from pages.kit.widgets import Place


def draw_sources(links: str, place: Place | None = None) -> None:
    """Draw links in small letters. A caption is paler, and its links are hard to read."""
    (st if place is None else place).markdown(f":small[Sources: {links}.]")
