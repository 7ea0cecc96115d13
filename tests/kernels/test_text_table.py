"""Contract: a table is whole plain lines in a file or a pipe, and fits a terminal."""

import io

from kernels.text_table import columns, show, text

LONG = "word " * 100
ROWS = [("[bold]a[/]", "1 × 2", LONG), ("bb", "–", "end")]


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_a_column_is_as_wide_as_its_widest_cell_and_no_line_is_cut():
    assert text(columns(ROWS, header=("name", "size", "what"))).splitlines() == [
        "name        size   what",
        f"[bold]a[/]  1 × 2  {LONG.rstrip()}",
        "bb          –      end",
    ]


def test_a_terminal_s_lines_fit_it_and_every_word_is_there(monkeypatch):
    screen = Terminal()
    monkeypatch.setattr("sys.stdout", screen)
    monkeypatch.setenv("COLUMNS", "40")
    show(columns(ROWS))
    lines = screen.getvalue().splitlines()
    assert max(map(len, lines)) <= 40
    assert screen.getvalue().count("word") == 100
