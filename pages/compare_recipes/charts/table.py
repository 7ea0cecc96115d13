"""The three differences of recipes in one table of pictures: tiles, scales, copies."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import prod

import altair as alt
import numpy as np
from numpy.typing import NDArray

from fp8core.costs import copy_cost
from fp8core.inputs import InputKind, draw_operand
from fp8core.linear import FPROP, MATMULS, OPERANDS, Axis, LayerShape, LayerTensor, Side
from fp8core.quantize import scales
from fp8core.recipes import Copy, Operand, OperandSpec, Recipe
from fp8core.recipes.keys import recipe_of_key
from fp8core.scales import ScaleRule
from fp8core.tiles import WHOLE, Extent, TileGrid
from pages.kit.charts import tile_marks as marks
from pages.kit.charts.ink import Ink
from pages.kit.charts.parts import rail, tips
from pages.kit.charts.recipe_marks import mark_of
from pages.kit.charts.template import Filled, by_column, template
from pages.kit.charts.tile_marks import Row, word
from pages.kit.charts.words import bytes_text, count, short, span, stored_tile

BOXES, SHAPES, OPEN = "boxes", "shapes", "open"
OUTLINES, STOPS, GOLD = "outlines", "stops", "gold"
SCALES, COPIES = "scales", "copies"  # the columns that a click opens, beside the tiles
WIDTH, HEIGHT, FLAT = 1056, 580, 450
ON_TELEPHONE = WIDTH / 344
SPAN = (1.0, 4.0)  # the part of the number line that shows the scales
ROOM_FOR_NAMES = 50
MOST_TICKS = 64  # the most values with a tick each; more of them are a bar

LAYER = LayerShape(4096, 4096, 14336)  # the layer of the copies' bytes
CORNER = (32, 256)  # rows and columns of the corner in every picture of tiles: their sizes compare
GOLD_ROW, GOLD_STEP = 13, 4  # the row of the gold number, and the columns from one of its places to the next


@dataclass(frozen=True, kw_only=True)
class Differences:
    """A row of the table: a recipe, a corner of x in Fprop, and the copies of each tensor.

    scale: float64[*grid.scale_shape]. An x in bf16 has no operand, one tile, and a scale of NaN.
    """

    recipe: Recipe
    operand: Operand | None
    grid: TileGrid
    scale: NDArray[np.float64]
    copies: dict[LayerTensor, tuple[Copy, ...]]

    @property
    def first(self) -> OperandSpec | None:
        """The first quantized operand; None where all stay bf16."""
        operands = (self.recipe.operand(matmul, side) for matmul in MATMULS.values() for side in Side)
        return next((operand.spec for operand in operands if operand is not None), None)

    @property
    def rule(self) -> ScaleRule | None:
        return self.first and self.first.scale_rule

    @property
    def others(self) -> int:
        """The numbers of x that share one's scale in Fprop; 0 where x stays bf16."""
        if self.operand is None:
            return 0
        tile = zip(self.operand.tile, LAYER.of(LayerTensor.X), strict=True)
        return prod(size if extent is WHOLE else extent for extent, size in tile) - 1

    @property
    def copy_count(self) -> int:
        """The quantized copies of x, w and dy in a step; layouts do not count."""
        return sum(map(len, self.copies.values()))

    @property
    def transposed_count(self) -> int:
        """The copies that Hopper stores a second time, transposed, with the same codes and scales."""
        return sum(len(copy.k_major) - 1 for copies in self.copies.values() for copy in copies)

    @property
    def bytes(self) -> int:
        costs = [copy_cost(copy, LAYER) for copies in self.copies.values() for copy in copies]
        return sum(cost.code_bytes + cost.scale_bytes for cost in costs)


@lru_cache(maxsize=128)
def differences(key: str, kind: str, seed: int) -> Differences:
    """The differences of a recipe by its key. Raises ValueError for an unreadable line."""
    recipe = recipe_of_key(key)
    operand, copies = recipe.operand(FPROP, Side.A), {t: recipe.quantized_copies(t) for t in OPERANDS}
    if operand is None:
        grid, scale = TileGrid.over(CORNER, CORNER), np.full((1, 1), np.nan)
    else:
        values = scales(numbers(kind, seed), operand).stored
        grid, scale = operand.grid(CORNER), values.astype(np.float64)
    return Differences(recipe=recipe, operand=operand, grid=grid, scale=scale, copies=copies)


