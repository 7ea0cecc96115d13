"""A sketch of a recipe's six operands: their tiles, not to scale, and the rule's verdicts."""

from collections.abc import Sequence
from dataclasses import dataclass

import altair as alt

from fp8core.linear import MATMULS, Matmul, Side
from fp8core.recipes import RECIPES
from fp8core.recipes.plain import SCALES
from fp8core.tiles import WHOLE, Extent
from pages.kit.charts.ink import Ink
from pages.kit.charts.parts import RAIL, rail
from pages.kit.charts.template import Filled, by_column, template
from pages.kit.charts.tile_marks import (
    LINES,
    TILES,
    WORDS,
    Row,
    line_layer,
    picture,
    position,
    word,
    word_layer,
)
from pages.kit.charts.words import tile as tile_words

# True if a matmul can apply its scales; the way or the reason in a few words, and in fewer.
Verdict = tuple[bool, str, str]
CELLS, CHOOSE, STOPS, STRIP = "cells", "choose", "stops", "strip"
# Tiles, in the matmul's dims, that the handle takes.
SHAPES: tuple[tuple[Extent, Extent], ...] = (
    *((1, k) for k in (16, 32, 64, 128)),
    (1, WHOLE),
    (128, 128),
    (WHOLE, WHOLE),
)
# The scales' formats of published recipes: those that the second handle takes.
SCALE_FORMATS = tuple(
    dict.fromkeys(
        operand.scale_rule.format.name
        for recipe in RECIPES.values()
        for matmul in MATMULS.values()
        for operand in recipe.spec(matmul).quantized
    )
)
_RADIX = 1 << 20
WIDTH, HEIGHT, FLAT = 780, 434, 345
COLUMN, LEFT, WIDE, HEAD = 260, 26, 206, 32
_AROUND = {"stroke": "transparent", "strokeWidth": 16}  # a click a little beside a point counts, too
_BOLD = {"fontWeight": "bold", "fontSize": 13}


@dataclass(frozen=True, kw_only=True)
class Cell:
    """One operand. `tile`, in the matmul's dims, and the format `scale` are None for bf16."""

    key: str
    matmul: Matmul
    side: Side
    words: tuple[str, str, str]
    tile: tuple[Extent, Extent] | None
    scale: str | None
    is_chosen: bool
    has_outer: bool

    @property
    def title(self) -> str:
        return f"{self.matmul.title} {self.matmul.operand(self.side).value}"


def number_of(tile: tuple[Extent, Extent]) -> int:
    """A tile as one number, for the handle: the inverse of `tile_of`."""
    mn, k = (0 if extent is WHOLE else extent for extent in tile)
    return mn * _RADIX + k


def tile_of(number: float) -> tuple[Extent, Extent]:
    mn, k = (extent or WHOLE for extent in divmod(int(number), _RADIX))
    return mn, k


def parts(extent: Extent) -> int:
    """The tiles that a sketch shows along a dim: fewer, the longer they are."""
    return 1 if extent is WHOLE else max(2, 10 - extent.bit_length())


def cells_chart(
    cells: Sequence[Cell], verdicts: Sequence[Verdict], ink: Ink, *, is_flat: bool = False
) -> Filled:
    """Matmuls side by side, A above B, and below them the verdicts."""
    height = FLAT if is_flat else HEIGHT
    row, columns = (height - HEAD - 24) / 2, list(MATMULS.values())
    tall = row - 84  # two lines of words follow the tiles, three where the strip of formats is one
    words = [_verdict(at, verdict, height, ink) for at, verdict in enumerate(verdicts)]
    tiles, boxes, lines, stops, strip = [], [], [], [], []
    for cell in cells:
        left = COLUMN * columns.index(cell.matmul) + LEFT
        top = HEAD + row * (cell.side is Side.B) + 16
        tiles += _tiles(cell, left, top, tall, ink)
        boxes.append(_box(cell, left, top, tall, ink))
        lines += _k_arrow(cell.side, left, top, tall, ink)
        words += _words(cell, left, top, tall, ink)
        if cell.is_chosen and cell.tile:
            stops = _stops(cell, left, top, tall)
            strip = _strip(cell, left, top + tall + 39)
            words += [
                word(
                    stop["x0"] + 16,
                    stop["y0"],
                    stop["cell"],
                    ink.text,
                    narrow=stop["cell"],
                    n_x=stop["x0"] - 22,
                    n_y=stop["y0"] + 21,
                    fontSize=13,
                )
                for stop in strip
            ]
    datasets = {TILES: tiles, CELLS: boxes, LINES: lines, WORDS: words, STOPS: stops, STRIP: strip}
    return _sketch(height, ink).filled({name: by_column(rows) for name, rows in datasets.items()})


