"""x, w and dy, and the quantized copies that the matmuls read."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import prod

import altair as alt

from fp8core.costs import CopyCost, copy_cost
from fp8core.linear import MATMULS, OPERANDS, LayerShape, LayerTensor, Matmul, Side
from fp8core.recipes import Recipe
from pages.kit.charts import tile_marks as marks
from pages.kit.charts.ink import Ink
from pages.kit.charts.parts import tips
from pages.kit.charts.template import Filled, by_column, template
from pages.kit.charts.tile_marks import Row, word
from pages.kit.charts.words import bytes_text, count, percent_text, stored_tile
from pages.tile_layouts.charts.scene import BF16, CopyScene, arrow, scale_words, stored_slice

WIDTH, HEIGHT, FLAT = 1056, 580, 450
LEFT, COLUMN, WIDE = 120, 226, 150
RESULTS, FIGURES = 800, 868
ON_TELEPHONE = WIDTH / 344
LEFT_THERE, COLUMN_THERE, WIDE_THERE = 10 * ON_TELEPHONE, 112 * ON_TELEPHONE, 92 * ON_TELEPHONE
BOXES, BANDS = "boxes", "bands"


@dataclass(frozen=True, kw_only=True)
class Reading:
    """One matmul's reading of a tensor: its copy, or None for bf16.

    A repeated one has the codes of another reading once more, in the other layout.
    """

    tensor: LayerTensor
    matmul: Matmul
    side: Side
    scene: CopyScene | None
    is_repeated: bool


def readings(scenes: Mapping[LayerTensor, Sequence[CopyScene]]) -> list[Reading]:
    """The six readings of x, w and dy, in the matmuls' order."""
    cells, before = [], set()
    for matmul in MATMULS.values():
        for side in Side:
            tensor = matmul.operand(side)
            scene = next((one for one in scenes[tensor] if (matmul, side) in one.copy.readers), None)
            again = scene is not None and id(scene) in before
            cells.append(Reading(tensor=tensor, matmul=matmul, side=side, scene=scene, is_repeated=again))
            before.add(id(scene))
    return cells


class _Sizes:
    def __init__(self, height: float) -> None:
        self.is_flat = height < FLAT
        self.stored, self.top = (36.0, 50.0) if self.is_flat else (48.0, 74.0)
        self.band = (height - self.top) / 3

    def cell(self, tensor: LayerTensor, matmul: Matmul) -> "_Cell":
        column = OPERANDS.index(tensor)
        return _Cell(
            left=LEFT + COLUMN * column,
            n_left=LEFT_THERE + COLUMN_THERE * column,
            top=self.top + self.band * [*MATMULS].index(matmul.name) + (20 if self.is_flat else 30),
            tall=self.band - (60 if self.is_flat else 76),
        )


@dataclass(frozen=True, kw_only=True)
class _Cell:
    left: float
    n_left: float
    top: float
    tall: float

    def across(self, share: float) -> tuple[float, float]:
        """The x of a share of the width, on a laptop and on a telephone."""
        return self.left + WIDE * share, self.n_left + WIDE_THERE * share

    def corners(self, top: float, bottom: float) -> Row:
        return _corners(self.across(0), self.across(1), top, bottom)


def _corners(left: tuple[float, float], right: tuple[float, float], top: float, bottom: float) -> Row:
    (x0, n_x0), (x1, n_x1), y = left, right, {"y0": top, "y1": bottom, "n_y0": top, "n_y1": bottom}
    return {"x0": x0, "x1": x1, "n_x0": n_x0, "n_x1": n_x1, **y}


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
    sizes, cells = _Sizes(room), readings(scenes)
    costs = {id(one): copy_cost(one.copy, layer) for of in scenes.values() for one in of}
    tiles, ways, words, boxes = [], [], [], []
    for tensor in OPERANDS:
        box = sizes.cell(tensor, MATMULS["fprop"])
        boxes.append(box.corners(0, sizes.stored) | {"what": tensor.value})
        words += _stored_words(tensor, box, layer, sizes, ink)
    for cell in cells:
        box = sizes.cell(cell.tensor, cell.matmul)
        if cell.scene is None:
            boxes.append(box.corners(box.top, box.top + box.tall) | {"what": "bf16"})
        else:
            tiles.append(_tiles(cell, cell.scene, box))
        ways += [*_k_arrow(cell, box, ink), *_way(cells, cell, box, sizes, ink)]
        words += _cell_words(cell, box, costs, ink)
    for matmul in MATMULS.values():
        words += _matmul_words(matmul, sizes, ink)
    if has_figures:
        words += _figures(recipe, layer, cells, list(costs.values()), ink)
    tops = [sizes.top + sizes.band * row for row in range(3)]
    bands = [_corners((0, 0), (RESULTS + 36, WIDTH), top, top + sizes.band - 8) for top in tops]
    return _picture(room, ink).filled(
        {
            marks.TILES: marks.joined(tiles) if tiles else {name: [] for name in _FIELDS},
            BOXES: by_column(boxes),
            BANDS: by_column(bands),
            marks.LINES: by_column(ways),
            marks.WORDS: by_column(words),
        }
    )


