"""The three differences of recipes in one table of small pictures: tiles, the scale's bits, the copies."""

import math
from collections.abc import Sequence

import altair as alt
import numpy as np
from numpy.typing import NDArray

from fp8core.formats import FloatFormat
from fp8core.linear import LayerTensor
from fp8core.recipes import Copy
from fp8core.scales import Fit, ScaleRule
from fp8core.tiles import TileGrid
from pages.kit.charts.granularity import operand_name, scale_name
from pages.kit.charts.ink import Ink
from pages.kit.charts.template import Filled, by_column, number, template
from pages.kit.charts.tile_marks import (
    LINES,
    NEUTRAL,
    TILES,
    WORDS,
    Row,
    drawn_extent,
    joined,
    line_layer,
    own_colors,
    own_legend,
    picture,
    position,
    ranges,
    word,
    word_layer,
)
from pages.kit.charts.words import bytes_text, count, short, span, stored_tile
from pages.sections.differences.charts.scene import Differences

BOXES = "boxes"
WIDTH, HEAD, TALL = 800.0, 52, 152
TILE_WIDE, TILE_TALL, TILES_LEFT, NEXT = 150, 72, (4, 168), 30
SCALE_LEFT, SCALE_WIDE, BIT_TALL = 344, 160, 16
COPIES_LEFT, COPY, COPY_GAP, TENSOR_WIDE = 530, 38, 6, 94
SEEN_SCALES = (1.0, 4.0)
"""The stretch of the number line that shows which scales there are."""
MOST_TICKS = 64
"""Values that have a tick each; more of them are a bar."""
_COLUMNS = ("Granularity: what shares a scale", "The scale's own format", "Which copies are kept")


def table_chart(shown: Sequence[Differences], ink: Ink) -> Filled:
    """A row a recipe, a column a difference."""
    tiles: list[Row] = []
    boxes: list[Row] = []
    lines: list[Row] = []
    lefts = (TILES_LEFT[0], SCALE_LEFT, COPIES_LEFT)
    words = [
        label(left, 12, f"{number} · {title}", ink.text, fontWeight="bold", fontSize=13)
        for number, (left, title) in enumerate(zip(lefts, _COLUMNS, strict=True), 1)
    ]
    words += [
        label(TILES_LEFT[0], 30, "one corner of x and of w, in Fprop", ink.soft),
        label(SCALE_LEFT, 30, "its bits; its values from 1 to 4", ink.soft),
        label(COPIES_LEFT, 30, "of x, w and dy; hollow: again, transposed", ink.soft),
    ]
    for place, one in enumerate(shown):
        top = HEAD + TALL * place
        lines.append({"x0": 0, "x1": WIDTH, "y0": top - 6, "y1": top - 6, "color": ink.line})
        title = one.recipe.title
        words.append(label(TILES_LEFT[0], top + 8, title, ink.text, fontWeight="bold", fontSize=13))
        tiles += [_tiles(one, at, top + NEXT) for at in range(len(one.corners))]
        words += _tile_words(one, top + NEXT, ink)
        _draw_scale(one, top + NEXT, ink, boxes, words, lines)
        _draw_copies(one, top + NEXT, ink, boxes, words)
    datasets = {
        TILES: joined(tiles),
        BOXES: by_column(boxes),
        LINES: by_column(lines),
        WORDS: by_column(words),
    }
    return _table(ink).filled(datasets, width=WIDTH, height=HEAD + TALL * len(shown))


@template
def _table(ink: Ink) -> alt.LayerChart:
    width, height = number("width", WIDTH), number("height", 900.0)
    color = alt.Color(
        "log2:Q",
        legend=own_legend(ink),
        scale=alt.Scale(range="ramp", domain=[0, 1], clamp=True),
    )
    tiles = (
        alt.Chart(alt.NamedData(TILES))
        .mark_rect(strokeWidth=0.5, invalid=None)
        .encode(
            **position(width, height),
            color=alt.when(NEUTRAL).then(alt.value(ink.panel)).otherwise(color),
            stroke=alt.when(NEUTRAL).then(alt.value(ink.line)).otherwise(alt.value(ink.page)),
            tooltip=[alt.Tooltip("what:N", title="elements"), alt.Tooltip("scale:N", title="scale")],
        )
    )
    boxes = (
        alt.Chart(alt.NamedData(BOXES))
        .mark_rect(strokeWidth=1)
        .encode(
            **position(width, height),
            color=alt.Color("fill:N", scale=None, legend=None),
            stroke=alt.Stroke("edge:N", scale=None, legend=None),
            tooltip=[alt.Tooltip("what:N", title="this is")],
        )
    )
    return picture(width, height, tiles, boxes, line_layer(), word_layer())


