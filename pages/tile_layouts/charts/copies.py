"""x, w and dy, and the quantized copies that the three matmuls read: tiles, sizes, and the direction of K."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import prod

import altair as alt
import numpy as np

from fp8core.costs import CopyCost, copy_cost
from fp8core.formats import FORMATS
from fp8core.linear import MATMULS, OPERANDS, LayerShape, LayerTensor, Matmul
from fp8core.recipes import Recipe
from pages.kit.charts.ink import Ink
from pages.kit.charts.template import Filled, by_column, template
from pages.kit.charts.tile_marks import (
    CORNERS,
    LINES,
    TILES,
    WORDS,
    Row,
    both,
    joined,
    line_layer,
    on_telephone,
    own_colors,
    picture,
    position,
    ranges,
    shade_words,
    word,
    word_layer,
)
from pages.kit.charts.words import bytes_text, count, percent_text, stored_tile
from pages.tile_layouts.charts.marks import arrow, scale_words, stored_slice
from pages.tile_layouts.charts.readings import Reading, readings
from pages.tile_layouts.charts.scene import CopyScene

WIDTH, HEIGHT, FLAT = 1056, 580, 450
LEFT, COLUMN, WIDE = 120, 226, 150
RESULTS, FIGURES = 800, 868
ON_TELEPHONE = WIDTH / 344
COLUMN_THERE, WIDE_THERE = 112 * ON_TELEPHONE, 92 * ON_TELEPHONE
BOXES, BANDS = "boxes", "bands"


@dataclass(frozen=True, kw_only=True)
class _Place:
    """The place of a cell's box; `n_left` and `n_wide` on a telephone. Both have the same height there."""

    left: float
    n_left: float
    top: float
    tall: float

    def across(self, share: float) -> tuple[float, float]:
        """A point at a share of the width, on a laptop and on a telephone."""
        return self.left + WIDE * share, self.n_left + WIDE_THERE * share


def copies_chart(
    recipe: Recipe,
    layer: LayerShape,
    scenes: Mapping[LayerTensor, Sequence[CopyScene]],
    ink: Ink,
    room: float = HEIGHT,
    *,
    has_figures: bool = True,
) -> Filled:
    """The three tensors, and below them a band a matmul with the copies that it reads."""
    height, is_flat = room, room < FLAT
    cells = readings(scenes)
    costs = {id(one): copy_cost(one.copy, layer) for of in scenes.values() for one in of}
    tiles, lines, words, boxes = [], [], [], []
    for tensor in OPERANDS:
        boxes.append(_stored_box(tensor, is_flat))
        words += _stored_words(tensor, layer, is_flat, ink)
    for cell in cells:
        place = _place(cell.tensor, cell.matmul, height, is_flat)
        if cell.scene is None:
            boxes.append(_box(place, "bf16"))
        else:
            tiles.append(_tiles(cell, place))
        lines += [*_k_arrow(cell, place, ink), *_way(cells, cell, place, height, is_flat, ink)]
        words += _cell_words(cell, place, costs, ink)
    for matmul in MATMULS.values():
        words += _matmul_words(matmul, height, is_flat, ink)
    if has_figures:
        words += _figures(recipe, layer, cells, list(costs.values()), ink)
    return _picture(height, ink).filled(
        {
            TILES: joined(tiles) if tiles else {name: [] for name in _FIELDS},
            BOXES: by_column(boxes),
            BANDS: by_column([_band(matmul, height, is_flat) for matmul in MATMULS.values()]),
            LINES: by_column(lines),
            WORDS: by_column(words),
        }
    )


@template
def _picture(height: float, ink: Ink) -> alt.LayerChart:
    def rects(name: str) -> alt.Chart:
        return on_telephone(alt.Chart(alt.NamedData(name), name=name), *CORNERS)

    where = position(WIDTH, height)
    bands = rects(BANDS).mark_rect(fill=ink.panel, fillOpacity=0.6, cornerRadius=6).encode(**where)
    boxes = rects(BOXES).mark_rect(fill=ink.panel, stroke=ink.line, cornerRadius=2).encode(**where)
    color = alt.Color("log2:Q", legend=None, scale=alt.Scale(range="ramp", domain=[0, 1], clamp=True))
    hollow = alt.datum.kind == "repeated"
    tiles = (
        rects(TILES)
        .mark_rect(strokeWidth=1.25, invalid=None)
        .encode(
            **where,
            color=alt.when(hollow).then(alt.value(ink.page)).otherwise(color),
            stroke=alt.when(hollow).then(alt.value(ink.mid)).otherwise(alt.value(ink.page)),
            tooltip=[alt.Tooltip("what:N", title="elements"), alt.Tooltip("detail:N", title="scale")],
        )
    )
    lines = on_telephone(line_layer(), *CORNERS)
    return picture(WIDTH, height, bands, boxes, tiles, lines, word_layer())