@template
def _picture(height: float, ink: Ink) -> alt.LayerChart:
    def rects(name: str) -> alt.Chart:
        return marks.on_telephone(alt.Chart(alt.NamedData(name), name=name), *marks.CORNERS)

    where = marks.position(WIDTH, height)
    bands = rects(BANDS).mark_rect(fill=ink.panel, fillOpacity=0.6, cornerRadius=6).encode(**where)
    boxes = rects(BOXES).mark_rect(fill=ink.panel, stroke=ink.line, cornerRadius=2).encode(**where)
    hollow = alt.when(alt.datum.kind == "repeated")
    ramp = alt.Scale(range="ramp", domain=[0, 1], clamp=True)
    tiles = (
        rects(marks.TILES)
        .mark_rect(strokeWidth=1.25, invalid=None)
        .encode(
            **where,
            color=hollow.then(alt.value(ink.page)).otherwise(alt.Color("log2:Q", legend=None, scale=ramp)),
            stroke=hollow.then(alt.value(ink.mid)).otherwise(alt.value(ink.page)),
            tooltip=tips(("what:N", "elements"), ("detail:N", "scale")),
        )
    )
    lines = marks.on_telephone(marks.line_layer(), *marks.CORNERS)
    return marks.picture(WIDTH, height, bands, boxes, tiles, lines, marks.word_layer())


_FIELDS = (*marks.CORNERS, *(f"n_{name}" for name in marks.CORNERS), "kind", "log2", "what", "detail")


def _tiles(cell: Reading, scene: CopyScene, box: _Cell) -> Row:
    rows, columns = scene.grid.ends()
    down, across = scene.grid.shape
    ends = {f"y{end}": box.top + box.tall / down * rows[end] for end in (0, 1)}
    for end in (0, 1):
        ends[f"x{end}"], ends[f"n_x{end}"] = box.across(columns[end] / across)
    ends |= {f"n_y{end}": ends[f"y{end}"] for end in (0, 1)}
    slices = [
        stored_slice(cell.tensor, *part)
        for part in zip(marks.ranges(rows), marks.ranges(columns), strict=True)
    ]
    return ends | {
        "kind": ["repeated" if cell.is_repeated else "copy"] * len(slices),
        "log2": marks.own_colors(scene.scales.stored.astype(float).ravel()),
        "what": slices,
        "detail": scale_words(scene.scales),
    }


def _path(*points: tuple[tuple[float, float], float], color: str) -> list[Row]:
    """Lines through points, ((x, x on a telephone), y), with a tip at the end."""
    (x, narrow_x), y = points[-1]
    tips = [((x + side, narrow_x + side * ON_TELEPHONE), y - 6) for side in (-4, 4)]
    pairs = [*pairwise(points), *((tip, points[-1]) for tip in tips)]
    return [{**_corners(left, right, y0, y1), "color": color} for (left, y0), (right, y1) in pairs]


def _k_arrow(cell: Reading, box: _Cell, ink: Ink) -> list[Row]:
    if cell.matmul.k_is_rows(cell.side):
        beside, bottom = (box.left - 7, box.n_left - 7 * ON_TELEPHONE), box.top + box.tall
        return marks.both(*(arrow(x, box.top, x, bottom, ink.k) for x in beside))
    above, ends = box.top - 7, zip(box.across(0), box.across(1), strict=True)
    return marks.both(*(arrow(x0, above, x1, above, ink.k) for x0, x1 in ends))


