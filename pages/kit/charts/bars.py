"""Horizontal bars, each of one piece or several, with their names and figures above them.

Short names stand beside their bars instead, and figures behind them: more lines fit on a screen.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import altair as alt

from pages.kit.charts.above import LETTERS, WORDS, without_names, words_of
from pages.kit.charts.finish import dressed
from pages.kit.charts.ink import Ink
from pages.kit.charts.template import Filled, number, several, template, text

LINE = 26
_BAR, _THICK = 19, 56
"""Pixels: a bar in a picture that is as high as its lines, and the thickest one where there is room."""
_AROUND, _AXIS = 140, 100
_ABOVE = 9
"""Pixels from a bar to the middle of the words above it."""
_ROOM = 1.02
_SHORT = 16
"""Letters: names up to that length stand beside their bars, where the pieces of these have no names."""
_FIGURE = 7.5
"""Pixels of a letter of the figures that stand behind a bar."""
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


def bars(
    lines: Sequence[Bar],
    kinds: tuple[str, ...],
    axis: str,
    ink: Ink,
    *,
    names: Mapping[str, str],
    room: int | None = None,
) -> Filled:
    """The bars from top to bottom; `kinds` in the order of the legend, which is also that of the pieces.

    `names` are the words inside of a piece, by kind, where they fit. With a `room` the picture is so high.
    """
    longest = max(line.size for line in lines)
    found: dict[str, list[object]] = {
        field: [] for field in ("line", "kind", "start", "end", "size", "wide", "inside")
    }
    for line in lines:
        start = 0.0
        for kind in kinds:
            size = line.pieces.get(kind, 0.0)
            if size <= 0:
                continue
            cells = (line.name, kind, start, start + size, size, size / longest / _ROOM, names.get(kind, ""))
            for field, value in zip(found, cells, strict=True):
                found[field].append(value)
            start += size
    beside = not names and all(len(line.name) <= _SHORT for line in lines)
    ends = {
        "line": [line.name for line in lines],
        "end": [line.size for line in lines],
        WORDS: [line.label if beside else words_of(line.name, line.label) for line in lines],
    }
    each = LINE if beside else LINE + LETTERS
    height = len(lines) * each + _AROUND if room is None else room
    bar = _BAR if room is None else min((room - _AXIS) / len(lines) * _BAR / each, _THICK)
    behind = f"width - {_FIGURE * max(len(line.label) + 1 for line in lines):.0f}"
    return _chart(kinds, beside, ink).filled(
        {PIECES: found, ENDS: ends},
        lines=[line.name for line in lines],
        kinds=[kind for kind in kinds if kind in found["kind"]],
        across=[0.0, _ROOM * longest],
        **({"reach": behind} if beside else {}),
        axis=axis,
        height=height,
        bar=bar,
        **({} if beside else {"above": -bar / 2 - _ABOVE}),
    )


def _color(kinds: tuple[str, ...], ink: Ink) -> alt.Color:
    """A color for each kind, and a legend below of those that are drawn."""
    colors = [ink.dot, ink.ramp[4], ink.ramp[2], ink.line, ink.hair]
    drawn = several("kinds", [kinds[0]])
    legend = alt.Legend(orient="bottom", columns=5, values=drawn, labelColor=ink.text, labelLimit=220)
    scale = alt.Scale(domain=list(kinds), range=colors[: len(kinds)])
    return alt.Color("kind:N", title=None, scale=scale, legend=legend)


@template
def _chart(kinds: tuple[str, ...], beside: bool, ink: Ink) -> alt.LayerChart:
    names = alt.Axis(labelFontSize=13, grid=False, ticks=False) if beside else without_names()
    y = alt.Y(
        "line:N",
        title=None,
        scale=alt.Scale(domain=several("lines", ["MI300X, fp8"])),
        axis=names,
    )
    reach = {"range": [0, alt.ExprRef(text("reach", "width - 60"))]} if beside else {}
    across = alt.Scale(domain=several("across", [0.0, 1.0]), nice=False, **reach)
    words = alt.when(f"indexof({list(kinds[:2])}, datum.kind) >= 0")
    pieces = alt.Chart(alt.NamedData(PIECES)).encode(y=y)
    drawn = pieces.mark_bar(size=number("bar", _BAR), stroke=ink.page, strokeWidth=1).encode(
        x=alt.X(
            "start:Q", title=text("axis", "TFLOP/s"), scale=across, axis=alt.Axis(tickCount=5, format=",~f")
        ),
        x2="end",
        color=_color(kinds, ink),
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
    ends = alt.Chart(alt.NamedData(ENDS)).encode(y=y)
    behind = ends.mark_text(align="left", dx=6, fontSize=13, fontWeight="bold", color=ink.text)
    said = (
        behind.encode(x=alt.X("end:Q", scale=across), text=f"{WORDS}:N")
        if beside
        else ends.mark_text(
            align="left",
            baseline="middle",
            dy=number("above", -_BAR),
            fontSize=14,
            color=ink.text,
            clip=False,
        ).encode(x=alt.value(0), text=f"{WORDS}:N")
    )
    return dressed(alt.layer(drawn, inside, said).properties(height=number("height", 400)), ink)
