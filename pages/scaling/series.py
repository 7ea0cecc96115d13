"""A series of amax that the reader pasted, checked."""

import re

from pages.kit.number_text import without_typesetting

FEWEST, MOST = 2, 400
LONGEST = 10_000
"""The characters that the field takes; a browser cuts what is pasted beyond them."""
SMALLEST, LARGEST = 1e-30, 1e30
_CHARACTERS_SHOWN = 24
_BETWEEN = re.compile(r"[\s,;，；、\u200b]+")
_NUMBER = re.compile(r"\+?(\d+\.?\d*|\.\d+)(e[+-]?\d{1,3})?", re.ASCII | re.IGNORECASE)


def parse_series(text: str) -> tuple[float, ...]:
    """The numbers of `text`, separated by spaces of any width, commas, semicolons or line ends.

    Raises ValueError with one sentence for the reader: what came, and what is needed.
    """
    if len(text) >= LONGEST:
        raise ValueError(
            f"The text fills all {LONGEST:,} characters of this field, so its end may be missing; needed are "
            f"{FEWEST} to {MOST} numbers."
        )
    words = [word for word in map(without_typesetting, _BETWEEN.split(text)) if word]
    if not FEWEST <= len(words) <= MOST:
        raise ValueError(f"A series needs {FEWEST} to {MOST} numbers; {len(words)} came.")
    series = []
    for place, word in enumerate(words, start=1):
        value = float(word) if _NUMBER.fullmatch(word) else None
        if value is None or not SMALLEST <= value <= LARGEST:
            shown = word if len(word) <= _CHARACTERS_SHOWN else f"{word[:_CHARACTERS_SHOWN]}…"
            raise ValueError(
                f"Number {place} of {len(words)} is “{shown}”; an amax is needed: a number from "
                f"{SMALLEST:g} to {LARGEST:g}, such as 0.5 or 3e-4."
            )
        series.append(value)
    return tuple(series)