@lru_cache(maxsize=128)
def numbers(kind: str, seed: int) -> NDArray[np.float32]:
    """float32[*CORNER]: the corner of x."""
    own_seed = len(OPERANDS) * seed + OPERANDS.index(LayerTensor.X)
    return draw_operand(InputKind(kind), LayerTensor.X, CORNER, own_seed, fan_in=LAYER.in_)


@dataclass(frozen=True, kw_only=True)
class _Layout:
    head: float
    above: float
    below: float
    strip: tuple[float, float]
    ruler: tuple[float, float]
    copies: float
    copy: float
    tensor: float
    unit: float = 1.0

    @property
    def lefts(self) -> tuple[float, float, float]:
        return self.strip[0], self.ruler[0], self.copies

    def row(self, index: int, rows: int, height: float) -> tuple[float, float]:
        """The top and the height of a row's pictures."""
        tall = (height - self.head) / rows
        return self.head + tall * index + self.above, max(tall - self.above - self.below, 6)

    def box(self, left: float, top: float, wide: float, tall: float) -> Row:
        return {"x0": left * self.unit, "x1": (left + wide) * self.unit, "y0": top, "y1": top + tall}


_LAPTOP = _Layout(
    head=44, above=4, below=28, strip=(178, 500), ruler=(720, 140), copies=890, copy=21, tensor=56
)
_TELEPHONE = _Layout(
    head=18,
    above=22,
    below=22,
    strip=(0, 190),
    ruler=(204, 56),
    copies=272,
    copy=10,
    tensor=25,
    unit=ON_TELEPHONE,
)
_LAYOUTS = (_LAPTOP, _TELEPHONE)


def table_chart(recipes: Sequence[Differences], ink: Ink, height: float = HEIGHT) -> Filled:
    is_flat = height < FLAT
    words, tiles, boxes, shapes, outlines = _heads(is_flat, ink), [], [], [], []
    for index, one in enumerate(recipes):
        ends = [layout.row(index, len(recipes), height) for layout in _LAYOUTS]
        tiles.append(_tiles(one, ends))
        boxes += marks.both(
            *(_columns(one, layout, *end, ink) for layout, end in zip(_LAYOUTS, ends, strict=True))
        )
        words += _words(one, ends, is_flat, ink)
        shapes.append(_shape(one, ends))
        outlines.append(_outline(one, ends))
    return _table(height, ink).filled(
        {
            marks.TILES: marks.joined(tiles),
            BOXES: by_column(boxes),
            SHAPES: by_column(shapes),
            OUTLINES: by_column([row for row in outlines if row["has_scale"]]),
            STOPS: by_column(_stops(outlines[0])),
            marks.WORDS: by_column(words) | {"recipe": [row.get("recipe") for row in words]},
        }
    )


@template
def _table(height: float, ink: Ink) -> alt.LayerChart:
    where = marks.position(WIDTH, height)
    tooltip = tips(("what:N", "elements"), ("scale:N", "scale"))
    data = marks.on_telephone(alt.Chart(alt.NamedData(marks.TILES)), *marks.CORNERS)
    click = alt.selection_point(
        name=OPEN, on="click", toggle="true", clear=False, empty=False, fields=["recipe"]
    )
    tiles = marks.heat_map(data, where, ink, strokeWidth=0.5, cursor="pointer").encode(tooltip=tooltip)
    tiles = tiles.add_params(click)
    boxes = (
        marks.on_telephone(alt.Chart(alt.NamedData(BOXES)), *marks.CORNERS)
        .mark_rect(strokeWidth=1, cursor="pointer")
        .encode(
            **where,
            color=alt.Color("fill:N", scale=None, legend=None),
            stroke=alt.Stroke("edge:N", scale=None, legend=None),
            tooltip=[alt.Tooltip("what:N", title="this is")],
        )
    )
    shapes = (
        marks.on_telephone(alt.Chart(alt.NamedData(SHAPES)), "x", "y")
        .mark_point(filled=True, opacity=1, size=150)
        .encode(
            x="x:Q",
            y="y:Q",
            shape=alt.Shape("shape:N", scale=None),
            color=alt.Color("color:N", scale=None, legend=None),
        )
    )
    words = marks.word_layer(cursor=alt.ExprRef("datum.recipe ? 'pointer' : 'auto'"))
    chart = marks.picture(WIDTH, height, tiles, boxes, shapes, *_gold(ink), words)
    slider = alt.binding_range(min=0, max=CORNER[1] - 1, step=1, name="Column of the gold number ")
    return chart.add_params(alt.param(name=GOLD, value=0, bind=slider))