def _tiles(one: Differences, at: int, top: float) -> Row:
    corner, left = one.corners[at], TILES_LEFT[at]
    rows, columns = corner.grid.ends()
    tall, wide = TILE_TALL / corner.grid.shape[0], TILE_WIDE / corner.grid.shape[1]
    name = corner.tensor.value
    return {
        "x0": left + wide * columns[0],
        "x1": left + wide * columns[1],
        "y0": top + tall * rows[0],
        "y1": top + tall * rows[1],
        "log2": own_colors(corner.scale.ravel()),
        "what": [
            f"{one.recipe.title}: {name}[{span(down)}, {span(across)}]"
            for down, across in zip(ranges(rows), ranges(columns), strict=True)
        ],
        "scale": [short(scale) if scale == scale else "none" for scale in corner.scale.ravel().tolist()],
    }


def _tile_words(one: Differences, top: float, ink: Ink) -> list[Row]:
    words = []
    for left, corner in zip(TILES_LEFT, one.corners, strict=True):
        operand = corner.operand
        tile = "bf16" if operand is None else stored_tile(corner.tensor, *operand.tile)
        format_name = "" if operand is None else f" · {operand.spec.format.name}"
        below = top + TILE_TALL + 12
        words += [
            label(left, below, f"{corner.tensor.value}: {tile}{format_name}", ink.text),
            label(left, below + 15, operand_name(corner.tensor, operand), ink.soft),
        ]
    return words


def _draw_scale(
    one: Differences, top: float, ink: Ink, boxes: list[Row], words: list[Row], lines: list[Row]
) -> None:
    """The bits of the scale, of both levels where there are two; then the values that it may have."""
    rule = one.rule
    if rule is None:
        words.append(label(SCALE_LEFT, top + 8, "no scale", ink.soft))
        return
    levels = [rule.format]
    if rule.outer is not None and rule.has_fitted_outer:
        levels.append(rule.outer.format)
    for place, stored in enumerate(levels):
        y = top + (BIT_TALL + 5) * place
        boxes += _bits(stored, y, ink)
    ruler = top + 54
    values = scale_count(rule)
    lines.append(
        {"x0": SCALE_LEFT, "x1": SCALE_LEFT + SCALE_WIDE, "y0": ruler, "y1": ruler, "color": ink.soft}
    )
    if values > MOST_TICKS:
        boxes.append(_box(SCALE_LEFT, ruler - 9, SCALE_WIDE, 9, ink.series[0], ink.series[0], "all of them"))
    else:
        at = SCALE_LEFT + SCALE_WIDE * (scale_values(rule) - SEEN_SCALES[0]) / np.ptp(SEEN_SCALES)
        lines += [
            {"x0": x, "x1": x, "y0": ruler - 9, "y1": ruler, "color": ink.series[0]} for x in at.tolist()
        ]
    for value, align in zip(SEEN_SCALES, ("left", "right"), strict=True):
        x = SCALE_LEFT + (SCALE_WIDE if align == "right" else 0)
        words.append(label(x, ruler + 10, short(value), ink.soft, align=align))
    middle = SCALE_LEFT + SCALE_WIDE / 2
    words.append(label(middle, ruler + 10, f"{values:,} values", ink.soft, align="center"))
    below = top + TILE_TALL + 12
    words.append(label(SCALE_LEFT, below + 2, scale_name(rule), ink.text))
    words.append(label(SCALE_LEFT, below + 17, _fit_words(rule), ink.soft))


def _fit_words(rule: ScaleRule) -> str:
    """The part of a rule that the format does not tell."""
    if rule.history:
        return f"delayed: of {rule.history:,} steps"
    if rule.outer is not None and rule.outer.constant is not None:
        return f"times {rule.outer.constant:.4g}"
    return "amax / Qmax" if rule.fit is Fit.NEAREST else rule.fit.name.lower().replace("_", " ")


