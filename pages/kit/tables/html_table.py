"""Small tables as HTML: label and value pairs and rows of numbers, in the page's own font and colors."""

from collections.abc import Iterable, Sequence
from html import escape

from pages.kit.charts.ink import Ink

_NUMBER = "text-align:right;font-variant-numeric:tabular-nums;white-space:nowrap"


def colored(text: str, dim: str | None, ink: Ink) -> str:
    """HTML that writes text in the color of a dim of the matmul."""
    return f'<span style="color:{ink.of(dim)};font-weight:600">{escape(text)}</span>'


def note(text: str, ink: Ink) -> str:
    """HTML of a small remark."""
    return f'<div style="font-size:12px;color:{ink.soft}">{escape(text)}</div>'


def pairs(rows: Iterable[tuple[str, str]], ink: Ink) -> str:
    """HTML of labels at the left and values at the right."""
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
    held: bool = False,
) -> str:
    """HTML of rows of numbers under a head, the first `names` columns words; `marked` rows stand out.

    Under `held` the first column stays in sight while a narrow screen scrolls the others.
    """
    hold = f"position:sticky;left:0;background:{ink.page}" if held else ""
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
