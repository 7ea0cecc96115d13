"""Every recipe and matmul in small multiples, to scale: A at the left, B above, D in the corner."""

from collections.abc import Sequence
from dataclasses import dataclass

import altair as alt
import numpy as np
from numpy.typing import NDArray

from fp8core.costs import matmul_rescales
from fp8core.linear import MATMULS, Side
from pages.kit.charts import tile_marks as marks
from pages.kit.charts.ink import Ink
from pages.kit.charts.recipe_marks import mark_of
from pages.kit.charts.template import Filled, by_column, template
from pages.kit.charts.tile_marks import Row, word
from pages.tile_layouts.charts.scene import TO_SCALE, Scene, arrow

WIDTH, HEIGHT, FLAT = 1056, 580, 450
LEFT, HEAD, GAP = 122, 36, 12
ON_TELEPHONE = WIDTH / 344  # units of this picture in a pixel of a telephone
HEAD_THERE, TITLE_THERE, GAP_THERE = 28, 18, 8
ROOM_FOR_WORDS = 60
CELLS, SHAPES = "cells", "shapes"
OPEN = "open"


@dataclass(frozen=True, kw_only=True)
class Panel:
    """A rectangle of the picture for `rows` × `columns` elements."""

    rows: int
    columns: int
    left: float
    right: float
    top: float
    bottom: float

    @property
    def height(self) -> float:
        return self.bottom - self.top

    def boxes(self, rows: NDArray[np.int64], columns: NDArray[np.int64]) -> Row:
        """Corners of rectangles over these elements: int64[2, rectangles], starts and stops."""
        wide, tall = (self.right - self.left) / self.columns, self.height / self.rows
        x0, x1 = (self.left + wide * end for end in columns)
        y0, y1 = (self.top + tall * end for end in rows)
        return {"x0": x0, "x1": x1, "y0": y0, "y1": y1}


@dataclass(frozen=True)
class Frame:
    a: Panel
    b: Panel
    d: Panel


def overview(scenes: Sequence[Scene], ink: Ink, room: float = HEIGHT) -> Filled:
    """A column for each recipe, a row for each matmul; a telephone has a row for each recipe."""
    recipes = list(dict.fromkeys(scene.recipe.name for scene in scenes))
    tiles, cells, lines, words, shapes = [], [], [], [], []
    for scene in scenes:
        column, row = recipes.index(scene.recipe.name), [*MATMULS].index(scene.matmul.name)
        here = _wide(scene, column, row, len(recipes), room)
        there = _narrow(scene, column, row, len(recipes), room)
        tiles.append(_tiles(scene, here, there))
        cells.append(_cell(scene, here, there))
        lines += marks.both(_arrows(here, ink), _arrows(there, ink))
        words += _cell_words(scene, here, there, ink)
        if row == 0:
            shapes.append(_shape(scene, here, there))
            words += _recipe_title(scene, here, there, ink)
        if column == 0:
            words += _matmul_title(scene, here, there, ink)
    if room >= FLAT:
        words += _remarks(room, ink)
    return _small_multiples(room, ink).filled(
        {
            marks.TILES: marks.joined(tiles),
            CELLS: by_column(cells),
            marks.LINES: by_column(lines),
            marks.WORDS: by_column(words),
            SHAPES: by_column(shapes),
        }
    )


@template
def _small_multiples(height: float, ink: Ink) -> alt.LayerChart:
    tiles = marks.on_telephone(alt.Chart(alt.NamedData(marks.TILES), name=marks.TILES), *marks.CORNERS)
    shapes = marks.on_telephone(alt.Chart(alt.NamedData(SHAPES)), "x", "y")
    return marks.picture(
        WIDTH,
        height,
        marks.heat_map(tiles, marks.position(WIDTH, height), ink, strokeWidth=0.75),
        marks.on_telephone(marks.line_layer(), *marks.CORNERS),
        shapes.mark_point(filled=True, opacity=1, size=110, color=ink.text).encode(
            x="x:Q", y="y:Q", shape=alt.Shape("shape:N", scale=None)
        ),
        marks.word_layer(),
        _cell_layer(ink),
    )


def _cell_layer(ink: Ink) -> alt.Chart:
    hover = alt.selection_point(name="pointed", on="pointerover", clear="pointerout", empty=False)
    click = alt.selection_point(
        name=OPEN, on="click", toggle="true", clear=False, empty=False, fields=["recipe", "matmul"]
    )
    return (
        marks.on_telephone(alt.Chart(alt.NamedData(CELLS), name=CELLS), *marks.CORNERS)
        .mark_rect(fill=ink.page, fillOpacity=0, strokeWidth=2.5, cornerRadius=4, cursor="pointer")
        .encode(
            x="x0:Q",
            x2="x1:Q",
            y="y0:Q",
            y2="y1:Q",
            stroke=alt.when(hover).then(alt.value(ink.text)).otherwise(alt.value("transparent")),
            tooltip=[alt.Tooltip("name:N", title="open")],
        )
        .add_params(hover, click)
    )


def _wide(scene: Scene, column: int, row: int, columns: int, height: float) -> Frame:
    wide, tall = (WIDTH - LEFT) / columns, (height - HEAD) / 3
    side = min((tall - GAP - 10) / 2, (wide - GAP - 18) / 2)
    left, top = LEFT + wide * column, HEAD + tall * row
    return _frame(scene.mnk, left, top, wide=side, tall=side, gap=(GAP, GAP))


