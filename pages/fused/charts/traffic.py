"""Bytes that quantizing moves: a bar a way, with its pieces, and the time that memory needs for them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import altair as alt

from pages.kit.charts.finish import dressed
from pages.kit.charts.ink import Ink
from pages.kit.charts.named_rows import WIDE, Rows, across, names, row_axis
from pages.kit.charts.template import Filled, number, several, template

PIECES, ROWS = "pieces", "rows"
_LETTER = 9
"""Pixels of a letter inside a piece, with its margin."""


@dataclass(frozen=True, kw_only=True)
class Moved:
    """One way: its name, the MiB of each piece, all bytes and the time in words."""

    name: str
    pieces: Mapping[str, float]
    size: str
    time: str


def traffic_chart(ways: Sequence[Moved], room: float, ink: Ink) -> Filled:
    """The ways from top to bottom. The pieces of all ways are the same, in the same order."""
    found: dict[str, list[object]] = {field: [] for field in ("y", "piece", "start", "end", "size")}
    for place, way in enumerate(ways):
        start = 0.0
        for piece, size in way.pieces.items():
            for field, value in zip(found, (place, piece, start, start + size, size), strict=True):
                found[field].append(value)
            start += size
    totals = [sum(way.pieces.values()) for way in ways]
    rows = Rows(len(ways), room, around=58)
    return _chart(tuple(ways[0].pieces), ink).filled(
        {
            PIECES: found,
            ROWS: {
                "y": list(range(len(ways))),
                "name": [way.name for way in ways],
                "end": totals,
                "time": [way.time for way in ways],
                "bytes": [way.size for way in ways],
            },
        },
        across=[0.0, max(*totals, 1.0)],
        bar=rows.thick,
        **rows.holes(),
    )


@template
def _chart(kinds: tuple[str, ...], ink: Ink) -> alt.LayerChart:
    y = row_axis()
    scale = alt.Scale(domain=several("across", [0.0, 1.0]), range=across(150, 84), nice=False)
    x = alt.X(
        "start:Q",
        title=None,
        scale=scale,
        axis=alt.Axis(
            tickCount=4, domain=False, ticks=False, labelExpr="datum.index ? datum.label + ' MiB' : '0'"
        ),
    )
    colors = alt.Scale(domain=list(kinds), range=[ink.mid, ink.line, ink.dot, ink.scale])
    pieces = alt.Chart(alt.NamedData(PIECES)).encode(y=y)
    rows = alt.Chart(alt.NamedData(ROWS)).encode(y=y)
    inside = pieces.transform_calculate(middle="(datum.start + datum.end) / 2").transform_filter(
        f"(datum.end - datum.start) / domain('x')[1] * width > {_LETTER} * length(datum.piece)"
    )
    words = {"align": "left", "baseline": "middle", "fontSize": 14}
    end = alt.X("end:Q", scale=scale)
    chart = alt.layer(
        pieces.mark_bar(size=number("bar", 24.0), stroke=ink.page, strokeWidth=1).encode(
            x=x,
            x2="end",
            color=alt.Color("piece:N", scale=colors, legend=None),
            tooltip=[
                alt.Tooltip("piece:N", title="piece"),
                alt.Tooltip("size:Q", title="MiB", format=",.4~g"),
            ],
        ),
        inside.mark_text(fontSize=13).encode(
            x=alt.X("middle:Q", scale=scale),
            text="piece:N",
            color=alt.when(f"datum.piece === '{kinds[1]}'")
            .then(alt.value(ink.text))
            .otherwise(alt.value(ink.page)),
        ),
        rows.mark_text(**words, dx=8, fontWeight="bold", color=ink.text).encode(x=end, text="time:N"),
        rows.mark_text(**words, dx=76, color=ink.soft, opacity=alt.ExprRef(f"{WIDE} ? 1 : 0")).encode(
            x=end, text="bytes:N"
        ),
        *names(rows, y, ink, is_marked=False),
    )
    return dressed(chart.properties(height=number("height", 300)), ink)
