"""A sketch of a recipe's six operands: how each is cut into tiles, not to scale, and the rule's verdicts."""

from collections.abc import Sequence
from dataclasses import dataclass

import altair as alt

from fp8core.tiles import WHOLE, Extent
from pages.kit.charts.ink import Ink
from pages.kit.charts.template import Filled, by_column, template
from pages.kit.charts.tile_marks import (
    LINES,
    TILES,
    WORDS,
    Row,
    line_layer,
    picture,
    position,
    word,
    word_layer,
)

# Whether a matmul can apply its scales; how, or why not, in a few words, and in fewer.
Verdict = tuple[bool, str, str]
CELLS = "cells"
WIDTH, HEIGHT, FLAT = 780, 396, 330
COLUMN, LEFT, WIDE = 260, 26, 206
HEAD = 26
_MOST, _FEWEST = 9, 2


@dataclass(frozen=True, kw_only=True)
class Cell:
    """One operand: its place, its words, and its tile (rows, columns) as drawn; None for bf16."""

    column: int
    row: int
    matmul: str
    k: str
    symbol: str
    title: str
    words: tuple[str, str, str]
    tile: tuple[Extent, Extent] | None
    chosen: bool
    outer: bool


def parts(extent: Extent) -> int:
    """How many tiles a sketch shows along a dim: fewer, the longer they are."""
    if extent is WHOLE:
        return 1
    return max(_FEWEST, _MOST - extent.bit_length() + 1)


def cells_chart(
    cells: Sequence[Cell], verdicts: Sequence[Verdict], ink: Ink, *, is_flat: bool = False
) -> Filled:
    """The sketch: matmuls side by side, A above B, and below them whether the scale leaves the sum."""
    height = FLAT if is_flat else HEIGHT
    words = [_verdict(at, verdict, height, ink) for at, verdict in enumerate(verdicts)]
    tiles, boxes, lines = [], [], []
    for cell in cells:
        left, top, tall = _place(cell, height)
        tiles += _tiles(cell, left, top, tall, ink)
        boxes.append(_box(cell, left, top, tall, ink))
        lines += _k_arrow(cell, left, top, tall, ink)
        words += _words(cell, left, top, tall, ink)
    return _sketch(height, ink).filled(
        {
            TILES: by_column(tiles),
            CELLS: by_column(boxes),
            LINES: by_column(lines),
            WORDS: by_column(words),
        }
    )


@template
def _sketch(height: float, ink: Ink) -> alt.LayerChart:
    where = position(WIDTH, height)
    tiles = (
        alt.Chart(alt.NamedData(TILES), name=TILES)
        .mark_rect(stroke=ink.page, strokeWidth=1)
        .encode(**where, color=alt.Color("fill:N", scale=None, legend=None))
    )
    boxes = (
        alt.Chart(alt.NamedData(CELLS), name=CELLS)
        .mark_rect(fill=None, cornerRadius=3)
        .encode(
            **where,
            stroke=alt.Stroke("fill:N", scale=None, legend=None),
            strokeWidth=alt.StrokeWidth("edge:Q", scale=None, legend=None),
        )
    )
    return picture(WIDTH, height, tiles, boxes, line_layer(), word_layer())


def _place(cell: Cell, height: float) -> tuple[float, float, float]:
    """The left, the top and the height of a cell's tiles: two lines of words follow each of them."""
    row = (height - HEAD - 24) / 2
    return COLUMN * cell.column + LEFT, HEAD + row * cell.row + 16, row - 58


def _tiles(cell: Cell, left: float, top: float, tall: float, ink: Ink) -> list[Row]:
    down, across = (parts(extent) for extent in cell.tile or (WHOLE, WHOLE))
    step_x, step_y = WIDE / across, tall / down
    return [
        {
            "x0": left + j * step_x,
            "x1": left + (j + 1) * step_x,
            "y0": top + i * step_y,
            "y1": top + (i + 1) * step_y,
            "fill": ink.ramp[1 + (i + j) % 2] if cell.tile else ink.panel,
            "title": cell.title,
        }
        for i in range(down)
        for j in range(across)
    ]


def _box(cell: Cell, left: float, top: float, tall: float, ink: Ink) -> Row:
    """A frame: of the operand that is edited, or around the tiles that share an outer scale."""
    room = 4 if cell.chosen else 2
    return {
        "x0": left - room,
        "x1": left + WIDE + room,
        "y0": top - room,
        "y1": top + tall + room,
        "fill": ink.text if cell.chosen else ink.mid,
        "edge": 3 if cell.chosen else 1.5 if cell.outer else 0,
        "chosen": cell.chosen,
        "title": cell.title,
    }


def _k_arrow(cell: Cell, left: float, top: float, tall: float, ink: Ink) -> list[Row]:
    if cell.row == 0:
        y, x = top - 11, left + WIDE
        ends = [(left, y, x, y), (x - 6, y - 4, x, y), (x - 6, y + 4, x, y)]
    else:
        x, y = left - 12, top + tall
        ends = [(x, top, x, y), (x - 4, y - 6, x, y), (x + 4, y - 6, x, y)]
    return [dict(zip(("x0", "y0", "x1", "y1"), end, strict=True)) | {"color": ink.k} for end in ends]


def _words(cell: Cell, left: float, top: float, tall: float, ink: Ink) -> list[Row]:
    first, scale, unusual = cell.words
    y = top + tall + 17
    second = ", ".join(filter(None, (scale, unusual)))
    words = [
        word(left, y, f"{cell.symbol}, {first}", ink.text, narrow=first, fontSize=13, fontWeight="bold"),
        word(left, y + 16, second, ink.soft, narrow=scale, fontSize=13),
    ]
    if cell.row == 0:
        words += [
            word(left, 7, cell.matmul, ink.text, fontSize=15, fontWeight="bold"),
            word(
                left + WIDE,
                7,
                f"K = {cell.k}",
                ink.k,
                narrow="",
                align="right",
                fontWeight="bold",
                fontSize=13,
            ),
        ]
    return words


def _verdict(at: int, verdict: Verdict, height: float, ink: Ink) -> Row:
    holds, words, short = verdict
    mark, color = ("✓", ink.text) if holds else ("✗", ink.lost)
    x, style = COLUMN * at + LEFT, {"fontWeight": "bold", "fontSize": 13}
    return word(
        x, height - 10, f"{mark} {words}", color, narrow=mark if holds else f"{mark} {short}", **style
    )
