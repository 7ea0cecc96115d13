"""The marks of every picture of tiles: rectangles colored by scale, outlines, words."""

import math
from collections.abc import Sequence
from itertools import chain

import altair as alt
import numpy as np
from numpy.typing import NDArray

from fp8core.linear import LayerTensor, Matmul, Side
from fp8core.operand_scales import Scales
from pages.kit.charts.ink import SCALE_COLORS, Ink
from pages.kit.charts.template import several, text
from pages.kit.charts.words import power_of_two, short, span
from pages.sections.tiles.charts.frame import Ends, Frame, Row
from pages.sections.tiles.charts.scene import Scene, SeenTiles

SANS = "'Source Sans', 'Source Sans Pro', sans-serif"
MONOSPACE = "'Source Code Pro', 'DejaVu Sans Mono', monospace"
NOT_HERE = -1
OUTER_ROOM = 4.0
NO_SCALE = "bf16, no scale"
NEUTRAL = "!isValid(datum.log2)"
"""A mark without a scale that a color could show: a part of D, an operand in bf16, a scale of zero or NaN."""
TILES, WORDS, LINES = "tiles", "words", "lines"
WORD_STYLE: Row = {"dx": 0, "fontSize": 11, "fontWeight": "normal", "align": "left", "angle": 0, "font": SANS}


def operand_marks(scene: Scene, frame: Frame, side: Side) -> Row:
    """A mark for each tile of an operand: its place in the picture, the m, n, k that it covers, its scale."""
    tiles, tensor = scene.seen(side), scene.matmul.operand(side)
    free = "m" if side is Side.A else "n"
    along = {"m": None, "n": None, "k": tiles.k} | {free: tiles.free}
    rows, columns = ranges(tiles.rows), ranges(tiles.columns)
    return {
        **tile_boxes(tiles, frame, side),
        "side": [side.value] * tiles.row.size,
        "row": tiles.row,
        "column": tiles.column,
        **_linked(along, tiles.row.size),
        "log2": np.round(scale_log2(tiles.scale), 3),
        "what": [
            f"{side.value}: {free} = {span(mine)}, k = {span(k)}"
            for mine, k in zip(ranges(tiles.free), ranges(tiles.k), strict=True)
        ],
        "detail": [
            f"{words}, for {stored_slice(tensor, *place)}"
            for words, *place in zip(scale_words(scene.operand(side).scales), rows, columns, strict=True)
        ],
    }


def scale_words(scales: Scales | None) -> list[str]:
    """The scale of each tile in words, with the outer one where there are two levels."""
    if scales is None:
        return [NO_SCALE]
    stored = list(map(short, scales.stored.ravel().tolist()))
    if scales.outer_inside is None:
        return stored
    outer = map(short, scales.outer_inside.ravel().tolist())
    return [f"{inner} · {above}" for inner, above in zip(stored, outer, strict=True)]


def tile_boxes(tiles: SeenTiles, frame: Frame, side: Side) -> Row:
    """The corners of the tiles in their panel."""
    rows, columns = (tiles.free, tiles.k) if side is Side.A else (tiles.k, tiles.free)
    return frame.panel(side.value).boxes(rows, columns)


def outer_marks(scene: Scene, frame: Frame, side: Side) -> Row:
    """The corners of the tiles that share an outer scale; none where there is one level.

    A tile that is the whole panel is drawn a little larger, to be seen beside the tiles inside.
    """
    around = scene.operand(side).outer_grid
    if around is None:
        return {corner: np.zeros(0) for corner in ("x0", "x1", "y0", "y1")}
    rows, columns = around.ends()
    free, k = (columns, rows) if scene.matmul.k_is_rows(side) else (rows, columns)
    boxes = frame.panel(side.value).boxes(*((free, k) if side is Side.A else (k, free)))
    room = OUTER_ROOM if rows.shape[1] == 1 else 0
    return {corner: at + (room if corner.endswith("1") else -room) for corner, at in boxes.items()}


