"""One stored tensor and its quantized copies: the direction of the tiles, and the direction of memory."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import altair as alt

from fp8core.linear import LayerShape, LayerTensor
from fp8core.tiles import WHOLE
from pages.kit.charts.ink import SCALE_COLORS, Ink
from pages.kit.charts.words import log2, short, stored_tile
from pages.sections.tiles.charts.frame import Row
from pages.sections.tiles.charts.marks import (
    LINES,
    TILES,
    WORDS,
    Spec,
    filled,
    line_layer,
    picture,
    position,
    stored_slice,
    word,
    word_layer,
)
from pages.sections.tiles.charts.marks import scale_domain as domain_of
from pages.sections.tiles.charts.scene import CopyScene

BOX_WIDE, BOX_TALL = 150, 108
COLUMN_WIDE = 232
TOP, LEFT = 40, 26
ARROW = 30


@dataclass(frozen=True)
class _Box:
    """A copy in one layout; `turned` if memory holds the transpose, `repeated` if only the layout
    needs it.
    """

    scene: CopyScene | None
    number: int
    turned: bool
    repeated: bool


def copies_chart(tensor: LayerTensor, layer: LayerShape, scenes: Sequence[CopyScene], ink: Ink) -> Spec:
    """The tensor as stored, then each copy: tiles in their places, an arrow along which memory runs."""
    boxes = [_Box(None, 0, False, False)]
    for number, scene in enumerate(scenes, 1):
        layouts = scene.copy.k_major
        boxes += [_Box(scene, number, turned, place > 0) for place, turned in enumerate(layouts)]
    width, height = COLUMN_WIDE * 3, TOP + BOX_TALL + 66
    rows, words, lines = [], [], []
    for place, box in enumerate(boxes):
        left = LEFT + COLUMN_WIDE * place
        rows += _tiles(tensor, box, left)
        words += _words(tensor, layer, box, left, ink)
        lines += _arrow(box, left, ink)
    return filled(_boxes(width, height, ink), {TILES: rows, LINES: lines, WORDS: words})


@lru_cache
def _boxes(width: float, height: float, ink: Ink) -> alt.LayerChart:
    return picture(width, height, _rects(width, height, ink), line_layer(), word_layer())


def _tiles(tensor: LayerTensor, box: _Box, left: float) -> list[Row]:
    if box.scene is None:
        corners = {"x0": left, "x1": left + BOX_WIDE, "y0": TOP, "y1": TOP + BOX_TALL}
        return [
            {
                **corners,
                "kind": "stored",
                "log2": 0,
                "what": f"{tensor.value}, not quantized",
                "detail": "none",
            }
        ]
    grid, scale = box.scene.quantized.grid, box.scene.quantized.scale
    tall, wide = (extent / size for extent, size in zip((BOX_TALL, BOX_WIDE), grid.shape, strict=True))
    rows: list[Row] = [
        {
            "x0": left + wide * t.columns.start,
            "x1": left + wide * t.columns.stop,
            "y0": TOP + tall * t.rows.start,
            "y1": TOP + tall * t.rows.stop,
            "kind": "repeated" if box.repeated else "copy",
            "log2": log2(float(scale[t.row, t.column])),
            "what": stored_slice(tensor, t),
            "detail": short(float(scale[t.row, t.column])),
        }
        for t in grid.tiles()
    ]
    low, high = domain_of(rows)
    for row in rows:
        row["log2"] = round((float(row["log2"]) - low) / (high - low), 3)
    return rows


def _rects(width: float, height: float, ink: Ink) -> alt.Chart:
    stored = "datum.kind == 'stored'"
    color = alt.Color(
        "log2:Q",
        legend=None,
        scale=alt.Scale(scheme=SCALE_COLORS, domain=[0, 1], clamp=True),
    )
    return (
        alt.Chart(alt.NamedData(TILES), name=TILES)
        .mark_rect(strokeWidth=1)
        .encode(
            **position(width, height),
            color=alt.when(stored).then(alt.value(ink.panel)).otherwise(color),
            stroke=alt.when(stored).then(alt.value(ink.line)).otherwise(alt.value(ink.page)),
            opacity=alt.when("datum.kind == 'repeated'").then(alt.value(0.55)).otherwise(alt.value(1)),
            tooltip=[alt.Tooltip("what:N", title="elements"), alt.Tooltip("detail:N", title="scale")],
        )
    )


def _arrow(box: _Box, left: float, ink: Ink) -> list[Row]:
    """An arrow from the first element along the direction of memory."""
    x, y, color = left - 8, TOP - 8, ink.k
    if box.turned:
        shaft = {"x0": x, "x1": x, "y0": TOP, "y1": TOP + BOX_TALL, "color": color}
        tips = [(x - 4, TOP + BOX_TALL - 6), (x + 4, TOP + BOX_TALL - 6)]
        end = (x, TOP + BOX_TALL)
    else:
        shaft = {"x0": left, "x1": left + BOX_WIDE, "y0": y, "y1": y, "color": color}
        tips = [(left + BOX_WIDE - 6, y - 4), (left + BOX_WIDE - 6, y + 4)]
        end = (left + BOX_WIDE, y)
    return [shaft, *({"x0": tx, "y0": ty, "x1": end[0], "y1": end[1], "color": color} for tx, ty in tips)]


def _words(tensor: LayerTensor, layer: LayerShape, box: _Box, left: float, ink: Ink) -> list[Row]:
    rows, columns = tensor.axes
    if box.scene is None:
        title = f"{tensor.value} as stored"
        notes = (
            f"[{rows.value}, {columns.value}] row-major, bf16",
            "not quantized",
            f"{layer.size(rows):,} × {layer.size(columns):,}",
        )
    else:
        spec, copy = box.scene.copy.spec, box.scene.copy
        title = f"Copy {box.number}" + (", transposed" if box.repeated else "")
        which = (
            "same codes and scales"
            if box.repeated
            else f"{spec.format.name}, tiles {stored_tile(tensor, *copy.tile)}"
        )
        readers = [
            f"{matmul.title} as {side.value}"
            for matmul, side in copy.readers
            if matmul.k_is_rows(side) == box.turned
        ]
        last = "a copy for layout only" if box.repeated else direction(copy.tile)
        notes = (which, last, "read by " + ", ".join(readers))
    color = ink.bad if box.repeated else ink.text
    return [
        word(left, 12, title, color, fontWeight="bold", fontSize=12.5),
        *(word(left, TOP + BOX_TALL + 14 + 16 * i, note, ink.soft) for i, note in enumerate(notes)),
    ]


def direction(tile: tuple[int | None, int | None]) -> str:
    """Row-wise where a tile runs along the stored rows, column-wise down the columns, else neither."""
    rows, columns = tile
    if rows == columns:
        return "one scale, any direction" if rows is WHOLE else "square: serves both ways"
    return "row-wise tiles" if rows == 1 else "column-wise tiles" if columns == 1 else "oblong tiles"
