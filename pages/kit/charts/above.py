"""Words above the bars: each line's name and figures, so that a bar is as wide as a telephone allows."""

import altair as alt

from pages.kit.charts.ink import Ink

WORDS = "words"
"""The field with the words of a line."""
LETTERS = 18
"""Pixels that the words add to the height of a line."""

_FONT, _GAP = 13, 9


def words_of(name: str, figures: str) -> str:
    """The words of a line."""
    return f"{name}: {figures}" if figures else name


def without_names() -> alt.Axis:
    """The axis of lines that have their words above them."""
    return alt.Axis(labels=False, grid=False, ticks=False, domain=False)


def words_above(lines: alt.Chart, bar: float, ink: Ink) -> alt.Chart:
    """The words of each line, from the left edge, above bars of `bar` pixels. `lines` has their places."""
    mark = lines.mark_text(
        align="left", baseline="middle", dy=-bar / 2 - _GAP, fontSize=_FONT, color=ink.text, clip=False
    )
    return mark.encode(x=alt.value(0), text=f"{WORDS}:N")