@template
def _sketch(height: float, ink: Ink) -> alt.LayerChart:
    where = position(WIDTH, height)
    tiles = (
        alt.Chart(alt.NamedData(TILES), name=TILES)
        .mark_rect(stroke=ink.page, strokeWidth=1)
        .encode(**where, color=alt.Color("fill:N", scale=None, legend=None))
    )
    boxes = (
        alt.Chart(alt.NamedData(CELLS), name=CELLS)
        .mark_rect(fill=None, cornerRadius=3)
        .encode(
            **where,
            stroke=alt.Stroke("fill:N", scale=None, legend=None),
            strokeWidth=alt.StrokeWidth("edge:Q", scale=None, legend=None),
        )
    )
    choose = alt.selection_point(
        name=CHOOSE, on="click", toggle="true", clear=False, empty=False, fields=["cell"]
    )
    clicks = (
        alt.Chart(alt.NamedData(CELLS))
        .mark_rect(opacity=0, cursor="pointer")
        .encode(x="x0:Q", x2="x1:Q", y="y0:Q", y2="y1:Q", tooltip=alt.Tooltip("title:N", title="change"))
        .add_params(choose)
    )
    strip = (
        alt.Chart(alt.NamedData(STRIP))
        .mark_point(filled=True, size=60, opacity=1, color=ink.mid, cursor="pointer", **_AROUND)
        .encode(x="x0:Q", y="y0:Q", tooltip=alt.Tooltip("words:N", title="change"))
    )
    hands = (
        rail(alt.Chart(alt.NamedData(data)), alt.X("x0:Q"), alt.Y("y0:Q"), name)
        for data, name in ((STOPS, RAIL), (STRIP, STRIP))
    )
    return picture(WIDTH, height, tiles, boxes, line_layer(), word_layer(), clicks, strip, *hands)


def _cut(cell: Cell, tile: tuple[Extent, Extent] | None) -> tuple[int, int]:
    """The tiles down and across. B is written [K, N]: its K runs down."""
    down, across = (parts(extent) for extent in tile or (WHOLE, WHOLE))
    return (across, down) if cell.side is Side.B else (down, across)


def _stops(cell: Cell, left: float, top: float, tall: float) -> list[Row]:
    """The handle's place for each tile: the corner of the first one."""
    return [
        {
            "x0": left + WIDE / across,
            "y0": top + tall / down,
            "at": number_of(tile),
            "words": f"{cell.title}: {words}",
        }
        for tile in dict.fromkeys((*SHAPES, cell.tile))
        for down, across in [_cut(cell, tile)]
        for words in [tile_words(*tile, ("all", "K"))]
    ]


def _strip(cell: Cell, left: float, y: float) -> list[Row]:
    formats = dict.fromkeys((*SCALE_FORMATS, cell.scale))
    return [
        {
            "x0": left + 11 + (WIDE - 22) / (len(formats) - 1) * number,
            "y0": y,
            "at": [*SCALES].index(name),
            "cell": name,
            "words": f"{cell.title}: scales in {name}",
        }
        for number, name in enumerate(formats)
    ]


def _tiles(cell: Cell, left: float, top: float, tall: float, ink: Ink) -> list[Row]:
    down, across = _cut(cell, cell.tile)
    step_x, step_y = WIDE / across, tall / down
    return [
        {
            "x0": left + j * step_x,
            "x1": left + (j + 1) * step_x,
            "y0": top + i * step_y,
            "y1": top + (i + 1) * step_y,
            "fill": ink.ramp[1 + (i + j) % 2] if cell.tile else ink.panel,
            "title": cell.title,
        }
        for i in range(down)
        for j in range(across)
    ]


def _box(cell: Cell, left: float, top: float, tall: float, ink: Ink) -> Row:
    """A frame: around the operand in the editor, or of an outer scale."""
    room = 4 if cell.is_chosen else 2
    return {
        "x0": left - room,
        "x1": left + WIDE + room,
        "y0": top - room,
        "y1": top + tall + room,
        "fill": ink.text if cell.is_chosen else ink.mid,
        "edge": 3 if cell.is_chosen else 1.5 if cell.has_outer else 0,
        "chosen": cell.is_chosen,
        "title": cell.title,
        "cell": cell.key,
    }


def _k_arrow(side: Side, left: float, top: float, tall: float, ink: Ink) -> list[Row]:
    if side is Side.A:
        y, x = top - 11, left + WIDE
        ends = [(left, y, x, y), (x - 6, y - 4, x, y), (x - 6, y + 4, x, y)]
    else:
        x, y = left - 12, top + tall
        ends = [(x, top, x, y), (x - 4, y - 6, x, y), (x + 4, y - 6, x, y)]
    return [dict(zip(("x0", "y0", "x1", "y1"), end, strict=True)) | {"color": ink.k} for end in ends]


def _words(cell: Cell, left: float, top: float, tall: float, ink: Ink) -> list[Row]:
    first, scale, unusual = cell.words
    y, symbol = top + tall + 17, cell.matmul.symbol(cell.side)
    form, _, tile = first.partition(" ")
    narrow, narrow_more = f"{symbol}, {form}", f"{tile}, {cell.scale}" if tile else scale
    more, below = ", ".join(filter(None, (scale, unusual))), 16
    if cell.is_chosen and cell.tile:  # on a telephone the names of the strip stand in this line's place
        more, below = more.removeprefix(f"{cell.scale} "), 44
        narrow, narrow_more = f"{symbol}, {tile}", ""
    words = [
        word(left, y, f"{cell.side.value} = {symbol}, {first}", ink.text, narrow=narrow, **_BOLD),
        word(left, y + below, more, ink.soft, narrow=narrow_more, fontSize=13),
    ]
    if cell.side is Side.A:
        words += [
            word(left, 7, cell.matmul.title, ink.text, fontSize=15, fontWeight="bold"),
            word(left + WIDE, 7, f"K = {cell.matmul.k.value}", ink.k, n_y=24, align="right", **_BOLD),
        ]
    return words


def _verdict(at: int, verdict: Verdict, height: float, ink: Ink) -> Row:
    holds, words, short = verdict
    mark, color = ("✓", ink.text) if holds else ("✗", ink.lost)
    narrow = f"{mark} {'scales fit' if holds else short}"
    return word(COLUMN * at + LEFT, height - 10, f"{mark} {words}", color, narrow=narrow, **_BOLD)
