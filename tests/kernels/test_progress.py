"""Contract: a bar shows itself in a terminal alone, and leaves nothing there."""

import io

import pytest

from kernels.progress import Bar

ERASED, CURSOR = "\x1b[2K", "\x1b[?25h"


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


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
