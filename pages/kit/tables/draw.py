"""A table as the reader sees it."""

from typing import Any

import streamlit as st

from pages.kit.tables.arrow_table import Table

EMPTY = "–"


def draw_rows(table: Table, **more: Any) -> Any:
    """Draw a table, with a dash where nothing is known; `more` are arguments of `st.dataframe`.

    Returns what the reader picked, where picking was asked for.
    """
    return st.dataframe(table, hide_index=True, placeholder=EMPTY, **more)
