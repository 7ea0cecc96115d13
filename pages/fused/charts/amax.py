"""The numbers that a code waits for, in a tensor cut into programs, and the bytes that quantizing moves."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import altair as alt

from fp8core.reach import Reach
from fp8core.tiles import WHOLE, Extent
from pages.kit.charts.finish import dressed
from pages.kit.charts.ink import Ink
from pages.kit.charts.legible import NARROW
from pages.kit.charts.named_rows import WIDE, Rows, across, names, row_axis
from pages.kit.charts.template import Filled, by_column, number, several, template

DOWN, ACROSS = 3, 5
"""Blocks of the picture."""
_HEAD, _FOOT = 1.2, 0.85
_BELOW = 0.14
"""Blocks for the words above and below, and from the blocks to those below."""
_BETWEEN = 0.75
"""Blocks between two panels."""
_ROW, _COLUMN = 1, 2
"""The block that holds the code."""
_THINNEST = 0.09
_WITHIN = (5.5 * _THINNEST, 3.5 * _THINNEST)
"""The code's place in its block: the middle of a thin tile."""
BLOCKS, REACHES, CODES, WORDS = "blocks", "reaches", "codes", "words"


@dataclass(frozen=True, kw_only=True)
class Panel:
    """One tensor: its head, what a code waits for, and the verdict. A head and a verdict have two lines."""

    head: str
    reach: Reach
    waits: str
    verdict: str


def reach_chart(panels: Sequence[Panel], side: int, room: int, ink: Ink) -> Filled:
    """The panels side by side, `room` pixels high; a block is `side` rows by `side` columns."""
    blocks, reaches, codes, words = [], [], [], []
    for place, panel in enumerate(panels):
        left = place * (ACROSS + _BETWEEN)
        blocks += [
            {"x": left + column, "y": row, "program": (row, column) == (_ROW, _COLUMN)}
            for row in range(DOWN)
            for column in range(ACROSS)
        ]
        top, bottom = _span(panel.reach.rows, side, _ROW, _WITHIN[0], DOWN)
        first, last = _span(panel.reach.columns, side, _COLUMN, _WITHIN[1], ACROSS)
        if not panel.reach.earlier:
            reaches.append(
                {"x": left + first, "x2": left + last, "y": top, "y2": bottom, "waits": panel.waits}
            )
        codes.append({"x": left + _COLUMN + _WITHIN[1], "y": _ROW + _WITHIN[0], "waits": panel.waits})
        words += [
            {"x": left, "y": -_HEAD, "text": panel.head, "bold": False},
            {"x": left, "y": DOWN + _BELOW, "text": panel.verdict, "bold": True},
        ]
    return _reach(ink).filled(
        {
            BLOCKS: by_column([block | {"x2": block["x"] + 1, "y2": block["y"] + 1} for block in blocks]),
            REACHES: {
                field: [reach[field] for reach in reaches] for field in ("x", "x2", "y", "y2", "waits")
            },
            CODES: by_column(codes),
            WORDS: by_column(words),
        },
        across=[0.0, max(2, len(panels)) * (ACROSS + _BETWEEN) - _BETWEEN],
        height=room,
    )


def _span(extent: Extent, side: int, block: int, within: float, blocks: int) -> tuple[float, float]:
    """Where a reach begins and ends along a dim, in blocks; a thin one is drawn thicker."""
    if extent is WHOLE:
        return 0.0, float(blocks)
    size = max(extent / side, _THINNEST)
    start = block + int(within / size) * size if size < 1 else float(block)
    return start, start + size


@template
def _reach(ink: Ink) -> alt.LayerChart:
    scale = alt.Scale(domain=several("across", [0.0, 2.0 * ACROSS]), nice=False, zero=False)
    x = alt.X("x:Q", axis=None, scale=scale)
    y = alt.Y("y:Q", axis=None, scale=alt.Scale(domain=[DOWN + _FOOT, -_HEAD], nice=False, zero=False))
    ends = {"x2": "x2:Q", "y2": "y2:Q"}
    waits = [alt.Tooltip("waits:N", title="a code waits for")]
    blocks = alt.Chart(alt.NamedData(BLOCKS))
    words = {"align": "left", "baseline": "line-top", "lineBreak": "\n", "color": ink.text}
    is_narrow = f"containerSize()[0] < {NARROW}"
    words["fontSize"] = alt.ExprRef(f"{is_narrow} ? 11 : 13")
    heads, verdicts = (
        alt.Chart(alt.NamedData(WORDS))
        .transform_filter(f"{'' if is_verdict else '!'}datum.bold")
        .transform_calculate(words=f"{is_narrow} ? datum.text : replace(datum.text, '\\n', ' ')")
        .mark_text(**words, fontWeight="bold" if is_verdict else "normal")
        .encode(x=x, y=y, text="words:N")
        for is_verdict in (False, True)
    )
    return dressed(
        alt.layer(
            blocks.mark_rect(fill=ink.panel, stroke=ink.line, strokeWidth=1).encode(x=x, y=y, **ends),
            alt.Chart(alt.NamedData(REACHES))
            .mark_rect(fill=ink.scale, fillOpacity=0.35, stroke=ink.scale)
            .encode(x=x, y=y, tooltip=waits, **ends),
            blocks.transform_filter("datum.program")
            .mark_rect(fill=None, stroke=ink.text, strokeWidth=2.5)
            .encode(x=x, y=y, **ends),
            alt.Chart(alt.NamedData(CODES))
            .mark_point(filled=True, size=70, opacity=1, color=ink.text, stroke=ink.page)
            .encode(x=x, y=y, tooltip=waits),
            heads,
            verdicts,
        ).properties(height=number("height", 235)),
        ink,
    )


def legend(ink: Ink) -> str:
    """HTML that names the marks of the panels."""
    named = "".join(
        f'<span><i style="{style}"></i>{words}</span>'
        for style, words in (
            (f"background:{ink.text};border-radius:6px;width:10px;height:10px", "a code"),
            (f"background:{ink.scale};opacity:.45", "the numbers that it waits for"),
            (f"border:2px solid {ink.text}", "what one program holds"),
        )
    )
    return (
        "<style>.fp8-reach{display:flex;flex-wrap:wrap;gap:2px 20px;font-size:14px}"
        ".fp8-reach i{display:inline-block;width:12px;height:12px;margin-right:6px}</style>"
        f'<div class="fp8-reach" style="color:{ink.text}">{named}</div>'
    )


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
    pieces = []
    for y, way in enumerate(ways):
        start = 0.0
        for piece, size in way.pieces.items():
            pieces.append({"y": y, "piece": piece, "start": start, "end": start + size, "size": size})
            start += size
    totals = [sum(way.pieces.values()) for way in ways]
    named = {"name": [way.name for way in ways], "time": [way.time for way in ways]}
    rows = Rows(len(ways), room, around=58)
    return _traffic(tuple(ways[0].pieces), ink).filled(
        {
            PIECES: by_column(pieces),
            ROWS: named | {"y": list(range(len(ways))), "end": totals, "bytes": [way.size for way in ways]},
        },
        across=[0.0, max(*totals, 1.0)],
        bar=rows.thick,
        **rows.holes(),
    )


@template
def _traffic(kinds: tuple[str, ...], ink: Ink) -> alt.LayerChart:
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
