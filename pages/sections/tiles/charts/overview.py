"""Every recipe and matmul in small multiples: the parts of the big picture, drawn small and in one frame."""

from collections.abc import Sequence

import altair as alt
import numpy as np

from fp8core.linear import Side
from pages.kit.charts.ink import Ink
from pages.kit.charts.operand_words import bits_words
from pages.kit.charts.template import Filled, by_column, number, template
from pages.kit.charts.tile_marks import (
    LINES,
    NEUTRAL,
    TILES,
    WORDS,
    Row,
    joined,
    line_layer,
    own_colors,
    own_legend,
    picture,
    position,
    word,
    word_layer,
)
from pages.sections.tiles.charts.frame import Frame, frame
from pages.sections.tiles.charts.marks import tile_boxes
from pages.sections.tiles.charts.scene import Scene

OVERVIEW_ELEMENTS = 8
MOST_COLUMNS, FEWEST_COLUMNS = 5, 4
CELL_WIDE, CELL_TALL = 160, 184
SIDE = 62
TOP, LEFT = 38, 0
OPEN = "open"


def overview(scenes: Sequence[Scene], ink: Ink) -> Filled:
    """Small multiples: a column for each recipe, a row for each matmul; `open` holds the cell clicked.

    More than MOST_COLUMNS recipes go on in another band of rows below.
    """
    recipes = list(dict.fromkeys(scene.recipe.name for scene in scenes))
    matmuls = list(dict.fromkeys(scene.matmul.name for scene in scenes))
    bands = -(-len(recipes) // MOST_COLUMNS)
    columns = -(-len(recipes) // bands)
    width, tall = LEFT + CELL_WIDE * max(columns, FEWEST_COLUMNS), TOP + CELL_TALL * len(matmuls)
    cells, lines, words = [], [], []
    for scene in scenes:
        band, column = divmod(recipes.index(scene.recipe.name), columns)
        row = matmuls.index(scene.matmul.name)
        place = _cell(scene, LEFT + CELL_WIDE * column, tall * band + TOP + CELL_TALL * row)
        cells.append(_cell_marks(scene, place))
        lines += _k_edges(place, ink)
        words += _cell_words(scene, place, ink)
        if row == 0:
            words += _column_title(scene, place, tall * band, ink)
        if column == 0:
            words += _row_title(scene, place, ink)
    datasets = {TILES: joined(cells), LINES: by_column(lines), WORDS: by_column(words)}
    return _small_multiples(ink).filled(datasets, width=width, height=tall * bands)


@template
def _small_multiples(ink: Ink) -> alt.LayerChart:
    width, height = number("width", 800.0), number("height", 590.0)
    return picture(width, height, _cells(width, height, ink), line_layer(), word_layer())


def _cell(scene: Scene, left: float, top: float) -> Frame:
    sizes = {"k_wide": SIDE, "n_wide": SIDE, "k_tall": SIDE, "m_tall": SIDE}
    return frame(scene.mnk, left=left + 12, top=top + 30, gap=(8, 8), **sizes)


def _cell_marks(scene: Scene, place: Frame) -> Row:
    """Tiles of A and B by their own scales, and D. Colors run from the lowest to the highest of the cell."""
    seen = {side: scene.seen(side) for side in Side}
    boxes = [tile_boxes(tiles, place, side) for side, tiles in seen.items()]
    whole = place.d.box(range(place.d.rows), range(place.d.columns))
    marks = joined([*boxes, {name: [corner] for name, corner in whole.items()}])
    sides = [name for side, tiles in seen.items() for name in [side.value] * tiles.row.size]
    fields = {
        "recipe": scene.recipe.name,
        "matmul": scene.matmul.name,
        "name": f"{scene.recipe.title}, {scene.matmul.title}",
    }
    return {
        **marks,
        "side": [*sides, "D"],
        "log2": np.append(own_colors(np.concatenate([tiles.scale for tiles in seen.values()])), np.nan),
        **{name: [word] * (len(sides) + 1) for name, word in fields.items()},
    }


def _cells(width: float, height: float, ink: Ink) -> alt.Chart:
    color = alt.Color(
        "log2:Q",
        legend=own_legend(ink),
        scale=alt.Scale(range="ramp", domain=[0, 1], clamp=True),
    )
    return (
        alt.Chart(alt.NamedData(TILES), name=TILES)
        .mark_rect(strokeWidth=0.75, cursor="pointer", invalid=None)
        .encode(
            **position(width, height),
            color=alt.when(NEUTRAL).then(alt.value(ink.panel)).otherwise(color),
            stroke=alt.when(NEUTRAL).then(alt.value(ink.line)).otherwise(alt.value(ink.page)),
            tooltip=[alt.Tooltip("name:N", title="open")],
        )
        .add_params(
            alt.selection_point(
                name=OPEN, on="click", toggle="true", clear=False, empty=False, fields=["recipe", "matmul"]
            )
        )
    )


def _k_edges(place: Frame, ink: Ink) -> list[Row]:
    above, beside = place.a.top - 3.5, place.b.left - 3.5
    return [
        {"x0": place.a.left, "x1": place.a.right, "y0": above, "y1": above, "color": ink.k},
        {"x0": beside, "x1": beside, "y0": place.b.top, "y1": place.b.bottom, "color": ink.k},
    ]


def _column_title(scene: Scene, place: Frame, top: float, ink: Ink) -> list[Row]:
    middle = (place.a.left + place.d.right) / 2
    style = {"fontWeight": "bold", "fontSize": 12, "align": "center"}
    lines = scene.recipe.title.split(", ")
    return [
        word(middle, top + 12 + 15 * number, line, ink.text, **style) for number, line in enumerate(lines)
    ]


def _row_title(scene: Scene, place: Frame, ink: Ink) -> list[Row]:
    a, b, d = scene.matmul.symbol(Side.A), scene.matmul.symbol(Side.B), scene.matmul.d.value
    x, y = place.a.left, place.b.top - 15
    return [
        word(x, y, scene.matmul.title, ink.text, fontWeight="bold", fontSize=12),
        word(x, y, f"{d} = {a} · {b}", ink.soft, dx=44),
    ]


def _cell_words(scene: Scene, place: Frame, ink: Ink) -> list[Row]:
    a, b, d = scene.matmul.symbol(Side.A), scene.matmul.symbol(Side.B), scene.matmul.d.value
    below = place.a.bottom + 9
    bits = {side: _bits(scene, side) for side in Side}
    return [
        word((place.a.left + place.a.right) / 2, below, f"{a} · {bits[Side.A]}", ink.soft, align="center"),
        word((place.d.left + place.d.right) / 2, below, d, ink.soft, align="center"),
        word(place.b.left - 8, place.b.top + 12, b, ink.soft, align="right"),
        word(place.b.left - 8, place.b.top + 26, bits[Side.B], ink.soft, align="right"),
    ]


def _bits(scene: Scene, side: Side) -> str:
    """The bits of an element of an operand, its share of the scales included."""
    operand, shape = scene.recipe.operand(scene.matmul, side), scene.layer.of(scene.matmul.operand(side))
    return "bf16" if operand is None else f"{bits_words(operand, shape)} bits"
