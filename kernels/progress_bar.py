"""One line of progress on stderr, where that is a terminal."""

import sys

_WIDTH = 24
_CLEAR = "\r\x1b[2K"


class ProgressBar:
    """Draws over itself; draws nothing where stderr goes to a file."""

    def __init__(self) -> None:
        self._shown = sys.stderr.isatty()

    def draw(self, fraction: float, note: str) -> None:
        """Show how much is done, from 0 to 1, and what is at hand."""
        if self._shown:
            full = round(fraction * _WIDTH)
            bar = "█" * full + "·" * (_WIDTH - full)
            print(f"{_CLEAR}{bar} {note}", end="", file=sys.stderr, flush=True)

    def clear(self) -> None:
        if self._shown:
            print(_CLEAR, end="", file=sys.stderr, flush=True)
