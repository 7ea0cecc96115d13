"""Tables as text by rich: whole lines for a file or a pipe, wrapped ones for a terminal."""

import sys
from collections.abc import Iterable, Sequence
from io import StringIO

from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

Part = Text | Padding
_WIDEST = 1 << 16
"""No line is longer, so none is wrapped."""


def columns(
    rows: Iterable[Sequence[str | Text]],
    *,
    header: Sequence[str] = (),
    indent: int = 0,
    at_least: Sequence[int] = (),
) -> Padding:
    """Rows of cells in columns, two spaces apart; only the last column wraps. at_least: widths."""
    rows = list(rows)
    table = Table(box=None, show_header=bool(header), header_style="", pad_edge=False, padding=(0, 2, 0, 0))
    count = max(map(len, [header, *rows]))
    for number in range(count):
        table.add_column(
            Text(header[number]) if header else "",
            min_width=at_least[number] if number < len(at_least) else None,
            no_wrap=number < count - 1,
            overflow="fold",
        )
    for row in rows:
        table.add_row(*(Text(cell) if isinstance(cell, str) else cell for cell in row))
    return Padding(table, (0, 0, 0, indent), expand=False)


def text(*parts: Part) -> str:
    """The parts as whole lines, without colors."""
    console = Console(file=StringIO(), width=_WIDEST, color_system=None, force_terminal=False)
    with console.capture() as capture:
        console.print(*parts, sep="\n")
    return "\n".join(line.rstrip() for line in capture.get().splitlines())


def show(*parts: Part) -> None:
    """Print the parts: in color and wrapped on a terminal, else as whole lines."""
    if sys.stdout.isatty():
        Console().print(*parts, sep="\n")
    else:
        print(text(*parts), flush=True)
