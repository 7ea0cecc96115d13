"""Horizontal bars of several pieces, with their names and figures above them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import altair as alt

from pages.kit.charts.above import WORDS, without_names, words_of
from pages.kit.charts.finish import dressed
from pages.kit.charts.ink import Ink
from pages.kit.charts.template import Filled, number, several, template, text

_AXIS = 100
"""Pixels of the axis and the legend."""
_OF_LINE, _THICK = 0.43, 56
"""A bar's share of its line, and the most pixels of one."""
_ABOVE = 9
"""Pixels from a bar to the middle of the words above it."""
_ROOM = 1.02
_LETTER, _SIDES = 8, 6
"""Pixels of a letter of a name, and around it: a piece that is narrower has no name inside."""
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


def bars(lines: Sequence[Bar], names: Mapping[str, str], axis: str, room: int, ink: Ink) -> Filled:
    """The bars from top to bottom in `room` pixels of height.

    `names` has each kind of piece, in the order of pieces and legend, with the words inside where they fit.
    """
    longest = max(line.size for line in lines)
    found: dict[str, list[object]] = {
        field: [] for field in ("line", "kind", "start", "end", "size", "wide", "inside")
    }
    for line in lines:
        start = 0.0
        for kind, name in names.items():
            size = line.pieces.get(kind, 0.0)
            if size <= 0:
                continue
            cells = (line.name, kind, start, start + size, size, size / longest / _ROOM, name)
            for field, value in zip(found, cells, strict=True):
                found[field].append(value)
            start += size
    ends = {
        "line": [line.name for line in lines],
        "end": [line.size for line in lines],
        WORDS: [words_of(line.name, line.label) for line in lines],
    }
    bar = min((room - _AXIS) / len(lines) * _OF_LINE, _THICK)
    return _chart(tuple(names), ink).filled(
        {PIECES: found, ENDS: ends},
        lines=[line.name for line in lines],
        kinds=[kind for kind in names if kind in found["kind"]],
        across=[0.0, _ROOM * longest],
        axis=axis,
        height=room,
        bar=bar,
        above=-bar / 2 - _ABOVE,
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
    colors = [ink.dot, ink.ramp[4], ink.ramp[2], ink.line, ink.hair]
    words = alt.when(f"indexof({list(kinds[:2])}, datum.kind) >= 0")
    pieces = alt.Chart(alt.NamedData(PIECES)).encode(y=y)
    drawn = pieces.mark_bar(size=number("bar", 20), stroke=ink.page, strokeWidth=1).encode(
        x=alt.X("start:Q", title=text("axis", "MiB"), scale=across, axis=alt.Axis(tickCount=5, format=",~f")),
        x2="end",
        color=alt.Color(
            "kind:N",
            title=None,
            scale=alt.Scale(domain=list(kinds), range=colors[: len(kinds)]),
            legend=alt.Legend(
                orient="bottom",
                columns=5,
                values=several("kinds", [kinds[0]]),
                labelColor=ink.text,
                labelLimit=220,
            ),
        ),
        tooltip=[
            alt.Tooltip("line:N", title="bar"),
            alt.Tooltip("kind:N", title="piece"),
            alt.Tooltip("size:Q", title="size", format=",.4~g"),
        ],
    )
    inside = (
        pieces.transform_calculate(middle="(datum.start + datum.end) / 2")
        .transform_filter(f"datum.wide * containerSize()[0] > length(datum.inside) * {_LETTER} + {_SIDES}")
        .mark_text(fontSize=14)
        .encode(
            x=alt.X("middle:Q", scale=across),
            text="inside:N",
            color=words.then(alt.value(ink.page)).otherwise(alt.value(ink.text)),
        )
    )
    said = (
        alt.Chart(alt.NamedData(ENDS))
        .mark_text(
            align="left", baseline="middle", dy=number("above", -20), fontSize=14, color=ink.text, clip=False
        )
        .encode(y=y, x=alt.value(0), text=f"{WORDS}:N")
    )
    return dressed(alt.layer(drawn, inside, said).properties(height=number("height", 400)), ink)
