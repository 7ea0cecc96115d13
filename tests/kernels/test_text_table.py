"""Contract: a table is whole plain lines in a file or a pipe, and fits a terminal, as a bar does."""

import io

import pytest

from kernels.progress import Bar
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


def test_a_pipe_gets_no_escape_codes(capsys, monkeypatch):
    monkeypatch.setenv("FORCE_COLOR", "1")
    show(columns(ROWS))
    out = capsys.readouterr().out
    assert "\x1b" not in out
    assert len(out.splitlines()) == 2


ERASED, CURSOR = "\x1b[2K", "\x1b[?25h"


def test_without_a_terminal_nothing_is_drawn(capsys):
    with Bar("title") as bar:
        bar.draw(0.5, "note")
    assert capsys.readouterr() == ("", "")


@pytest.mark.parametrize("fault", [None, KeyboardInterrupt])
def test_a_bar_is_drawn_in_a_terminal_and_gone_after_its_block(monkeypatch, fault):
    screen = Terminal()
    monkeypatch.setattr("sys.stderr", screen)
    monkeypatch.setenv("TERM", "xterm")
    try:
        with Bar("title") as bar:
            bar.draw(0.5, "[note]")
            drawn = screen.getvalue()
            if fault:
                raise fault
    except KeyboardInterrupt:
        pass
    assert "title: [note]" in drawn
    after = screen.getvalue()[len(drawn) :]
    assert CURSOR in after
    assert after.rindex(ERASED) > after.rfind("title: [note]")
