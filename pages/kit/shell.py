"""The frame of every page: the sidebar of `app.py`, whichever address the reader opened first.

Before the first `st.navigation`, Streamlit treats a folder `pages` as its older kind of app: an address such
as `/live_gemm` runs that script without `app.py`.

pandas is imported here: otherwise Streamlit imports it at the first chart in a session's thread, and Altair
in another thread could find half of it.
"""

import runpy
import sys
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any, NoReturn

import pandas  # noqa: F401
import streamlit as st
from streamlit.runtime.scriptrunner import StopException

from kernels.paths import TOP
from pages.kit.address import Moved, follow_moved
from pages.kit.controls import Controls
from pages.kit.look import presenter
from pages.kit.view import View, open_view
from pages.kit.widgets import Control, Value

_APP = TOP / "app.py"
_LOOK = Path(__file__).parent / "look"
_SCREEN, _PROJECTOR = (
    f"<style>{''.join((_LOOK / f'{name}.css').read_text(encoding='utf-8') for name in names)}</style>"
    for names in (("page", "print"), ("page", "projector", "print"))
)


def guard() -> None:
    """Let `app.py` run this page, and set the window up: the first line of every page, or of `open_page`.

    A page that runs without `app.py` runs it, which runs the page again, and ends this run.
    """
    main = getattr(sys.modules["__main__"], "__file__", None)
    if main is not None and _is_app(main) and not _runs_inside_app():
        runpy.run_path(str(_APP))
        st.stop()
    # A local picture: a Material icon here would be fetched from a server on the internet.
    presenter.read()
    projected = presenter.projected()
    st.set_page_config(
        page_icon=str(TOP / "assets" / "icon.svg"),
        layout="wide",
        initial_sidebar_state="collapsed" if projected else "auto",
    )
    st.html(_PROJECTOR if projected else _SCREEN)


def open_page(
    question: str,
    *controls: Control[Any],
    opening: Mapping[str, Value] | None = None,
    moved: Moved | None = None,
) -> tuple[View, Controls]:
    """Open a page with its controls. `opening`: see `Controls`; `moved`: see `follow_moved`."""
    guard()
    follow_moved(moved or {})
    view, of_page = open_view(question), Controls(*controls, opening=opening)
    of_page.toolbar()
    return view, of_page


def end() -> NoReturn:
    """End the page here. Its frame still draws its end, unlike after `st.stop()`."""
    raise StopException


def _runs_inside_app() -> bool:
    frame = sys._getframe()
    while frame is not None:
        if frame.f_code.co_name == "<module>" and _is_app(frame.f_code.co_filename):
            return True
        frame = frame.f_back
    return False


@lru_cache(maxsize=64)
def _is_app(path: str) -> bool:
    return Path(path).resolve() == _APP