def result_marks(scene: Scene, frame: Frame) -> Row:
    """A mark for each part of D that one row of A's tiles and one column of B's tiles give."""
    m_parts, n_parts = (np.unique(scene.seen(side).free, axis=1) for side in Side)
    row, column = (place.ravel() for place in np.indices((m_parts.shape[1], n_parts.shape[1])))
    m, n = m_parts[:, row], n_parts[:, column]
    return {
        **frame.d.boxes(m, n),
        "side": ["D"] * row.size,
        "row": row,
        "column": column,
        **_linked({"m": m, "n": n, "k": None}, row.size),
        "log2": np.full(row.size, np.nan),
        "what": [
            f"D: m = {span(down)}, n = {span(across)}"
            for down, across in zip(ranges(m), ranges(n), strict=True)
        ],
        "detail": ["D has no scale of its own: it takes those of its row of A and its column of B"]
        * row.size,
    }


def joined(parts: Sequence[Row]) -> Row:
    """The marks of all parts, which have equal fields: arrays, or lists of words."""
    fields = {name: [part[name] for part in parts] for name in parts[0]}
    return {
        name: np.concatenate(columns) if isinstance(columns[0], np.ndarray) else [*chain(*columns)]
        for name, columns in fields.items()
    }


def stored_slice(tensor: LayerTensor, rows: range, columns: range) -> str:
    """A slice of the stored tensor, such as ``x[5, 256:384]``."""
    parts = (str(r.start) if len(r) == 1 else f"{r.start}:{r.stop}" for r in (rows, columns))
    return f"{tensor.value}[{', '.join(parts)}]"


def ranges(ends: NDArray[np.int64]) -> list[range]:
    """int64[2, tiles], the start and the stop of each, as ranges."""
    return [range(start, stop) for start, stop in ends.T.tolist()]


def _linked(along: dict[str, Ends | None], count: int) -> Row:
    """The m, n and k that marks cover, which link them; `NOT_HERE` for a dim that they lie across."""
    nowhere = np.full((2, count), NOT_HERE)
    return {
        f"{dim}{end}": (nowhere if ends is None else ends)[end]
        for dim, ends in along.items()
        for end in (0, 1)
    }


def scale_log2(scale: NDArray[np.float64]) -> NDArray[np.float64]:
    """log2 of scales; NaN for one that is NaN or not above 0."""
    return np.log2(np.where(scale > 0, scale, np.nan))


def scale_domain(log2: NDArray[np.float64]) -> tuple[int, int]:
    """Whole powers of two around every scale, at least four apart, so that small differences look small.

    A scale that is NaN does not count.
    """
    logs = log2[~np.isnan(log2)]
    low, high = (math.floor(logs.min()), math.ceil(logs.max())) if logs.size else (0, 0)
    missing = max(4 - (high - low), 0)
    return low - missing // 2, high + (missing + 1) // 2


def own_colors(scale: NDArray[np.float64]) -> NDArray[np.float64]:
    """Places from 0 to 1 between the smallest of these scales and the largest, by log2."""
    log2 = scale_log2(scale)
    low, high = scale_domain(log2)
    return np.round((log2 - low) / (high - low), 3)


def scale_color(legend: alt.Legend | None) -> alt.Color:
    """Color of a tile by log2 of its scale; fill in `domain`."""
    scale = alt.Scale(scheme=SCALE_COLORS, domain=several("domain", [-8.0, 0.0]), clamp=True)
    return alt.Color("log2:Q", legend=legend, scale=scale)


