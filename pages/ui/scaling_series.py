"""A series of amax that the reader pasted, checked."""

import re

FEWEST, MOST = 2, 400
SMALLEST, LARGEST = 1e-30, 1e30
_CHARACTERS_SHOWN = 24
_BETWEEN = re.compile(r"[\s,;]+")
_NUMBER = re.compile(r"\+?(\d+\.?\d*|\.\d+)(e[+-]?\d{1,3})?", re.ASCII | re.IGNORECASE)


def parse_series(text: str) -> tuple[float, ...]:
    """The numbers of `text`, separated by spaces, commas, semicolons or line ends.

    Raises ValueError with one sentence for the reader: what came, and what is needed.
    """
    words = [word for word in _BETWEEN.split(text) if word]
    if not FEWEST <= len(words) <= MOST:
        raise ValueError(f"A series needs {FEWEST} to {MOST} numbers; {len(words)} came.")
    series = []
    for place, word in enumerate(words, start=1):
        value = float(word) if _NUMBER.fullmatch(word) else None
        if value is None or not SMALLEST <= value <= LARGEST:
            raise ValueError(
                f"Number {place} of {len(words)} is {_inert(word)}; an amax is needed: a number from "
                f"{SMALLEST:g} to {LARGEST:g}, such as 0.5 or 3e-4."
            )
        series.append(value)
    return tuple(series)


def _inert(word: str) -> str:
    """`word` as inline code of bounded length, whatever it holds."""
    printable = "".join(c if c.isprintable() and c != "`" else "\N{REPLACEMENT CHARACTER}" for c in word)
    return f"`{printable[:_CHARACTERS_SHOWN]}{'…' if len(printable) > _CHARACTERS_SHOWN else ''}`"
