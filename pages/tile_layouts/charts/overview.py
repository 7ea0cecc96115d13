"""Every recipe and matmul in small multiples: A, B and D to scale, and the rescales of each result."""

from collections.abc import Sequence

import altair as alt
import numpy as np

from fp8core.costs import matmul_rescales
from fp8core.linear import Side
from pages.kit.charts.ink import Ink
from pages.kit.charts.recipe_marks import mark_of
from pages.kit.charts.template import Filled, by_column, template
from pages.kit.charts.tile_marks import (
    CORNERS,
    LINES,
    TILES,
    WORDS,
    Row,
    both,
    heat_map,
    joined,
    line_layer,
    on_telephone,
    own_colors,
    picture,
    position,
    shade_words,
    word,
    word_layer,
)
from pages.tile_layouts.charts.frame import Frame, frame
from pages.tile_layouts.charts.marks import arrow, tile_boxes
from pages.tile_layouts.charts.scene import TO_SCALE, Scene

WIDTH, HEIGHT, FLAT = 1056, 580, 450
LEFT, HEAD, GAP = 122, 36, 12
ON_TELEPHONE = WIDTH / 344
"""Units of this picture that one pixel of a telephone takes."""
HEAD_THERE, TITLE_THERE = 28, 18
ROOM_FOR_WORDS = 60
CELLS, SHAPES = "cells", "shapes"
OPEN = "open"


def overview(scenes: Sequence[Scene], ink: Ink, room: float = HEIGHT) -> Filled:
    """Small multiples: a column for each recipe, a row for each matmul; `open` holds the cell clicked.

    A telephone has a row for each recipe.
    """
    recipes = list(dict.fromkeys(scene.recipe.name for scene in scenes))
    matmuls = list(dict.fromkeys(scene.matmul.name for scene in scenes))
    height = room
    tiles, cells, lines, words = [], [], [], []
    for scene in scenes:
        column, row = recipes.index(scene.recipe.name), matmuls.index(scene.matmul.name)
        here = _wide(scene, column, row, len(recipes), height)
        there = _narrow(scene, column, row, len(recipes), height)
        tiles.append(_tiles(scene, here, there))
        cells.append(_cell(scene, here, there))
        lines += both(_arrows(here, ink, 3), _arrows(there, ink, 3))
        words += _cell_words(scene, here, there, ink)
        if row == 0:
            words += _recipe_title(scene, here, there, ink)
        if column == 0:
            words += _matmul_title(scene, here, there, ink)
    if height >= FLAT:
        words += _remarks(height, ink)
    shapes = by_column([_shape(scene, recipes, height) for scene in scenes[: len(recipes)]])
    return _small_multiples(height, ink).filled(
        {
            TILES: joined(tiles),
            CELLS: by_column(cells),
            LINES: by_column(lines),
            WORDS: by_column(words),
            SHAPES: shapes,
        }
    )


@template
def _small_multiples(height: float, ink: Ink) -> alt.LayerChart:
    return picture(
        WIDTH,
        height,
        _tile_layer(height, ink),
        on_telephone(line_layer(), *CORNERS),
        _shape_layer(ink),
        word_layer(),
        _cell_layer(ink),
    )


def _wide(scene: Scene, column: int, row: int, columns: int, height: float) -> Frame:
    wide, tall = (WIDTH - LEFT) / columns, (height - HEAD) / 3
    side = min((tall - GAP - 10) / 2, (wide - GAP - 18) / 2)
    return frame(
        scene.mnk,
        left=LEFT + wide * column,
        top=HEAD + tall * row,
        gap=(GAP, GAP),
        **dict.fromkeys(("k_wide", "n_wide", "k_tall", "m_tall"), side),
    )