def _top(is_flat: bool) -> float:
    """The height above the bands: the tensors as stored."""
    return 50 if is_flat else 74


def _place(tensor: LayerTensor, matmul: Matmul, height: float, is_flat: bool) -> _Place:
    column, row = OPERANDS.index(tensor), list(MATMULS.values()).index(matmul)
    top = _top(is_flat)
    tall = (height - top) / 3
    return _Place(
        left=LEFT + COLUMN * column,
        n_left=10 * ON_TELEPHONE + COLUMN_THERE * column,
        top=top + tall * row + (20 if is_flat else 30),
        tall=tall - (60 if is_flat else 76),
    )


def _corners(left: float, wide: float, n_left: float, n_wide: float, top: float, bottom: float) -> Row:
    here = {"x0": left, "x1": left + wide, "y0": top, "y1": bottom}
    return here | {"n_x0": n_left, "n_x1": n_left + n_wide, "n_y0": top, "n_y1": bottom}


def _box(place: _Place, what: str) -> Row:
    corners = _corners(place.left, WIDE, place.n_left, WIDE_THERE, place.top, place.top + place.tall)
    return corners | {"what": what}


def _stored_box(tensor: LayerTensor, is_flat: bool) -> Row:
    column = OPERANDS.index(tensor)
    left, n_left = LEFT + COLUMN * column, 10 * ON_TELEPHONE + COLUMN_THERE * column
    return _corners(left, WIDE, n_left, WIDE_THERE, 0, 36 if is_flat else 48) | {"what": tensor.value}