def _way(cells: Sequence[Reading], cell: Reading, box: _Cell, sizes: _Sizes, ink: Ink) -> list[Row]:
    first = next(one for one in cells if one.tensor is cell.tensor)
    into, end = box.across(0.5), box.top - (3 if cell.matmul.k_is_rows(cell.side) else 12)
    if cell is first:
        return _path((into, sizes.stored), (into, end), color=ink.mid)
    origin = sizes.cell(cell.tensor, first.matmul)
    is_saved = cell.scene is not None and cell.scene.copy.operand.saved is not None
    y = origin.top + origin.tall / 2 if cell.is_repeated or is_saved else sizes.stored / 2
    # On a telephone, the arrow of the next column's K follows 7 pixels farther.
    turn = box.left + 1.14 * WIDE, box.n_left + WIDE_THERE + 6 * ON_TELEPHONE
    corners = (box.across(1), y), (turn, y), (turn, end - 10), (into, end - 10)
    return _path(*corners, (into, end), color=ink.mid)


def _stored_words(tensor: LayerTensor, box: _Cell, layer: LayerShape, sizes: _Sizes, ink: Ink) -> list[Row]:
    middle, n_middle = box.across(0.5)
    size = bytes_text(prod(layer.of(tensor)) * BF16.bits // 8)
    at = {"n_x": n_middle, "align": "center"}
    first, second = (11, 26) if sizes.is_flat else (16, 34)
    return [
        word(middle, first, tensor.value, ink.text, fontWeight="bold", fontSize=16, **at),
        word(middle, second, f"bf16, {size}", ink.soft, fontSize=12, **at),
    ]


def _cell_words(cell: Reading, box: _Cell, costs: Mapping[int, CopyCost], ink: Ink) -> list[Row]:
    y, at = box.top + box.tall + 14, {"n_x": box.n_left}
    if cell.scene is None:
        return [word(box.left, y, "bf16 itself", ink.text, fontSize=13, **at)]
    copy, cost = cell.scene.copy, costs[id(cell.scene)]
    codes = cost.code_bytes // len(copy.k_major)
    if cell.is_repeated:
        first, second = "same codes,", f"transposed: {bytes_text(codes)}"
    else:
        first = stored_tile(cell.tensor, *copy.tile)
        second = f"{copy.spec.format.name}, {bytes_text(codes + cost.scale_bytes)}"
    return [
        word(box.left, y, first, ink.text, fontWeight="bold", fontSize=13, **at),
        word(box.left, y + 15, second, ink.soft, fontSize=12, **at),
    ]


def _matmul_words(matmul: Matmul, sizes: _Sizes, ink: Ink) -> list[Row]:
    """The matmul's name; on a telephone, in the column of the tensor that it does not read."""
    free = next(tensor for tensor in OPERANDS if matmul.side_of(tensor) is None)
    box = sizes.cell(free, matmul)
    middle, n_x, bold = box.top + box.tall / 2, box.n_left, {"fontWeight": "bold"}
    return [
        word(14, middle - 10, matmul.title, ink.text, n_x=n_x, fontSize=15, **bold),
        word(14, middle + 10, f"K = {matmul.k.value}", ink.k, n_x=n_x, fontSize=13, **bold),
        word(RESULTS, middle, f"→ {matmul.d.value}", ink.text, narrow="", fontSize=15, **bold),
    ]


def _figures(
    recipe: Recipe, layer: LayerShape, cells: Sequence[Reading], costs: Sequence[CopyCost], ink: Ink
) -> list[Row]:
    codes, scales = (sum(getattr(cost, name) for cost in costs) for name in ("code_bytes", "scale_bytes"))
    bf16 = sum(prod(layer.of(tensor)) for tensor in OPERANDS) * BF16.bits // 8
    twice = sum(copy_cost(cell.scene.copy, layer).code_bytes // 2 for cell in cells if cell.is_repeated)
    small = [f"{bytes_text(bf16)} in bf16"]
    small += [f"scales: {percent_text(scales / codes, 2)} of the codes"] * bool(codes)
    small += [f"transposed: {bytes_text(twice)},", "which only Hopper needs"] * bool(twice)
    texts = [
        (26, "bold", ink.text, count(sum(map(recipe.copies, OPERANDS)), "copy", "copies")),
        (14, "normal", ink.text, f"{bytes_text(codes + scales)} in all"),
        *((13, "normal", ink.soft, line) for line in (*small, marks.shade_words(ink))),
    ]
    y, words = 20, []
    for size, weight, color, line in texts:
        words.append(word(FIGURES, y, line, color, narrow="", fontSize=size, fontWeight=weight))
        y += size + 12
    return words
