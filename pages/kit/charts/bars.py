"""Horizontal bars, each of one piece or several, with their names and figures above them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import altair as alt

from pages.kit.charts.above import LETTERS, WORDS, without_names, words_above, words_of
from pages.kit.charts.finish import dressed
from pages.kit.charts.ink import Ink
from pages.kit.charts.template import Filled, number, several, template, text

LINE = 26 + LETTERS
_BAR = 19
_AROUND = 140
_ROOM = 1.02
_LETTER = 0.025
"""A piece has its name inside where it is at least this share of the longest bar for each letter."""
PIECES, ENDS = "pieces", "ends"


@dataclass(frozen=True, kw_only=True)
class Bar:
    """One line: its name, its figures in words, and its pieces from left to right."""

    name: str
    pieces: Mapping[str, float]
    label: str

    @property
    def size(self) -> float:
        return sum(self.pieces.values())


def bars(
    lines: Sequence[Bar], kinds: tuple[str, ...], axis: str, ink: Ink, *, names: Mapping[str, str]
) -> Filled:
    """The bars from top to bottom; `kinds` in the order of the legend, which is also that of the pieces.

    `names` are the words inside of a piece, by kind, where they fit.
    """
    longest = max(line.size for line in lines)
    found: dict[str, list[object]] = {
        field: [] for field in ("line", "kind", "start", "end", "size", "inside")
    }
    for line in lines:
        start = 0.0
        for kind in kinds:
            size = line.pieces.get(kind, 0.0)
            if size <= 0:
                continue
            name = names.get(kind, "")
            inside = name if size >= _LETTER * (len(name) + 1) * longest else ""
            for field, value in zip(found, (line.name, kind, start, start + size, size, inside), strict=True):
                found[field].append(value)
            start += size
    ends = {
        "line": [line.name for line in lines],
        WORDS: [words_of(line.name, line.label) for line in lines],
    }
    return _chart(kinds, ink).filled(
        {PIECES: found, ENDS: ends},
        lines=[line.name for line in lines],
        across=[0.0, _ROOM * longest],
        axis=axis,
        height=len(lines) * LINE + _AROUND,
    )


@template
def _chart(kinds: tuple[str, ...], ink: Ink) -> alt.LayerChart:
    y = alt.Y(
        "line:N",
        title=None,
        scale=alt.Scale(domain=several("lines", ["MI300X, fp8"])),
        axis=without_names(),
    )
    across = alt.Scale(domain=several("across", [0.0, 1.0]), nice=False)
    colors = [ink.m, ink.n, ink.k, ink.bad, ink.soft]
    pieces = alt.Chart(alt.NamedData(PIECES)).encode(y=y)
    drawn = pieces.mark_bar(size=_BAR, stroke=ink.page, strokeWidth=1).encode(
        x=alt.X(
            "start:Q", title=text("axis", "TFLOP/s"), scale=across, axis=alt.Axis(tickCount=5, format=",~f")
        ),
        x2="end",
        color=alt.Color(
            "kind:N",
            title=None,
            scale=alt.Scale(domain=list(kinds), range=colors[: len(kinds)]),
            legend=alt.Legend(orient="bottom", columns=4, labelColor=ink.text, labelLimit=220),
        ),
        tooltip=[
            alt.Tooltip("line:N", title="bar"),
            alt.Tooltip("kind:N", title="piece"),
            alt.Tooltip("size:Q", title="size", format=",.4~g"),
        ],
    )
    inside = (
        pieces.transform_calculate(middle="(datum.start + datum.end) / 2")
        .mark_text(color=ink.page, fontSize=12)
        .encode(x=alt.X("middle:Q", scale=across), text="inside:N")
    )
    said = words_above(alt.Chart(alt.NamedData(ENDS)).encode(y=y), _BAR, ink)
    return dressed(alt.layer(drawn, inside, said).properties(height=number("height", 400)), ink)
