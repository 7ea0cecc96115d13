"""The styles of every page: on the screen, on a projector, on paper.

Further rules for paper belong into `print.css`.
"""

from pathlib import Path

_HERE = Path(__file__).parent


def _read(*names: str) -> str:
    return "<style>" + "\n".join((_HERE / name).read_text(encoding="utf-8") for name in names) + "</style>"


_SCREEN = _read("page.css", "print.css")
_PROJECTOR = _read("page.css", "projector.css", "print.css")


def style(*, projected: bool) -> str:
    """The styles as one element of HTML."""
    return _PROJECTOR if projected else _SCREEN