def _narrow(scene: Scene, row: int, column: int, rows: int, height: float) -> Frame:
    """The cell on a telephone, in the units of the wide picture."""
    wide, tall = WIDTH / ON_TELEPHONE / 3, (height - HEAD_THERE) / rows
    side = min((tall - TITLE_THERE - 8 - 8) / 2, (wide - 8 - 12) / 2)
    return frame(
        scene.mnk,
        left=wide * column * ON_TELEPHONE,
        top=HEAD_THERE + TITLE_THERE + tall * row,
        k_wide=side * ON_TELEPHONE,
        n_wide=side * ON_TELEPHONE,
        k_tall=side,
        m_tall=side,
        gap=(8 * ON_TELEPHONE, 8),
    )


def _tiles(scene: Scene, here: Frame, there: Frame) -> Row:
    """Tiles of A and B, and D. Colors run from an operand's smallest scale to its largest."""
    seen = {side: scene.seen(side) for side in Side}
    found: Row = {}
    for prefix, place in (("", here), ("n_", there)):
        boxes = [tile_boxes(tiles, place, side) for side, tiles in seen.items()]
        whole = place.d.box(range(place.d.rows), range(place.d.columns))
        marks = joined([*boxes, {name: [corner] for name, corner in whole.items()}])
        found |= {prefix + name: corners for name, corners in marks.items()}
    scales = [own_colors(tiles.scale) for tiles in seen.values()]
    return {**found, "log2": np.concatenate([*scales, [np.nan]])}


def _tile_layer(height: float, ink: Ink) -> alt.Chart:
    data = on_telephone(alt.Chart(alt.NamedData(TILES), name=TILES), *CORNERS)
    return heat_map(data, position(WIDTH, height), ink, strokeWidth=0.75)


def _cell(scene: Scene, here: Frame, there: Frame) -> Row:
    """The frame around a cell, which opens it."""

    def around(place: Frame, room: float) -> Row:
        return {
            "x0": place.a.left - room,
            "x1": place.d.right + room,
            "y0": place.b.top - room,
            "y1": place.d.bottom + room,
        }

    (corners,) = both([around(here, 5)], [around(there, 3)])
    name = f"{scene.recipe.title}, {scene.matmul.title}"
    return {**corners, "recipe": scene.recipe.name, "matmul": scene.matmul.name, "name": name}


def _cell_layer(ink: Ink) -> alt.Chart:
    """A cell opens by a click; the one under the pointer has a frame."""
    pointed = alt.selection_point(name="pointed", on="pointerover", clear="pointerout", empty=False)
    opened = alt.selection_point(
        name=OPEN, on="click", toggle="true", clear=False, empty=False, fields=["recipe", "matmul"]
    )
    return (
        on_telephone(alt.Chart(alt.NamedData(CELLS), name=CELLS), *CORNERS)
        .mark_rect(fill=ink.page, fillOpacity=0, strokeWidth=2.5, cornerRadius=4, cursor="pointer")
        .encode(
            x="x0:Q",
            x2="x1:Q",
            y="y0:Q",
            y2="y1:Q",
            stroke=alt.when(pointed).then(alt.value(ink.text)).otherwise(alt.value("transparent")),
            tooltip=[alt.Tooltip("name:N", title="open")],
        )
        .add_params(pointed, opened)
    )


def _arrows(place: Frame, ink: Ink, head: float) -> list[Row]:
    above, beside = place.a.top - GAP / 2, (place.a.right + place.b.left) / 2
    return [
        *arrow(place.a.left, above, place.a.right, above, ink.k, head),
        *arrow(beside, place.b.top, beside, place.b.bottom, ink.k, head),
    ]


def _shape(scene: Scene, recipes: Sequence[str], height: float) -> Row:
    """The shape of a recipe at its name; beside K it is ink."""
    name, column = scene.recipe.name, recipes.index(scene.recipe.name)
    here, there = (
        _wide(scene, column, 0, len(recipes), height),
        _narrow(scene, column, 0, len(recipes), height),
    )
    return {
        "x": here.a.left + 6,
        "y": 14,
        "n_x": there.a.left + 6 * ON_TELEPHONE,
        "n_y": there.b.top - 12,
        "shape": mark_of(name).shape,
    }


