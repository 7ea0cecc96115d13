"""Tables for Streamlit, and small ones as HTML in the page's font and colors."""

from collections.abc import Iterable, Mapping, Sequence
from html import escape
from typing import Any

import pyarrow as pa
import streamlit as st

from pages.kit.charts.ink import Ink

_NUMBER = "text-align:right;font-variant-numeric:tabular-nums;white-space:nowrap"


def colored(text: str, dim: str | None, ink: Ink) -> str:
    return f'<span style="color:{ink.of(dim)};font-weight:600">{escape(text)}</span>'


def note(text: str, ink: Ink) -> str:
    return f'<div style="font-size:12px;color:{ink.soft}">{escape(text)}</div>'


def pairs(rows: Iterable[tuple[str, str]], ink: Ink) -> str:
    cell = f"padding:3px 0;border-bottom:1px solid {ink.line}40"
    name_style = f"{cell};font-weight:400;text-align:left;color:{ink.soft}"
    body = "".join(
        f'<tr><th scope="row" style="{name_style}">{escape(name)}</th>'
        f'<td style="{cell};{_NUMBER};color:{ink.text}">{escape(value)}</td></tr>'
        for name, value in rows
    )
    return _table(body)


def grid(
    head: Sequence[str],
    rows: Iterable[Sequence[str]],
    ink: Ink,
    *,
    marked: Sequence[int] = (),
    names: int = 1,
    is_sticky: bool = False,
) -> str:
    """Table of numbers with `names` columns of words first; `is_sticky` keeps the first in sight."""
    hold = f"position:sticky;left:0;background:{ink.page}" if is_sticky else ""
    title = f"padding:4px;color:{ink.soft};font-weight:400;border-bottom:1px solid {ink.line}"
    top = "".join(
        f'<th scope="col" style="{title};text-align:{"right" if i >= names else "left"};{hold * (i == 0)}">'
        f"{escape(name)}</th>"
        for i, name in enumerate(head)
    )
    body = ""
    for number, row in enumerate(rows):
        look = f"background:{ink.k}1f;font-weight:600" if number in marked else ""
        look += f";padding:3px 4px;color:{ink.text}"
        cells = "".join(
            f'<td style="{look};{_NUMBER if i >= names else hold * (i == 0)}">{escape(cell)}</td>'
            for i, cell in enumerate(row)
        )
        body += f"<tr>{cells}</tr>"
    return _table(f"<thead><tr>{top}</tr></thead><tbody>{body}</tbody>")


def _table(inside: str) -> str:
    return (
        '<div style="overflow-x:auto"><table style="border-collapse:collapse;width:100%;font-size:13px;'
        f'margin:2px 0 8px">{inside}</table></div>'
    )


def markdown_table(heads: Sequence[object], rows: Iterable[Sequence[object]], sides: str = "<>") -> str:
    """Write columns left (<) or right (>) by `sides`; the last side counts for all further columns."""
    rule = (":--" if side == "<" else "--:" for side in sides.ljust(len(heads), sides[-1]))
    return "\n".join([_line(heads), f"|{'|'.join(rule)}|", *map(_line, rows)])


def _line(cells: Sequence[object]) -> str:
    return f"| {' | '.join(map(str, cells))} |"


def arrow_table(rows: Sequence[Mapping[str, Any]]) -> pa.Table:
    """Rows with the columns of the first. NaN and None are empty."""
    names = rows[0] if rows else ()
    return pa.table({name: pa.array([row[name] for row in rows], from_pandas=True) for name in names})


EMPTY = "–"


def draw_rows(rows: Sequence[Mapping[str, Any]], **more: Any) -> Any:
    """Draw rows, with a dash for empty cells; returns the reader's selection."""
    return st.dataframe(arrow_table(rows), hide_index=True, placeholder=EMPTY, **more)
