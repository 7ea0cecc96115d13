"""The marks of every picture of tiles: rectangles colored by scale, outlines, words."""

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import altair as alt

from fp8core.linear import LayerTensor, Matmul, Side
from fp8core.tiles import Tile
from pages.kit.charts.ink import SCALE_COLORS, Ink
from pages.kit.charts.words import log2, power_of_two, short, span
from pages.sections.tiles.charts.frame import Frame, Panel, Row
from pages.sections.tiles.charts.scene import OperandTile, Scene

SANS = "'Source Sans', 'Source Sans Pro', sans-serif"
MONOSPACE = "'Source Code Pro', 'DejaVu Sans Mono', monospace"
NOT_HERE = -1
TILES, WORDS, LINES = "tiles", "words", "lines"
WORD_STYLE: Row = {"dx": 0, "fontSize": 11, "fontWeight": "normal", "align": "left", "angle": 0, "font": SANS}
Spec = dict[str, Any]


def operand_rows(scene: Scene, frame: Frame, side: Side) -> list[Row]:
    """One row a tile of an operand: its place in the picture, the m, n, k that it covers, its scale."""
    return [_operand_row(scene, frame.panel(side.value), tile) for tile in scene.tiles(side)]


def _operand_row(scene: Scene, panel: Panel, tile: OperandTile) -> Row:
    rows, columns = (tile.free, tile.k) if tile.side is Side.A else (tile.k, tile.free)
    free = "m" if tile.side is Side.A else "n"
    return {
        **panel.box(rows, columns),
        "side": tile.side.value,
        "row": tile.row,
        "column": tile.column,
        **_interval("m", tile.free if free == "m" else None),
        **_interval("n", tile.free if free == "n" else None),
        **_interval("k", tile.k),
        "log2": None if math.isnan(log2(tile.scale)) else round(log2(tile.scale), 3),
        "what": f"{tile.side.value}: {free} = {span(tile.free)}, k = {span(tile.k)}",
        "detail": f"{short(tile.scale)}, for {stored_slice(scene.matmul.operand(tile.side), tile.stored)}",
    }


def result_rows(scene: Scene, frame: Frame) -> list[Row]:
    """One row for each part of D that one row of A's tiles and one column of B's tiles give."""
    m_parts = sorted({(t.free.start, t.free.stop) for t in scene.tiles(Side.A)})
    n_parts = sorted({(t.free.start, t.free.stop) for t in scene.tiles(Side.B)})
    return [
        {
            **frame.d.box(range(*m), range(*n)),
            "side": "D",
            "row": row,
            "column": column,
            **_interval("m", range(*m)),
            **_interval("n", range(*n)),
            **_interval("k", None),
            "what": f"D: m = {span(range(*m))}, n = {span(range(*n))}",
            "detail": "D has no scale of its own: it takes those of its row of A and its column of B",
        }
        for row, m in enumerate(m_parts)
        for column, n in enumerate(n_parts)
    ]


def stored_slice(tensor: LayerTensor, tile: Tile) -> str:
    """A slice of the stored tensor, such as ``x[5, 256:384]``."""
    parts = (str(r.start) if len(r) == 1 else f"{r.start}:{r.stop}" for r in (tile.rows, tile.columns))
    return f"{tensor.value}[{', '.join(parts)}]"


def _interval(dim: str, elements: range | None) -> Row:
    if elements is None:
        return {f"{dim}0": NOT_HERE, f"{dim}1": NOT_HERE}
    return {f"{dim}0": elements.start, f"{dim}1": elements.stop}


def scale_domain(rows: Iterable[Row]) -> tuple[int, int]:
    """Whole powers of two around every scale, at least four apart, so that small differences look small."""
    logs = [float(row["log2"]) for row in rows if row.get("log2") is not None]
    low, high = (math.floor(min(logs)), math.ceil(max(logs))) if logs else (0, 0)
    missing = max(4 - (high - low), 0)
    return low - missing // 2, high + (missing + 1) // 2


def scale_color(domain: tuple[int, int], legend: alt.Legend | None) -> alt.Color:
    """Color of a tile by log2 of its scale."""
    return alt.Color(
        "log2:Q", legend=legend, scale=alt.Scale(scheme=SCALE_COLORS, domain=list(domain), clamp=True)
    )


def scale_legend(domain: tuple[int, int], ink: Ink, **place: object) -> alt.Legend:
    """A legend in powers of two."""
    step = -(-(domain[1] - domain[0]) // 4)
    ticks = list(range(domain[0], domain[1] + 1, step))
    words = ", ".join(f"'{tick}': '{power_of_two(tick)}'" for tick in ticks)
    return alt.Legend(
        title="scale of a tile",
        direction="horizontal",
        orient="none",
        gradientLength=180,
        gradientThickness=9,
        values=ticks,
        labelExpr=f"({{{words}}})[datum.value]",
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


def filled(chart: alt.LayerChart, rows: Mapping[str, Sequence[Row]]) -> Spec:
    """The chart as a Vega-Lite spec, with the rows of its named data inside.

    The chart itself holds no rows, so that it can be built once for all pictures of a kind.
    """
    spec = chart.to_dict()
    for layer in spec["layer"]:
        name = layer.get("data", {}).get("name")
        if name in rows:
            layer["data"] = {"values": list(rows[name])}
    return spec


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
