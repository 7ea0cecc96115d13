"""Save the page's pictures as files: from the browser, exactly as they are on the screen."""

from functools import lru_cache
from pathlib import Path

import streamlit as st
from streamlit.components.v2.types import ComponentRenderer

_HERE = Path(__file__).parent
_HTML = "<ul></ul><p>This page has no picture now.</p>"


@lru_cache(maxsize=1)
def _component() -> ComponentRenderer:
    css, js = ((_HERE / f"save_pictures.{kind}").read_text(encoding="utf-8") for kind in ("css", "js"))
    return st.components.v2.component("save_pictures", html=_HTML, css=css, js=js)


def draw_save_pictures() -> None:
    st.caption("Its pictures, as they are on the screen. A card has the page's finding above it.")
    _component()(key="save_pictures")
