"""One line of progress on stderr, where that is a terminal."""

import sys

_BAR = 24


class Bar:
    """A bar, titled or not, that is redrawn in place and leaves nothing behind."""

    def __init__(self, title: str = "") -> None:
        self._title = f"{title}: " if title else ""
        self._shown = sys.stderr.isatty()

    def draw(self, fraction: float, note: str) -> None:
        """Show how much is done, from 0 to 1, and what is at hand."""
        if self._shown:
            full = round(fraction * _BAR)
            bar = "█" * full + "·" * (_BAR - full)
            print(f"\r\x1b[2K{bar} {self._title}{note}", end="", file=sys.stderr, flush=True)

    def clear(self) -> None:
        if self._shown:
            print("\r\x1b[2K", end="", file=sys.stderr, flush=True)
