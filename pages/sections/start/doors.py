"""The three ways on from the page "Start"."""

import streamlit as st

from pages.kit.charts.ink import Ink

DOORS = (
    ("pages/lesson.py", "**Follow the story**", ":material/route:"),
    ("pages/tile_layouts.py", "**Look at tile layouts**", ":material/grid_on:"),
    ("pages/sanity_check.py", "**Check my GPU**", ":material/memory:"),
)
_KEY = "start_doors"


def draw_doors(ink: Ink) -> None:
    """Draw a link for each way; the first one stands out."""
    doors = f".st-key-{_KEY} [data-testid='stPageLink']"
    st.html(
        f"<style>{doors} a {{ border: 1px solid {ink.scale}; border-radius: 8px; padding: 8px 14px }}"
        f".st-key-{_KEY} > :first-child a {{ background: {ink.scale} }}"
        f".st-key-{_KEY} > :first-child a * {{ color: {ink.page} }}</style>"
    )
    with st.container(horizontal=True, key=_KEY):
        for script, label, icon in DOORS:
            st.page_link(script, label=label, icon=icon, width="content")
