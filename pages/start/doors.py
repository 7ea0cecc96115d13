"""The three ways on from the page "Start", and the time that fp8 buys."""

from html import escape

import streamlit as st

from pages.kit.charts.ink import Ink
from pages.kit.charts.words import count
from pages.kit.gemm.words import ratio
from pages.start.times import LayerTimes
from pages.start.words import NO_TIMES

DOORS = (
    ("pages/lesson.py", "Take the lesson"),
    ("pages/tile_layouts.py", "Look at tile layouts"),
    ("pages/sanity_check.py", "Check my GPU"),
)
_KEY = "start_doors"


def draw_doors(times: LayerTimes | None, ink: Ink) -> None:
    """Draw a link for each way, the first one filled, and the measured time."""
    door = f".st-key-{_KEY} [data-testid='stPageLink']"
    st.html(
        f"<style>{door} a {{ border: 1px solid {ink.mid}; border-radius: 9px; padding: 10px 20px; "
        "min-height: 44px; justify-content: center; } "
        f"{door} a p {{ font-size: 16px; font-weight: 600; }} "
        f".st-key-{_KEY} > :first-child a {{ background: {ink.text}; border-color: {ink.text}; }} "
        f".st-key-{_KEY} > :first-child a * {{ color: {ink.page}; }} "
        f"[data-testid='stMain'] {door} a:focus-visible {{ outline-offset: 3px; }} "
        f".st-key-{_KEY} .faster {{ text-align: right; font-size: 15px; line-height: 22px; "
        f"color: {ink.soft}; }} .st-key-{_KEY} .faster b {{ display: block; font-size: 16px; "
        f"font-weight: 650; color: {ink.text}; }} "
        f".st-key-{_KEY} > :last-child {{ margin-left: auto; }} "
        f"@media (max-width: 640px) {{ .st-key-{_KEY} > * {{ flex: 1 1 40%; }} "
        f".st-key-{_KEY} > :is(:first-child, :last-child) {{ flex: 1 0 100%; }} "
        f"{door} > div, {door} a {{ width: 100%; padding: 10px 8px; }} "
        f".st-key-{_KEY} .faster {{ text-align: left; }} }}</style>"
    )
    with st.container(horizontal=True, key=_KEY, gap="small", vertical_alignment="center"):
        for script, label in DOORS:
            st.page_link(script, label=label, width="content")
        st.html(f'<div class="faster">{_faster(times)}</div>', width="content")


def _faster(times: LayerTimes | None) -> str:
    if times is None:
        return NO_TIMES
    layer = f"{count(len(times.matmuls), 'matmul')} of a layer, with quantizing. {times.where}"
    return f"<b>{escape(ratio(times.times_faster))} as fast as bf16</b>{escape(layer)}"
