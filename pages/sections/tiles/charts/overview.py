"""Every recipe and matmul in small multiples: the parts of the big picture, drawn small and in one frame."""

from collections.abc import Sequence
from functools import lru_cache

import altair as alt

from fp8core.linear import Side
from pages.kit.charts.ink import SCALE_COLORS, Ink
from pages.sections.tiles.charts.frame import Frame, Row, frame
from pages.sections.tiles.charts.marks import (
    LINES,
    TILES,
    WORDS,
    Spec,
    filled,
    line_layer,
    operand_rows,
    own_legend,
    picture,
    position,
    scale_domain,
    word,
    word_layer,
)
from pages.sections.tiles.charts.scene import Scene

OVERVIEW_ELEMENTS = 8
CELL_WIDE, CELL_TALL = 160, 184
SIDE = 62
TOP, LEFT = 38, 0
OPEN = "open"


def overview(scenes: Sequence[Scene], ink: Ink) -> Spec:
    """Small multiples: a column for each recipe, a row for each matmul; `open` holds the cell clicked."""
    recipes = list(dict.fromkeys(scene.recipe.name for scene in scenes))
    matmuls = list(dict.fromkeys(scene.matmul.name for scene in scenes))
    width, height = LEFT + CELL_WIDE * len(recipes), TOP + CELL_TALL * len(matmuls)
    rows, lines, words = [], [], []
    for scene in scenes:
        column, row = recipes.index(scene.recipe.name), matmuls.index(scene.matmul.name)
        place = _cell(scene, LEFT + CELL_WIDE * column, TOP + CELL_TALL * row)
        rows += _cell_rows(scene, place)
        lines += _k_edges(place, ink)
        words += _cell_words(scene, place, ink)
        if row == 0:
            words += _column_title(scene, place, ink)
        if column == 0:
            words += _row_title(scene, place, ink)
    return filled(_small_multiples(width, height, ink), {TILES: rows, LINES: lines, WORDS: words})


@lru_cache
def _small_multiples(width: float, height: float, ink: Ink) -> alt.LayerChart:
    return picture(width, height, _cells(width, height, ink), line_layer(), word_layer())


def _cell(scene: Scene, left: float, top: float) -> Frame:
    sizes = {"k_wide": SIDE, "n_wide": SIDE, "k_tall": SIDE, "m_tall": SIDE}
    return frame(scene.mnk, left=left + 12, top=top + 30, gap=(8, 8), **sizes)


def _cell_rows(scene: Scene, place: Frame) -> list[Row]:
    """Tiles of A and B by their own scales, and D. Colors run from the lowest to the highest of the cell."""
    tiles = [row for side in Side for row in operand_rows(scene, place, side)]
    low, high = scale_domain(tiles)
    whole = {**place.d.box(range(place.d.rows), range(place.d.columns)), "side": "D", "log2": 0}
    name = f"{scene.recipe.title}, {scene.matmul.title}"
    cell = {"recipe": scene.recipe.name, "matmul": scene.matmul.name, "name": name}
    for row in tiles:
        if row["log2"] is not None:
            row["log2"] = round((float(row["log2"]) - low) / (high - low), 3)
    kept = ("x0", "x1", "y0", "y1", "side", "log2")
    return [{**{key: row[key] for key in kept}, **cell} for row in [*tiles, whole]]


def _cells(width: float, height: float, ink: Ink) -> alt.Chart:
    is_d = "datum.side == 'D'"
    color = alt.Color(
        "log2:Q",
        legend=own_legend(ink),
        scale=alt.Scale(scheme=SCALE_COLORS, domain=[0, 1], clamp=True),
    )
    return (
        alt.Chart(alt.NamedData(TILES), name=TILES)
        .mark_rect(strokeWidth=0.75, cursor="pointer", invalid=None)
        .encode(
            **position(width, height),
            color=alt.when(is_d).then(alt.value(ink.panel)).otherwise(color),
            stroke=alt.when(is_d).then(alt.value(ink.line)).otherwise(alt.value(ink.page)),
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


def _column_title(scene: Scene, place: Frame, ink: Ink) -> list[Row]:
    middle = (place.a.left + place.d.right) / 2
    style = {"fontWeight": "bold", "fontSize": 12, "align": "center"}
    lines = scene.recipe.title.split(", ")
    return [word(middle, 12 + 15 * number, line, ink.text, **style) for number, line in enumerate(lines)]


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
    return [
        word((place.a.left + place.a.right) / 2, below, a, ink.soft, align="center"),
        word((place.d.left + place.d.right) / 2, below, d, ink.soft, align="center"),
        word(place.b.left - 8, place.b.top + 12, b, ink.soft, align="right"),
    ]
