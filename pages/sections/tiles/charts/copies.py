"""One stored tensor and its quantized copies: the direction of the tiles, and the direction of memory."""

from collections.abc import Sequence
from dataclasses import dataclass

import altair as alt
import numpy as np

from fp8core.linear import MATMULS, LayerShape, LayerTensor, Side
from fp8core.recipes import Copy, Recipe
from fp8core.recipes.operand import same_copy
from fp8core.tiles import WHOLE
from pages.kit.charts.ink import Ink
from pages.kit.charts.operand_words import bits_words, brief_preparation
from pages.kit.charts.template import Filled, by_column, template
from pages.kit.charts.tile_marks import (
    LINES,
    TILES,
    WORDS,
    Row,
    joined,
    line_layer,
    own_colors,
    picture,
    position,
    ranges,
    word,
    word_layer,
)
from pages.kit.charts.words import stored_tile
from pages.sections.tiles.charts.marks import scale_words, stored_slice
from pages.sections.tiles.charts.scene import CopyScene

BOX_WIDE, BOX_TALL = 150, 108
COLUMN_WIDE = 232
TOP, LEFT = 40, 26
MOST_NOTES = 6


@dataclass(frozen=True)
class _Box:
    """A copy in one layout; `turned` if memory holds the transpose, `repeated` if only the layout
    needs it.
    """

    scene: CopyScene | None
    number: int
    turned: bool
    repeated: bool


def copies_chart(
    recipe: Recipe, tensor: LayerTensor, layer: LayerShape, scenes: Sequence[CopyScene], ink: Ink
) -> Filled:
    """The tensor as stored, then each copy: tiles in their places, an arrow along which memory runs."""
    boxes = [_Box(None, 0, False, False)]
    for number, scene in enumerate(scenes, 1):
        layouts = scene.copy.k_major
        boxes += [_Box(scene, number, turned, place > 0) for place, turned in enumerate(layouts)]
    width, height = COLUMN_WIDE * 3, TOP + BOX_TALL + 14 + 16 * MOST_NOTES
    marks, words, lines = [], [], []
    for place, box in enumerate(boxes):
        left = LEFT + COLUMN_WIDE * place
        marks.append(_tiles(tensor, box, left))
        words += _words(tensor, layer, box, left, ink)
        lines += _arrow(box, left, ink)
        words += _bf16_readers(recipe, tensor, left, ink) if box.scene is None else []
    for source, place in _made_of(boxes):
        lines += _out_of(LEFT + COLUMN_WIDE * source, LEFT + COLUMN_WIDE * place, ink)
    return _boxes(width, height, ink).filled(
        {TILES: joined(marks), LINES: by_column(lines), WORDS: by_column(words)}
    )


@template
def _boxes(width: float, height: float, ink: Ink) -> alt.LayerChart:
    return picture(width, height, _rects(width, height, ink), line_layer(), word_layer())


def _tiles(tensor: LayerTensor, box: _Box, left: float) -> Row:
    if box.scene is None:
        corners = {"x0": left, "x1": left + BOX_WIDE, "y0": TOP, "y1": TOP + BOX_TALL}
        places = {name: np.array([place]) for name, place in (corners | {"log2": 0.0}).items()}
        return places | {"kind": ["stored"], "what": [f"{tensor.value}, not quantized"], "detail": ["none"]}
    grid, scale = box.scene.grid, box.scene.scales.stored.astype(np.float64)
    tall, wide = (extent / size for extent, size in zip((BOX_TALL, BOX_WIDE), grid.shape, strict=True))
    rows, columns = grid.ends()
    return {
        "x0": left + wide * columns[0],
        "x1": left + wide * columns[1],
        "y0": TOP + tall * rows[0],
        "y1": TOP + tall * rows[1],
        "kind": ["repeated" if box.repeated else "copy"] * scale.size,
        "log2": own_colors(scale.ravel()),
        "what": [stored_slice(tensor, *place) for place in zip(ranges(rows), ranges(columns), strict=True)],
        "detail": scale_words(box.scene.scales),
    }


def _rects(width: float, height: float, ink: Ink) -> alt.Chart:
    stored = "datum.kind == 'stored'"
    color = alt.Color(
        "log2:Q",
        legend=None,
        scale=alt.Scale(range="ramp", domain=[0, 1], clamp=True),
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


def _made_of(boxes: Sequence[_Box]) -> list[tuple[int, int]]:
    """The places of two boxes, the second a copy that is made out of the first."""
    found = []
    for place, box in enumerate(boxes):
        saved = box.scene and box.scene.copy.operand.saved
        if saved is None or box.repeated:
            continue
        like = same_copy(saved)
        found += [
            (source, place)
            for source, other in enumerate(boxes)
            if other.scene and not other.repeated and same_copy(other.scene.copy.operand) == like
        ]
    return found


def _out_of(source: float, left: float, ink: Ink) -> list[Row]:
    """An arrow from one box to the next."""
    y, x0, x1 = TOP + BOX_TALL / 2, source + BOX_WIDE + 4, left - 16
    ends = [(x0, y, x1, y), (x1 - 6, y - 4, x1, y), (x1 - 6, y + 4, x1, y)]
    return [dict(zip(("x0", "y0", "x1", "y1"), end, strict=True)) | {"color": ink.text} for end in ends]


def _bf16_readers(recipe: Recipe, tensor: LayerTensor, left: float, ink: Ink) -> list[Row]:
    """A note on the matmuls that read the tensor itself; none where all read copies."""
    readers = [
        f"{matmul.title} as {side.value}"
        for matmul in MATMULS.values()
        for side in Side
        if matmul.operand(side) is tensor and recipe.operand(matmul, side) is None
    ]
    if not readers:
        return []
    return [word(left, TOP + BOX_TALL + 14 + 16 * 3, "read by " + ", ".join(readers), ink.text)]


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
        copy = box.scene.copy
        title = f"Copy {box.number}" + (", transposed" if box.repeated else "")
        readers = [
            f"{matmul.title} as {side.value}"
            for matmul, side in copy.readers
            if matmul.k_is_rows(side) == box.turned
        ]
        read_by = "read by " + ", ".join(readers)
        notes = (
            ("same codes and scales", "a copy for layout only", read_by)
            if box.repeated
            else (*_notes(tensor, layer, copy), read_by)
        )
    color = ink.lost if box.repeated else ink.text
    return [
        word(left, 12, title, color, fontWeight="bold", fontSize=12.5),
        *(word(left, TOP + BOX_TALL + 14 + 16 * i, note, ink.soft) for i, note in enumerate(notes)),
    ]


def _notes(tensor: LayerTensor, layer: LayerShape, copy: Copy) -> list[str]:
    """The format, the tiles, the bits of a copy, and how its numbers are made."""
    rule = copy.spec.scale_rule
    levels = [f"{rule.format.name} scales under one more level"] if rule.has_fitted_outer else []
    made = brief_preparation(copy.operand)
    return [
        f"{copy.spec.format.name}, tiles {stored_tile(tensor, *copy.tile)}",
        direction(copy.tile),
        f"{bits_words(copy.operand, layer.of(tensor))} bits an element",
        *levels,
        *([" · ".join(made)] if made else []),
    ]


def direction(tile: tuple[int | None, int | None]) -> str:
    """Row-wise where a tile runs along the stored rows, column-wise down the columns, else neither."""
    rows, columns = tile
    if rows == columns:
        return "one scale, any direction" if rows is WHOLE else "square: serves both ways"
    return "row-wise tiles" if rows == 1 else "column-wise tiles" if columns == 1 else "oblong tiles"
