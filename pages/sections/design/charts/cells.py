"""A sketch of a recipe's six operands: how each is cut into tiles, not to scale."""

from collections.abc import Sequence
from dataclasses import dataclass

import altair as alt

from fp8core.tiles import WHOLE, Extent
from pages.kit.charts.ink import Ink
from pages.kit.charts.template import Filled, template

CELLS, TILES = "cells", "tiles"
_MOST, _FEWEST = 8, 2
_LEFT, _RIGHT, _TOP, _BOTTOM = 0.05, 0.95, 0.43, 0.93
_HEIGHT = 330
_ONE_LINE = 540
"""Pixels: in a narrower sketch, what is unusual stands in a line of its own."""


@dataclass(frozen=True, kw_only=True)
class Cell:
    """One operand: its place, its words, and its tile (rows, columns) as drawn; None for bf16."""

    column: int
    row: int
    title: str
    words: tuple[str, str]
    tile: tuple[Extent, Extent] | None
    chosen: bool
    outer: bool


def parts(extent: Extent) -> int:
    """How many tiles a sketch shows along a dim: fewer, the longer they are."""
    if extent is WHOLE:
        return 1
    return max(_FEWEST, _MOST - extent.bit_length() + 1)


def cells_chart(cells: Sequence[Cell], ink: Ink) -> Filled:
    """The sketch: matmuls side by side, A above B."""
    boxes = {
        "x": [cell.column + _LEFT / 2 for cell in cells],
        "x2": [cell.column + 1 - _LEFT / 2 for cell in cells],
        "y": [cell.row + 0.03 for cell in cells],
        "y2": [cell.row + 0.97 for cell in cells],
        "left": [cell.column + _LEFT for cell in cells],
        "right": [cell.column + _RIGHT for cell in cells],
        "top": [cell.row + _TOP for cell in cells],
        "bottom": [cell.row + _BOTTOM for cell in cells],
        "title": [cell.title for cell in cells],
        "first": [cell.words[0] for cell in cells],
        "second": [cell.words[1].partition(", ")[0] for cell in cells],
        "unusual": [cell.words[1].partition(", ")[2] for cell in cells],
        "chosen": [cell.chosen for cell in cells],
        "outer": [2.5 if cell.outer else 0.0 for cell in cells],
    }
    return _sketch(ink).filled({CELLS: boxes, TILES: _tiles(cells)})


def _tiles(cells: Sequence[Cell]) -> dict[str, list[object]]:
    found: dict[str, list[object]] = {name: [] for name in ("x", "x2", "y", "y2", "side", "shade")}
    for cell in cells:
        if cell.tile is None:
            continue
        down, across = (parts(extent) for extent in cell.tile)
        wide, tall = (_RIGHT - _LEFT) / across, (_BOTTOM - _TOP) / down
        for i in range(down):
            for j in range(across):
                left, top = cell.column + _LEFT + j * wide, cell.row + _TOP + i * tall
                ends = (left, left + wide, top, top + tall, "AB"[cell.row], 0.3 + 0.35 * ((i + j) % 2))
                for column, value in zip(found.values(), ends, strict=True):
                    column.append(value)
    return found


@template
def _sketch(ink: Ink) -> alt.LayerChart:
    x = alt.X("x:Q", scale=alt.Scale(domain=[0, 3], nice=False), axis=None)
    y = alt.Y("y:Q", scale=alt.Scale(domain=[0, 2], reverse=True, nice=False), axis=None)
    boxes = alt.Chart(alt.NamedData(CELLS))
    frame = boxes.mark_rect(fill=ink.panel, cornerRadius=4, strokeWidth=3).encode(
        x=x,
        x2="x2:Q",
        y=y,
        y2="y2:Q",
        stroke=alt.condition("datum.chosen", alt.value(ink.k), alt.value(ink.panel)),
    )
    tiles = (
        alt.Chart(alt.NamedData(TILES))
        .mark_rect(stroke=ink.page, strokeWidth=0.5)
        .encode(
            x=x,
            x2="x2:Q",
            y=y,
            y2="y2:Q",
            color=alt.Color("side:N", scale=alt.Scale(domain=["A", "B"], range=[ink.m, ink.n]), legend=None),
            opacity=alt.Opacity("shade:Q", scale=None, legend=None),
        )
    )
    edge = boxes.mark_rect(fill=None, stroke=ink.text).encode(
        x="left:Q",
        x2="right:Q",
        y="top:Q",
        y2="bottom:Q",
        strokeWidth=alt.StrokeWidth("outer:Q", scale=None, legend=None),
    )

    comma = f"containerSize()[0] < {_ONE_LINE} ? [datum.second + ',', datum.unusual] : "
    named = boxes.transform_calculate(
        second=f"datum.unusual === '' ? datum.second : {comma}datum.second + ', ' + datum.unusual"
    )

    def words(column: str, dy: int, **style: object) -> alt.Chart:
        mark = named.mark_text(align="left", baseline="top", dy=dy, **style)
        return mark.encode(x="left:Q", y="y:Q", text=f"{column}:N")

    return (
        alt.layer(
            frame,
            tiles,
            edge,
            words("title", 5, fontSize=13, fontWeight="bold", color=ink.text),
            words("first", 22, fontSize=12, color=ink.text),
            words("second", 37, fontSize=11, lineHeight=12, color=ink.soft),
        )
        .properties(height=_HEIGHT)
        .configure_view(stroke=None)
    )