def _gold(ink: Ink) -> tuple[alt.Chart, ...]:
    """The gold number in each recipe, the outline of its tile, the handle's rail."""
    base = marks.on_telephone(alt.Chart(alt.NamedData(OUTLINES)), *marks.CORNERS, "y")
    at = f"datum.x0 + (datum.x1 - datum.x0) / {CORNER[1]}"  # times a column
    first = f"floor({GOLD} / datum.across) * datum.across"
    here = base.transform_calculate(
        start=f"{at} * {first}",
        stop=f"{at} * min({CORNER[1]}, {first} + datum.across)",
        x=f"{at} * ({GOLD} + 0.5)",
        number=f"'x[{GOLD_ROW}, ' + {GOLD} + ']'",
    )
    tile = {"x": "start:Q", "x2": "stop:Q", "y": "y0:Q", "y2": "y1:Q"}
    outlines = (
        here.mark_rect(fill=None, stroke=color, strokeWidth=wide).encode(**tile)
        for color, wide in ((ink.page, 5), (ink.text, 2))
    )
    number = here.properties(name=GOLD).mark_point(
        filled=True, size=70, opacity=1, color=ink.gold, stroke=ink.text, aria=False
    )
    stops = marks.on_telephone(alt.Chart(alt.NamedData(STOPS)), "x", "y")
    places = alt.X("x:Q"), alt.Y("y:Q")
    return *outlines, number.encode(*places, tooltip="number:N"), rail(stops, *places)


def _outline(one: Differences, ends: Sequence[tuple[float, float]]) -> Row:
    """The outline of the gold number's tile in the strip, and a tile's columns."""
    rows, columns = one.grid.extents
    first = GOLD_ROW // rows * rows
    places: Row = {"recipe": one.recipe.name, "across": columns, "has_scale": one.operand is not None}
    for prefix, layout, (top, tall) in zip(("", "n_"), _LAYOUTS, ends, strict=True):
        step = tall / CORNER[0]
        left, wide = layout.strip
        tile = layout.box(left, top + step * first, wide, step * min(rows, CORNER[0] - first))
        places |= {f"{prefix}{name}": place for name, place in tile.items()}
        places[f"{prefix}y"] = top + step * (GOLD_ROW + 0.5)
    return places


def _stops(strip: Row) -> list[Row]:
    stops = []
    for at in range(0, CORNER[1], GOLD_STEP):
        share = (at + 0.5) / CORNER[1]
        x, n_x = (strip[f"{n}x0"] + share * (strip[f"{n}x1"] - strip[f"{n}x0"]) for n in ("", "n_"))
        stop = {"at": at, "words": f"x[{GOLD_ROW}, {at}]", "recipe": strip["recipe"]}
        stops.append({**stop, "x": x, "n_x": n_x, "y": strip["y"], "n_y": strip["n_y"]})
    return stops


def _heads(is_flat: bool, ink: Ink) -> list[Row]:
    words = []
    strip = f"x in Fprop. {marks.shade_words(ink)}. Outlined: the gold number's tile"
    heads = (
        ("Which numbers share a scale?", "Share a scale", strip),
        ("Which scales?" if is_flat else "Which scales exist?", "Scales", "from 1 to 4"),
        ("Which copies?", "Copies", "hollow: transposed"),
    )
    for x, n_x, (title, narrow, remark) in zip(_LAPTOP.lefts, _TELEPHONE.lefts, heads, strict=True):
        there = {"n_x": n_x * ON_TELEPHONE, "n_y": 6}
        words += [
            word(x, 8, title, ink.text, narrow=narrow, fontWeight="bold", fontSize=14, **there),
            word(x, 27, remark, ink.soft, narrow="", fontSize=13),
        ]
    return words