def _shape_layer(ink: Ink) -> alt.Chart:
    shapes = on_telephone(alt.Chart(alt.NamedData(SHAPES)), "x", "y")
    return shapes.mark_point(filled=True, opacity=1, size=110, color=ink.text, aria=False).encode(
        x="x:Q", y="y:Q", shape=alt.Shape("shape:N", scale=None)
    )


def _recipe_title(scene: Scene, here: Frame, there: Frame, ink: Ink) -> list[Row]:
    x, style = here.a.left + 18, {"fontWeight": "bold", "fontSize": 14}
    first, *rest = scene.recipe.title.split(", ")
    n_x, n_y = there.a.left + 18 * ON_TELEPHONE, there.b.top - 12
    words = [word(x, 14, first, ink.text, narrow=scene.recipe.title, n_x=n_x, n_y=n_y, **style)]
    if here.b.height < ROOM_FOR_WORDS:
        return words
    return words + [word(x, 28, line, ink.soft, narrow="", fontSize=12) for line in rest]


def _matmul_title(scene: Scene, here: Frame, there: Frame, ink: Ink) -> list[Row]:
    y, matmul = here.b.top + 8, scene.matmul
    bold = {"fontWeight": "bold"}
    return [
        word(0, y, matmul.title, ink.text, n_x=there.a.left, n_y=8, fontSize=15, **bold),
        word(0, y + 20, "sums over", ink.soft, narrow="", fontSize=13),
        word(0, y + 38, f"K = {matmul.k.value}", ink.k, narrow="", fontSize=13, **bold),
    ]


def _cell_words(scene: Scene, here: Frame, there: Frame, ink: Ink) -> list[Row]:
    a, b, d = scene.matmul.symbol(Side.A), scene.matmul.symbol(Side.B), scene.matmul.d.value
    times = matmul_rescales(scene.recipe, scene.matmul, scene.layer) if scene.spec.quantized else 0
    x, top, has_room = here.a.left, here.b.top, here.b.height >= ROOM_FOR_WORDS
    place = {"n_x": there.a.left, "n_y": there.b.top + there.b.height / 2}
    size = 17 if has_room else 14
    words = [word(x, top + (30 if has_room else 16), f"{times:,}", ink.text, fontSize=size, **place)]
    words[0]["fontWeight"] = "bold"
    if has_room:
        noun = "rescale" if times == 1 else "rescales"
        words.append(word(x, top + 47, noun, ink.soft, narrow="", fontSize=12))
    # A flat cell has no room for B's name beside the number.
    beside, align = (
        ((here.b.left - GAP, top + 6), "right") if has_room else ((here.b.right + 5, top + 8), "left")
    )
    middle = (here.d.left + here.d.right) / 2, (here.d.top + here.d.bottom) / 2
    there_d = {
        "n_x": (there.d.left + there.d.right) / 2,
        "n_y": (there.d.top + there.d.bottom) / 2,
    }
    return [
        *words,
        word(x, here.a.top - 16, a, ink.text, narrow="", fontSize=12),
        word(*beside, b, ink.text, narrow="", align=align, fontSize=12),
        word(*middle, d, ink.soft, align="center", fontSize=12, **there_d),
    ]


def _remarks(height: float, ink: Ink) -> list[Row]:
    """What the large numbers are, and the size of what is drawn."""
    tall = (height - HEAD) / 3
    shade, meaning = shade_words(ink).split(": ")
    remarks = {
        HEAD + 84: ("The number: how", "often each element", "of the result", "is rescaled."),
        HEAD + tall + 84: (f"{shade}:", meaning + ",", "within one tensor."),
        HEAD + 2 * tall + 84: (f"{TO_SCALE} × {TO_SCALE} numbers,", "to scale. Single rows", "are thicker."),
    }
    return [
        word(0, y + 16 * at, line, ink.soft, narrow="", fontSize=12)
        for y, lines in remarks.items()
        for at, line in enumerate(lines)
    ]
