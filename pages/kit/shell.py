"""The frame of every page: the sidebar of `app.py`, whichever address the reader opened first.

Until some session has called `st.navigation` once, Streamlit treats a folder named `pages` as its older kind
of app. An address such as `/live_gemm` then runs that page's script without `app.py`.

Streamlit imports pandas at its first chart, in the thread of the session that draws it. Altair in another
session's thread could then find the half-made module, and raise AttributeError. So pandas is imported here.
"""

import runpy
import sys
from functools import lru_cache
from pathlib import Path

import pandas  # noqa: F401
import streamlit as st

from kernels.paths import TOP

_APP = TOP / "app.py"
_PROJECTOR = """<style>
[data-testid="stMainBlockContainer"] { zoom: 1.5; }
[data-testid="stElementContainer"]:has([data-testid="stVegaLiteChart"], [data-testid="stDataFrame"]) {
    width: calc(100% / 1.5) !important;
}
[data-testid="stMainBlockContainer"] [data-testid="stElementToolbar"] { display: none; }
</style>"""
"""For `?embed=true`: all of the page grows, so that a chart's text of 11 pixels has 16.

Streamlit lays a chart or a table out in the width that its frame has on the screen, after the zoom: the frame
is made narrower by as much. Fullscreen would take the frame out of its column: no button for it.
"""


_STYLE = """<style>
[data-testid="stSidebar"] :is(a, button, summary):focus-visible {
    outline: 3px solid currentColor !important; outline-offset: -3px; }
[data-testid="stMarkdownContainer"] table { display: block; overflow-x: auto; }
[data-testid="stMarkdownContainer"] .katex-display { overflow-y: hidden; }
[data-testid="stMarkdownContainer"] code { font-size: max(0.75em, 12px); }
button[data-testid="stBaseButton-primary"],
[data-testid="stMultiSelect"] [data-tag] * { color: var(--st-background-color, Canvas); }
</style>"""
"""What the theme's settings cannot say: where the keyboard is, tables on a narrow page, small code."""


def guard() -> None:
    """Make sure that `app.py` runs this page, and set the window up: the first line of every page.

    Where the page was started without `app.py`, run `app.py`, which runs the page again, and end this run. A
    test that opens a page's script by itself gets only the page.
    """
    if _started_by_app() and not _runs_inside_app():
        runpy.run_path(str(_APP))
        st.stop()
    # A local picture: a Material icon here would be fetched from a server on the internet.
    projected = bool(st.context.is_embedded)
    st.set_page_config(
        page_icon=str(TOP / "assets" / "icon.svg"),
        layout="wide",
        initial_sidebar_state="collapsed" if projected else "auto",
    )
    st.html(_STYLE)
    if projected:
        st.html(_PROJECTOR)


def theme() -> str:
    """The reader's theme: light where the browser has not said yet."""
    return "dark" if st.context.theme.type == "dark" else "light"


def _started_by_app() -> bool:
    """True if the server was started with `app.py`."""
    main = getattr(sys.modules["__main__"], "__file__", None)
    return main is not None and _is_app(main)


def _runs_inside_app() -> bool:
    """True if `app.py` is among the callers."""
    frame = sys._getframe()
    while frame is not None:
        if frame.f_code.co_name == "<module>" and _is_app(frame.f_code.co_filename):
            return True
        frame = frame.f_back
    return False


@lru_cache(maxsize=64)
def _is_app(path: str) -> bool:
    """True for the path of `app.py`. No file moves while the server runs."""
    return Path(path).resolve() == _APP