def _tiles(one: Differences, ends: Sequence[tuple[float, float]]) -> Row:
    rows, columns = one.grid.ends()
    places: Row = {}
    for prefix, layout, (top, tall) in zip(("", "n_"), _LAYOUTS, ends, strict=True):
        (left, wide), (down, across) = layout.strip, one.grid.shape
        for end in (0, 1):
            places[f"{prefix}x{end}"] = (left + wide / across * columns[end]) * layout.unit
            places[f"{prefix}y{end}"] = top + tall / down * rows[end]
    return places | {
        "log2": marks.own_colors(one.scale.ravel()),
        "recipe": [one.recipe.name] * one.scale.size,
        "what": [
            f"{one.recipe.title}: x[{span(down)}, {span(across)}]"
            for down, across in zip(marks.ranges(rows), marks.ranges(columns), strict=True)
        ],
        "scale": [short(scale) if scale == scale else "none" for scale in one.scale.ravel().tolist()],
    }


def _shape(one: Differences, ends: Sequence[tuple[float, float]]) -> Row:
    (top, tall), (there, _) = ends
    mark = mark_of(one.recipe.name)
    y = top + min(12, tall / 2)
    at_end = {"x": 8, "y": y, "n_x": 6 * ON_TELEPHONE, "n_y": there - 11}
    return {**at_end, "shape": mark.shape, "color": mark.color}


def _words(one: Differences, ends: Sequence[tuple[float, float]], is_flat: bool, ink: Ink) -> list[Row]:
    (top, tall), (there, n_tall) = ends
    operand, rule = one.operand, one.rule
    first, *rest = one.recipe.title.split(", ")
    y, below, n_below = top + min(12, tall / 2), top + tall + 11, there + n_tall + 9
    style = {"fontWeight": "bold", "fontSize": 14, "n_x": 17 * ON_TELEPHONE, "n_y": there - 11}
    words = [word(22, y, first, ink.text, narrow=one.recipe.title, **style)]
    if rest:
        words.append(word(22, y + 17, rest[0], ink.soft, narrow="", fontSize=13))
    words = [row | {"recipe": one.recipe.name} for row in words]
    left, wide = _LAPTOP.strip
    at = {"n_x": 0, "n_y": n_below, "fontSize": 13}
    if operand is None:
        words.append(word(left, below, "bf16: no scale", ink.soft, **at))
    else:
        others = f"{one.others:,} others"
        tile = stored_tile(LayerTensor.X, *operand.tile)
        name = tile if is_flat else f"{tile}, {granularity(LayerTensor.X, operand.tile)}"
        words += [
            word(left, below, f"shares its scale with {others}", ink.text, narrow=f"with {others}", **at),
            word(left + wide, below, name, ink.soft, narrow="", align="right", fontSize=13),
        ]
    if rule is not None:
        levels = rule.format.name
        if not is_flat:
            levels = f"{scale_name(rule)}, {scale_count(rule):,} values"
        at_end = {"n_x": _TELEPHONE.ruler[0] * ON_TELEPHONE, "n_y": n_below, "fontSize": 13}
        words.append(word(_LAPTOP.ruler[0], below, levels, ink.text, narrow=rule.format.name, **at_end))
    if tall >= ROOM_FOR_NAMES:
        for at, tensor in enumerate(one.copies):
            x, y = _LAPTOP.copies + _LAPTOP.tensor * at, top + _LAPTOP.copy + 11
            words.append(word(x, y, tensor.value, ink.soft, narrow="", fontSize=13))
    copies = count(one.copy_count, "copy", "copies")
    of_each = f"{one.copy_count} + {one.transposed_count} transposed" if one.transposed_count else copies
    at_end = {"n_x": _TELEPHONE.copies * ON_TELEPHONE, "n_y": n_below, "fontSize": 13}
    words.append(
        word(_LAPTOP.copies, below, f"{of_each}, {bytes_text(one.bytes)}", ink.text, narrow=copies, **at_end)
    )
    return words


def _columns(one: Differences, layout: _Layout, top: float, tall: float, ink: Ink) -> list[Row]:
    """The marks of both columns, above a transparent cell, which takes clicks between them.

    The recipe's name has such a cell, too.
    """
    columns = {
        SCALES: (*layout.ruler, _scales(one, layout, top, tall, ink)),
        COPIES: (layout.copies, 2.8 * layout.tensor, _copies(one, layout, top, tall, ink)),
    }
    left, wide = layout.strip
    place = (
        layout.box(0, top, left - 8, tall) if left else layout.box(0, top - layout.above, wide, layout.above)
    )
    return [{"recipe": one.recipe.name, **_mark(place, "transparent", "its name")}] + [
        {"recipe": f"{one.recipe.name} {column}", **box}
        for column, (left, wide, inner) in columns.items()
        for box in (_mark(layout.box(left, top, wide, tall), "transparent", f"a cell of {column}"), *inner)
    ]