def scale_ticks(domain: tuple[int, int]) -> dict[str, object]:
    """The powers of two beside a `scale_legend`."""
    ticks = list(range(domain[0], domain[1] + 1, -(-(domain[1] - domain[0]) // 4)))
    words = ", ".join(f"'{tick}': '{power_of_two(tick)}'" for tick in ticks)
    return {"ticks": ticks, "tick_labels": f"({{{words}}})[datum.value]"}


def scale_legend(ink: Ink, **place: object) -> alt.Legend:
    """A legend in powers of two; fill in `scale_ticks`."""
    return alt.Legend(
        title="scale of a tile",
        direction="horizontal",
        orient="none",
        gradientLength=180,
        gradientThickness=9,
        values=several("ticks", [0.0]),
        labelExpr=text("tick_labels", "datum.value"),
        labelColor=ink.soft,
        labelFontSize=11,
        titleColor=ink.soft,
        titleFontSize=11,
        titleFontWeight="normal",
        titleOrient="top",
        **place,
    )


def own_legend(ink: Ink) -> alt.Legend:
    """A legend for colors that run from the smallest scale of one picture to its largest."""
    return alt.Legend(
        title=["scale of a tile, within its own picture:", "colors do not compare between pictures"],
        direction="horizontal",
        orient="bottom",
        gradientLength=180,
        gradientThickness=9,
        values=[0, 1],
        labelExpr="datum.value ? 'larger' : 'smaller'",
        labelColor=ink.soft,
        labelFontSize=12,
        titleColor=ink.soft,
        titleFontSize=12,
        titleFontWeight="normal",
        titleLimit=400,
    )


def position(width: float, height: float) -> dict[str, object]:
    """Channels x0, x1, y0, y1 of a picture of this size."""
    across = alt.Scale(domain=[0, width], nice=False, zero=False)
    down = alt.Scale(domain=[0, height], reverse=True, nice=False, zero=False)
    return {
        "x": alt.X("x0:Q", scale=across, axis=None),
        "x2": "x1:Q",
        "y": alt.Y("y0:Q", scale=down, axis=None),
        "y2": "y1:Q",
    }


def word(x: float, y: float, text: str, color: str, **style: object) -> Row:
    """Words at (x, y); a style is one of those in `WORD_STYLE`."""
    return {"x": x, "y": y, "text": text, "color": color, **WORD_STYLE, **style}


def word_layer() -> alt.Chart:
    """Words, each in the style that its row names: one mark for any number of styles."""
    style = {name: alt.ExprRef(f"datum.{name}") for name in WORD_STYLE}
    return (
        alt.Chart(alt.NamedData(WORDS))
        .mark_text(baseline="middle", aria=False, **style)
        .encode(x="x:Q", y="y:Q", text="text:N", color=alt.Color("color:N", scale=None, legend=None))
    )


def line_layer() -> alt.Chart:
    """Straight lines from (x0, y0) to (x1, y1) in their own color."""
    color = alt.Color("color:N", scale=None, legend=None)
    return (
        alt.Chart(alt.NamedData(LINES))
        .mark_rule(strokeWidth=2, aria=False)
        .encode(x="x0:Q", x2="x1:Q", y="y0:Q", y2="y1:Q", color=color)
    )


def picture(width: float, height: float, *layers: alt.Chart, **options: object) -> alt.LayerChart:
    """Layers in one frame without axes."""
    return (
        alt.layer(*layers, width=width, height=height, **options)
        .resolve_scale(color="independent")
        .configure_view(stroke=None)
    )


def bracket(x0: float, y0: float, x1: float, y1: float, color: str, cap: float = 4) -> list[Row]:
    """A line along a side of a panel with a cap at both ends."""
    lines = [{"x0": x0, "y0": y0, "x1": x1, "y1": y1, "color": color}]
    for x, y in ((x0, y0), (x1, y1)):
        dx, dy = (0, cap) if y0 == y1 else (cap, 0)
        lines.append({"x0": x - dx, "y0": y - dy, "x1": x + dx, "y1": y + dy, "color": color})
    return lines


def axis_words(matmul: Matmul, dim: str, drawn: int, size: int) -> tuple[str, str]:
    """Name of a dim with its axis of the layer, and how much of it is drawn."""
    axis = {"m": matmul.m, "n": matmul.n, "k": matmul.k}[dim]
    name = f"{dim.upper()} = {axis.value}" + (" · contracted" if dim == "k" else "")
    return name, f"all {size:,} drawn" if drawn == size else f"drawn: {drawn:,} of {size:,}"