def scale_steps(rule: ScaleRule) -> int:
    """The scales that a rule can store in one octave; the inner ones where there are two levels."""
    return 1 if rule.powers_of_two else 1 << rule.format.mantissa_bits


def scale_count(rule: ScaleRule) -> int:
    """The number of scales from 1 to 4 that a rule can store, both ends included."""
    return scale_steps(rule) * round(math.log2(SEEN_SCALES[1] / SEEN_SCALES[0])) + 1


def scale_values(rule: ScaleRule) -> NDArray[np.float64]:
    """float64[values]: the scales from 1 to 4 that a rule can store."""
    steps = scale_steps(rule)
    at = np.arange(scale_count(rule))
    return 2.0 ** (at // steps) * (1 + (at % steps) / steps)


def _bits(stored: FloatFormat, top: float, ink: Ink) -> list[Row]:
    """A box for each bit: sign, exponent, mantissa."""
    wide = SCALE_WIDE / 32
    parts = [
        ("sign", int(stored.signed), ink.soft),
        ("exponent", stored.exponent_bits, ink.series[1]),
        ("mantissa", stored.mantissa_bits, ink.series[0]),
    ]
    found, at = [], 0
    for name, bits, color in parts:
        for _ in range(bits):
            what = f"{stored.name}: {count(bits, 'bit')} of {name}"
            found.append(_box(SCALE_LEFT + wide * at, top, wide, BIT_TALL, color, ink.page, what))
            at += 1
    return found


def _draw_copies(one: Differences, top: float, ink: Ink, boxes: list[Row], words: list[Row]) -> None:
    """The copies of x, w and dy: one color for one set of codes, hollow where only the layout differs."""
    below = top + COPY + 14
    for column, (tensor, copies) in enumerate(one.copies.items()):
        left = COPIES_LEFT + TENSOR_WIDE * column
        places = [(which, again) for which, copy in enumerate(copies) for again in range(len(copy.k_major))]
        for at, (which, again) in enumerate(places):
            x = left + (COPY + COPY_GAP) * at
            boxes += _copy(tensor, copies[which], which, again > 0, (x, top), ink)
        said = count(len(copies), "copy", "copies") if copies else "bf16"
        words.append(label(left, below, f"{tensor.value}: {said}", ink.text))
    layouts = f", {one.layouts} more for layout" if one.layouts else ""
    words.append(
        label(COPIES_LEFT, below + 20, f"{count(one.kept, 'copy', 'copies')} in all{layouts}", ink.soft)
    )
    words.append(label(COPIES_LEFT, below + 35, bytes_text(one.bytes), ink.soft))


def _copy(
    tensor: LayerTensor, copy: Copy, which: int, repeated: bool, at: tuple[float, float], ink: Ink
) -> list[Row]:
    """The tiles of a copy on a small corner of its stored tensor, turned where memory holds the transpose."""
    tile = copy.tile[::-1] if repeated else copy.tile
    grid = TileGrid.over(tuple(drawn_extent(extent, 8) for extent in tile), tile)
    readers = " and ".join(matmul.title for matmul, _ in copy.readers)
    layout = ", again in the other layout" if repeated else ""
    what = f"{tensor.value} for {readers}, tiles of {stored_tile(tensor, *copy.tile)}{layout}"
    color = ink.series[which]
    fill, edge = (ink.page, color) if repeated else (color, ink.page)
    tall, wide = COPY / grid.shape[0], COPY / grid.shape[1]
    return [
        _box(
            at[0] + wide * tile.columns.start,
            at[1] + tall * tile.rows.start,
            wide * len(tile.columns),
            tall * len(tile.rows),
            fill,
            edge,
            what,
        )
        for tile in grid.tiles()
    ]


def label(x: float, y: float, text: str, color: str, **style: object) -> Row:
    """Words of 12 pixels, which a projector shows in 18."""
    return word(x, y, text, color, **{"fontSize": 12, **style})


def _box(x: float, y: float, wide: float, tall: float, fill: str, edge: str, what: str) -> Row:
    return {"x0": x, "x1": x + wide, "y0": y, "y1": y + tall, "fill": fill, "edge": edge, "what": what}