def _scales(one: Differences, layout: _Layout, top: float, tall: float, ink: Ink) -> list[Row]:
    left, wide = layout.ruler
    rule, base = one.rule, _mark(layout.box(left, top + tall - 1, wide, 1), ink.line, "from 1 to 4")
    if rule is None:
        return [base]
    what = f"{scale_count(rule):,} values from 1 to 4"
    if scale_count(rule) > MOST_TICKS:
        return [base, _mark(layout.box(left, top, wide, tall - 2), ink.scale, what)]
    at = left + wide * (scale_values(rule) - SPAN[0]) / np.ptp(SPAN)
    return [base, *(_mark(layout.box(x - 0.5, top, 1, tall - 2), ink.scale, what) for x in at.tolist())]


def scale_count(rule: ScaleRule) -> int:
    """The number of a rule's scales from 1 to 4, both included."""
    return _steps(rule) * round(math.log2(SPAN[1] / SPAN[0])) + 1


def scale_values(rule: ScaleRule) -> NDArray[np.float64]:
    """float64[values]: a rule's scales from 1 to 4."""
    steps, at = _steps(rule), np.arange(scale_count(rule))
    return 2.0 ** (at // steps) * (1 + (at % steps) / steps)


def _steps(rule: ScaleRule) -> int:
    """The scales in one octave; of two levels, the inner ones."""
    return 1 if rule.powers_of_two else 1 << rule.format.mantissa_bits


def _copies(one: Differences, layout: _Layout, top: float, tall: float, ink: Ink) -> list[Row]:
    """The copies of x, w and dy, a small square each; hollow where only the layout differs.

    A square shows the tiles of a corner of the stored tensor, or of its transpose where memory has that.
    """
    boxes, size = [], min(layout.copy, tall)
    for column, (tensor, copies) in enumerate(one.copies.items()):
        layouts = [(copy, again) for copy in copies for again in range(len(copy.k_major))]
        for at, (copy, again) in enumerate(layouts):
            left = layout.copies + layout.tensor * column + layout.copy * 1.15 * at
            shape = copy.tile[::-1] if again else copy.tile
            grid = TileGrid.over(tuple(4 if extent in (1, WHOLE) else 2 * extent for extent in shape), shape)
            readers = " and ".join(matmul.title for matmul, _ in copy.readers)
            remark = ", again in the other layout" if again else ""
            matmul, _ = copy.readers[min(again, len(copy.readers) - 1)]
            what = f"{tensor.value} for {readers}, tiles of {stored_tile(tensor, *copy.tile)}{remark}"
            fill, edge = (ink.page, ink.scale) if again else (ink.scale, ink.page)
            down, across = size / grid.shape[0], layout.copy / grid.shape[1]
            for tile in grid.tiles():
                x, y = left + across * tile.columns.start, top + down * tile.rows.start
                box = layout.box(x, y, across * len(tile.columns), down * len(tile.rows))
                boxes.append(_mark(box, fill, what, edge) | {"recipe": f"{one.recipe.name} {matmul.name}"})
    return boxes


def _mark(box: Row, fill: str, what: str, edge: str | None = None) -> Row:
    return {**box, "fill": fill, "edge": edge or fill, "what": what}


_LINES = {Axis.TOKENS: "token-wise", Axis.IN: "channel-wise", Axis.OUT: "channel-wise"}


def granularity(tensor: LayerTensor, tile: tuple[Extent, Extent]) -> str:
    """The usual name of a tile. A row of a matmul's operand is a token or a channel."""
    rows, columns = tile
    if rows is WHOLE and columns is WHOLE:
        return "tensor-wise"
    if WHOLE in tile:
        axis = tensor.axes[1 if rows is WHOLE else 0]
        return f"row-wise, {_LINES[axis]}" if 1 in tile else f"groups, {_LINES[axis]}"
    return "group-wise" if 1 in tile else "block-wise"


def scale_name(rule: ScaleRule) -> str:
    outer = f" under {rule.outer.format.name}" if rule.outer and rule.has_fitted_outer else ""
    return f"{rule.format.name}{outer}"
