"""The numbers that a code waits for, in a tensor that is cut into programs."""

from collections.abc import Sequence
from dataclasses import dataclass

import altair as alt

from fp8core.reach import Reach
from fp8core.tiles import WHOLE, Extent
from pages.fused.charts.kernels import swatches
from pages.kit.charts.ink import Ink
from pages.kit.charts.legible import NARROW
from pages.kit.charts.parts import dressed
from pages.kit.charts.template import Filled, by_column, number, several, template

# Blocks of the picture; in blocks: the words above and below, the gap above those below, that between panels.
DOWN, ACROSS = 3, 5
_HEAD, _FOOT = 1.2, 0.85
_BELOW, _BETWEEN = 0.14, 0.75
# The block that holds the code, and the code's place in it: the middle of a thin tile.
_ROW, _COLUMN = 1, 2
_THINNEST = 0.09
_WITHIN = (5.5 * _THINNEST, 3.5 * _THINNEST)
BLOCKS, REACHES, CODES, WORDS = "blocks", "reaches", "codes", "words"


@dataclass(frozen=True, kw_only=True)
class Panel:
    head: str
    reach: Reach
    waits: str
    verdict: str


def reach_chart(panels: Sequence[Panel], side: int, room: int, ink: Ink) -> Filled:
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
            REACHES: by_column(reaches),
            CODES: by_column(codes),
            WORDS: by_column(words),
        },
        across=[0.0, max(2, len(panels)) * (ACROSS + _BETWEEN) - _BETWEEN],
        height=room,
    )


def _span(extent: Extent, side: int, block: int, within: float, blocks: int) -> tuple[float, float]:
    """The ends of a reach along a dim, in blocks; a thin reach is drawn thicker."""
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
    words["fontSize"] = alt.ExprRef(f"{is_narrow} ? 12 : 13")
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
    styles = {
        "a code": f"background:{ink.text};border-radius:6px;width:10px;height:10px",
        "the numbers that it waits for": f"background:{ink.scale};opacity:.45",
        "what one program holds": f"border:2px solid {ink.text}",
    }
    return swatches(styles, ink)