def _stored_words(tensor: LayerTensor, layer: LayerShape, is_flat: bool, ink: Ink) -> list[Row]:
    place = _place(tensor, MATMULS["fprop"], HEIGHT, is_flat)
    middle, n_middle = place.across(0.5)
    size = bytes_text(prod(layer.of(tensor)) * FORMATS["bf16"].bits // 8)
    at = {"n_x": n_middle, "align": "center"}
    first, second = (11, 26) if is_flat else (16, 34)
    return [
        word(middle, first, tensor.value, ink.text, fontWeight="bold", fontSize=16, **at),
        word(middle, second, f"bf16, {size}", ink.soft, fontSize=12, **at),
    ]


def _band(matmul: Matmul, height: float, is_flat: bool) -> Row:
    top, row = _top(is_flat), list(MATMULS.values()).index(matmul)
    tall = (height - top) / 3
    return _corners(0, RESULTS + 36, 0, WIDTH, top + tall * row, top + tall * (row + 1) - 8)


_FIELDS = (*CORNERS, *(f"n_{name}" for name in CORNERS), "kind", "log2", "what", "detail")


def _tiles(cell: Reading, place: _Place) -> Row:
    scene, grid = cell.scene, cell.scene.grid
    rows, columns = grid.ends()
    scale = scene.scales.stored.astype(np.float64)
    down = place.tall / grid.shape[0]
    across = [(prefix, left, wide / grid.shape[1]) for prefix, left, wide in (
        ("", place.left, WIDE), ("n_", place.n_left, WIDE_THERE),
    )]  # fmt: skip
    corners = {
        f"{prefix}{name}": at
        for prefix, left, unit in across
        for name, at in (
            ("x0", left + unit * columns[0]),
            ("x1", left + unit * columns[1]),
            ("y0", place.top + down * rows[0]),
            ("y1", place.top + down * rows[1]),
        )
    }
    return corners | {
        "kind": ["repeated" if cell.repeated else "copy"] * scale.size,
        "log2": own_colors(scale.ravel()),
        "what": [
            stored_slice(cell.tensor, *part) for part in zip(ranges(rows), ranges(columns), strict=True)
        ],
        "detail": scale_words(scene.scales),
    }


_Point = tuple[tuple[float, float], float]
"""(x, x on a telephone), y."""


def _lines(points: Sequence[_Point], color: str, *, tip: bool = False) -> list[Row]:
    """Straight lines through points; with `tip`, a point at the end, from above."""
    rows = []
    for ((x0, n0), y0), ((x1, n1), y1) in pairwise(points):
        ends = {"x0": x0, "x1": x1, "y0": y0, "y1": y1, "n_x0": n0, "n_x1": n1, "n_y0": y0, "n_y1": y1}
        rows.append({**ends, "color": color})
    if tip:
        (x, n), y = points[-1]
        for side in (-4, 4):
            rows += _lines([((x + side, n + side * ON_TELEPHONE), y - 6), ((x, n), y)], color)
    return rows


def _k_arrow(cell: Reading, place: _Place, ink: Ink) -> list[Row]:
    """The direction of K in the stored tensor."""
    if cell.k_is_rows:
        ends = [
            (left - 7 * unit, place.top, left - 7 * unit, place.top + place.tall)
            for left, unit in ((place.left, 1), (place.n_left, ON_TELEPHONE))
        ]
    else:
        ends = [
            (left, place.top - 7, left + wide, place.top - 7)
            for left, wide in ((place.left, WIDE), (place.n_left, WIDE_THERE))
        ]
    return both(*(arrow(*end, ink.k) for end in ends))


def _way(
    cells: Sequence[Reading], cell: Reading, place: _Place, height: float, is_flat: bool, ink: Ink
) -> list[Row]:
    """From the tensor to its first copy; to the second from the tensor, or from the codes it repeats."""
    first = next(one for one in cells if one.tensor is cell.tensor)
    stored, end = (36, 48)[not is_flat], place.top - (3 if cell.k_is_rows else 12)
    if cell is first:
        at = place.across(0.5)
        return _lines([(at, stored), (at, end)], ink.mid, tip=True)
    origin = _place(cell.tensor, first.matmul, height, is_flat)
    saved = cell.scene is not None and cell.scene.copy.operand.saved is not None
    y = origin.top + origin.tall / 2 if cell.repeated or saved else stored / 2
    edge, into = place.across(1), place.across(0.5)
    # On a telephone, the arrow of the next column's K is 7 pixels farther.
    turn = place.left + 1.14 * WIDE, place.n_left + WIDE_THERE + 6 * ON_TELEPHONE
    above = end - 10
    return _lines([(edge, y), (turn, y), (turn, above), (into, above), (into, end)], ink.mid, tip=True)


def _cell_words(cell: Reading, place: _Place, costs: Mapping[int, CopyCost], ink: Ink) -> list[Row]:
    y = place.top + place.tall + 14
    at = {"n_x": place.n_left}
    if cell.scene is None:
        return [word(place.left, y, "bf16 itself", ink.text, fontSize=13, **at)]
    copy, cost = cell.scene.copy, costs[id(cell.scene)]
    codes = cost.code_bytes // len(copy.k_major)
    if cell.repeated:
        first, second = "same codes,", f"transposed: {bytes_text(codes)}"
    else:
        first, second = stored_tile(cell.tensor, *copy.tile), bytes_text(codes + cost.scale_bytes)
        second = f"{copy.spec.format.name}, {second}"
    return [
        word(place.left, y, first, ink.text, fontWeight="bold", fontSize=13, **at),
        word(place.left, y + 15, second, ink.soft, fontSize=12, **at),
    ]


def _matmul_words(matmul: Matmul, height: float, is_flat: bool, ink: Ink) -> list[Row]:
    """The name of a matmul; on a telephone it stands where a tensor is that the matmul does not read."""
    free = next(tensor for tensor in OPERANDS if matmul.side_of(tensor) is None)
    place = _place(free, matmul, height, is_flat)
    middle, n_x = place.top + place.tall / 2, place.n_left
    k, bold = f"K = {matmul.k.value}", {"fontWeight": "bold"}
    return [
        word(14, middle - 10, matmul.title, ink.text, n_x=n_x, fontSize=15, **bold),
        word(14, middle + 10, k, ink.k, n_x=n_x, fontSize=13, **bold),
        word(RESULTS, middle, f"→ {matmul.d.value}", ink.text, narrow="", fontSize=15, **bold),
    ]


def _figures(
    recipe: Recipe, layer: LayerShape, cells: Sequence[Reading], costs: Sequence[CopyCost], ink: Ink
) -> list[Row]:
    """What all copies take together; a telephone has that in the table below."""
    codes, scales = (sum(getattr(cost, name) for cost in costs) for name in ("code_bytes", "scale_bytes"))
    bf16 = sum(prod(layer.of(tensor)) for tensor in OPERANDS) * FORMATS["bf16"].bits // 8
    again = {id(cell.scene): cell.scene for cell in cells if cell.repeated}
    twice = sum(copy_cost(one.copy, layer).code_bytes // 2 for one in again.values())
    lines = [(26, "bold", ink.text, count(sum(map(recipe.copies, OPERANDS)), "copy", "copies"))]
    lines.append((14, "normal", ink.text, f"{bytes_text(codes + scales)} in all"))
    lines.append((13, "normal", ink.soft, f"{bytes_text(bf16)} in bf16"))
    if codes:
        lines.append((13, "normal", ink.soft, f"scales: {percent_text(scales / codes, 2)} of the codes"))
    if twice:
        lines.append((13, "normal", ink.soft, f"transposed: {bytes_text(twice)},"))
        lines.append((13, "normal", ink.soft, "which only Hopper needs"))
    lines.append((13, "normal", ink.soft, shade_words(ink)))
    y, words = 20, []
    for size, weight, color, line in lines:
        words.append(word(FIGURES, y, line, color, narrow="", fontSize=size, fontWeight=weight))
        y += size + 12
    return words