def _narrow(scene: Scene, row: int, column: int, rows: int, height: float) -> Frame:
    wide, tall = WIDTH / ON_TELEPHONE / 3, (height - HEAD_THERE) / rows
    side = min((tall - TITLE_THERE - GAP_THERE - 8) / 2, (wide - GAP_THERE - 12) / 2)
    left, top = wide * column * ON_TELEPHONE, HEAD_THERE + TITLE_THERE + tall * row
    gap = GAP_THERE * ON_TELEPHONE, GAP_THERE
    return _frame(scene.mnk, left, top, wide=side * ON_TELEPHONE, tall=side, gap=gap)


def _frame(
    mnk: tuple[int, int, int], left: float, top: float, *, wide: float, tall: float, gap: tuple[float, float]
) -> Frame:
    (m, n, k), x, y = mnk, left + wide + gap[0], top + tall + gap[1]
    at_left, at_right = {"left": left, "right": left + wide}, {"left": x, "right": x + wide}
    above, below = {"top": top, "bottom": top + tall}, {"top": y, "bottom": y + tall}
    return Frame(
        Panel(rows=m, columns=k, **at_left, **below),
        Panel(rows=k, columns=n, **at_right, **above),
        Panel(rows=m, columns=n, **at_right, **below),
    )


def _tiles(scene: Scene, here: Frame, there: Frame) -> Row:
    (a, b), places = map(scene.tiles, Side), {}
    for prefix, at in (("", here), ("n_", there)):
        whole = at.d.boxes(np.array([[0], [at.d.rows]]), np.array([[0], [at.d.columns]]))
        corners = marks.joined([at.a.boxes(a.free, a.k), at.b.boxes(b.k, b.free), whole])
        places |= {prefix + name: ends for name, ends in corners.items()}
    return {**places, "log2": np.concatenate([*map(marks.own_colors, (a.scale, b.scale)), [np.nan]])}


def _cell(scene: Scene, here: Frame, there: Frame) -> Row:
    def around(at: Frame, room: float) -> Row:
        across = {"x0": at.a.left - room, "x1": at.d.right + room}
        return {**across, "y0": at.b.top - room, "y1": at.d.bottom + room}

    (corners,) = marks.both([around(here, 5)], [around(there, 3)])
    name = f"{scene.recipe.title}, {scene.matmul.title}"
    return {**corners, "recipe": scene.recipe.name, "matmul": scene.matmul.name, "name": name}


def _arrows(at: Frame, ink: Ink) -> list[Row]:
    above, beside = at.a.top - GAP / 2, (at.a.right + at.b.left) / 2
    return [
        *arrow(at.a.left, above, at.a.right, above, ink.k, head=3),
        *arrow(beside, at.b.top, beside, at.b.bottom, ink.k, head=3),
    ]


def _shape(scene: Scene, here: Frame, there: Frame) -> Row:
    narrow = {"n_x": there.a.left + 6 * ON_TELEPHONE, "n_y": there.b.top - 12}
    return {"x": here.a.left + 6, "y": 14, **narrow, "shape": mark_of(scene.recipe.name).shape}


def _recipe_title(scene: Scene, here: Frame, there: Frame, ink: Ink) -> list[Row]:
    x, style = here.a.left + 18, {"fontWeight": "bold", "fontSize": 14}
    first, *rest = scene.recipe.title.split(", ")
    n_x, n_y = there.a.left + 18 * ON_TELEPHONE, there.b.top - 12
    words = [word(x, 14, first, ink.text, narrow=scene.recipe.title, n_x=n_x, n_y=n_y, **style)]
    if here.b.height < ROOM_FOR_WORDS:
        return words
    return words + [word(x, 28, line, ink.soft, narrow="", fontSize=12) for line in rest]


def _matmul_title(scene: Scene, here: Frame, there: Frame, ink: Ink) -> list[Row]:
    y, matmul, bold = here.b.top + 8, scene.matmul, {"fontWeight": "bold"}
    return [
        word(0, y, matmul.title, ink.text, n_x=there.a.left, n_y=8, fontSize=15, **bold),
        word(0, y + 20, "sums over", ink.soft, narrow="", fontSize=13),
        word(0, y + 38, f"K = {matmul.k.value}", ink.k, narrow="", fontSize=13, **bold),
    ]


def _cell_words(scene: Scene, here: Frame, there: Frame, ink: Ink) -> list[Row]:
    a, b, d = scene.matmul.symbol(Side.A), scene.matmul.symbol(Side.B), scene.matmul.d.value
    times = matmul_rescales(scene.recipe, scene.matmul, scene.layer) if scene.spec.quantized else 0
    x, top = here.a.left, here.b.top
    number = {"fontWeight": "bold", "n_x": there.a.left, "n_y": there.b.top + there.b.height / 2}
    if here.b.height >= ROOM_FOR_WORDS:
        noun = "rescale" if times == 1 else "rescales"
        words = [
            word(x, top + 30, f"{times:,}", ink.text, fontSize=17, **number),
            word(x, top + 47, noun, ink.soft, narrow="", fontSize=12),
            word(here.b.left - GAP, top + 6, b, ink.text, narrow="", align="right", fontSize=12),
        ]
    else:
        words = [
            word(x, top + 16, f"{times:,}", ink.text, fontSize=14, **number),
            word(here.b.right + 5, top + 8, b, ink.text, narrow="", fontSize=12),
        ]
    (d_x, d_y), (n_x, n_y) = (
        ((at.d.left + at.d.right) / 2, (at.d.top + at.d.bottom) / 2) for at in (here, there)
    )
    return [
        *words,
        word(x, here.a.top - 16, a, ink.text, narrow="", fontSize=12),
        word(d_x, d_y, d, ink.soft, align="center", fontSize=12, n_x=n_x, n_y=n_y),
    ]


def _remarks(height: float, ink: Ink) -> list[Row]:
    tall = (height - HEAD) / 3
    shade, meaning = marks.shade_words(ink).split(": ")
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
