"""What a class says, as bars: an answer, or a range of numbers, above each; how many gave it at its end."""

import textwrap
from collections.abc import Sequence
from dataclasses import dataclass

import altair as alt

from pages.kit.charts.ink import Ink
from pages.kit.charts.template import Filled, number, several, template

BARS = "bars"
_ROW, _BAR = 58, 16
_LINE = 40
"""Characters of a line: the lesson stands in a narrow column."""
_LINES = 2


@dataclass(frozen=True, kw_only=True)
class Bar:
    """Some answers: their words, how many they are, and the truth's own mark."""

    words: str
    count: int
    holds: bool = False


def class_answers(bars: Sequence[Bar], ink: Ink) -> Filled:
    """The bars, from the top; the one that holds is marked in words, too."""
    most = max((bar.count for bar in bars), default=0)
    columns = {
        "row": list(range(len(bars))),
        "words": [_wrapped(f"✓ {bar.words}" if bar.holds else bar.words) for bar in bars],
        "count": [bar.count for bar in bars],
        "holds": [bar.holds for bar in bars],
    }
    return _bars(ink).filled({BARS: columns}, most=[0, max(1, most) * 1.15], height=_ROW * max(1, len(bars)))


def alt_text(bars: Sequence[Bar]) -> str:
    """The bars for a reader who does not see them."""
    told = "; ".join(f"{bar.words}{' (the truth)' if bar.holds else ''}: {bar.count}" for bar in bars)
    return f"The answers of the class. {told}."


def _wrapped(words: str) -> str:
    return "\n".join(textwrap.wrap(words, _LINE, max_lines=_LINES, placeholder=" …"))


@template
def _bars(ink: Ink) -> alt.LayerChart:
    rows = alt.Chart(alt.NamedData(BARS), height=number("height", _ROW))
    y = alt.Y("row:O", axis=None, scale=alt.Scale(paddingInner=0, paddingOuter=0))
    x = alt.X("count:Q", axis=None, scale=alt.Scale(domain=several("most", [0.0, 10.0]), nice=False))
    color = alt.condition("datum.holds", alt.value(ink.scale), alt.value(ink.soft))
    low = _ROW / 2 - _BAR / 2 - 2
    bars = rows.mark_bar(height=_BAR, yOffset=low).encode(x=x, y=y, color=color)
    counts = rows.mark_text(align="left", dx=5, dy=low, fontSize=13).encode(
        x=x, y=y, text="count:Q", color=alt.value(ink.text)
    )
    words = rows.mark_text(
        align="left", baseline="bottom", dy=low - _BAR / 2 - 3, fontSize=13, lineBreak="\n"
    )
    named = words.encode(x=alt.value(0), y=y, text="words:N", color=alt.value(ink.text))
    return alt.layer(bars, counts, named)
