"""A stored tensor cut into what one program holds, a code of it, and the numbers that the code waits for."""

from dataclasses import dataclass

import altair as alt

from fp8core.reach import Reach
from fp8core.tiles import WHOLE, Extent
from pages.kit.charts.finish import dressed
from pages.kit.charts.ink import Ink
from pages.kit.charts.template import Filled, by_column, number, template

DOWN, ACROSS = 3, 5
"""Blocks of the picture."""
_HEAD, _FOOT = 0.6, 0.6
_ABOVE, _BELOW = -0.32, 0.34
"""The words above and below the blocks."""
_ROW, _COLUMN = 1, 2
"""The block that holds the code."""
_THINNEST = 0.09
_WITHIN = (5.5 * _THINNEST, 3.5 * _THINNEST)
"""The code's place in its block: the middle of a thin tile."""
BLOCKS, REACHES, CODES, HEADS, VERDICTS = "blocks", "reaches", "codes", "heads", "verdicts"


@dataclass(frozen=True, kw_only=True)
class Panel:
    """One picture: its head, what a code waits for, and the verdict in a few words."""

    head: str
    reach: Reach
    told: str
    verdict: str


def reach_chart(panel: Panel, side: int, tall: int, ink: Ink) -> Filled:
    """The picture, `tall` pixels high; a block is `side` rows by `side` columns."""
    blocks = [
        {"x": column, "x2": column + 1, "y": row, "y2": row + 1, "program": (row, column) == (_ROW, _COLUMN)}
        for row in range(DOWN)
        for column in range(ACROSS)
    ]
    top, bottom = _span(panel.reach.rows, side, _ROW, _WITHIN[0], DOWN)
    first, last = _span(panel.reach.columns, side, _COLUMN, _WITHIN[1], ACROSS)
    told = [panel.told]
    reaches = {"x": [first], "x2": [last], "y": [top], "y2": [bottom], "told": told}
    if panel.reach.earlier:
        reaches = {field: [] for field in reaches}
    return _chart(ink).filled(
        {
            BLOCKS: by_column(blocks),
            REACHES: reaches,
            CODES: {"x": [_COLUMN + _WITHIN[1]], "y": [_ROW + _WITHIN[0]], "told": told},
            HEADS: {"x": [0], "y": [_ABOVE], "text": [panel.head]},
            VERDICTS: {"x": [0], "y": [DOWN + _BELOW], "text": [panel.verdict]},
        },
        height=tall,
    )


def _span(extent: Extent, side: int, block: int, within: float, blocks: int) -> tuple[float, float]:
    """Where a reach begins and ends along a dim, in blocks; a thin one is drawn thicker."""
    if extent is WHOLE:
        return 0.0, float(blocks)
    size = max(extent / side, _THINNEST)
    start = block + int(within / size) * size if size < 1 else float(block)
    return start, start + size


@template
def _chart(ink: Ink) -> alt.LayerChart:
    x = alt.X("x:Q", axis=None, scale=alt.Scale(domain=[0.0, ACROSS], nice=False, zero=False))
    y = alt.Y("y:Q", axis=None, scale=alt.Scale(domain=[DOWN + _FOOT, -_HEAD], nice=False, zero=False))
    ends = {"x2": "x2:Q", "y2": "y2:Q"}
    told = [alt.Tooltip("told:N", title="a code waits for")]
    blocks = alt.Chart(alt.NamedData(BLOCKS))
    ground = blocks.mark_rect(fill=ink.panel, stroke=ink.line, strokeWidth=1).encode(x=x, y=y, **ends)
    waited = (
        alt.Chart(alt.NamedData(REACHES))
        .mark_rect(fill=ink.scale, fillOpacity=0.35, stroke=ink.scale)
        .encode(x=x, y=y, tooltip=told, **ends)
    )
    program = (
        blocks.transform_filter("datum.program")
        .mark_rect(fill=None, stroke=ink.text, strokeWidth=2.5)
        .encode(x=x, y=y, **ends)
    )
    code = (
        alt.Chart(alt.NamedData(CODES))
        .mark_point(filled=True, size=70, opacity=1, color=ink.text, stroke=ink.page)
        .encode(x=x, y=y, tooltip=told)
    )
    heads = (
        alt.Chart(alt.NamedData(HEADS))
        .mark_text(align="left", baseline="middle", fontSize=13, color=ink.text)
        .encode(x=x, y=y, text="text:N")
    )
    verdicts = (
        alt.Chart(alt.NamedData(VERDICTS))
        .mark_text(align="left", baseline="middle", fontSize=13, fontWeight="bold", color=ink.text)
        .encode(x=x, y=y, text="text:N")
    )
    return dressed(
        alt.layer(ground, waited, program, code, heads, verdicts).properties(height=number("height", 235)),
        ink,
    )
