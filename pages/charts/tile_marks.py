"""The marks that every picture of tiles is made of: rectangles coloured by scale, outlines, words."""

import math
from collections.abc import Iterable, Sequence

import altair as alt

from fp8core.linear import LayerTensor, Matmul, Side
from fp8core.tiles import Tile
from pages.charts.frame import Frame, Panel, Row
from pages.charts.ink import SCALE_COLORS, Ink
from pages.charts.scene import OperandTile, Scene
from pages.charts.words import log2, power_of_two, short, span

MONOSPACE = "'Source Code Pro', 'DejaVu Sans Mono', monospace"
NOT_HERE = -1


def operand_rows(scene: Scene, frame: Frame, side: Side) -> list[Row]:
    """One row a tile of an operand: where it is drawn, which m, n, k it covers, its scale."""
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
    """One row for each part of D whose elements meet the same tiles of A and of B."""
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
            "detail": "none of its own: those of its row of A and its column of B",
        }
        for row, m in enumerate(m_parts)
        for column, n in enumerate(n_parts)
    ]


def stored_slice(tensor: LayerTensor, tile: Tile) -> str:
    """Such as ``x[5, 256:384]``."""
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
    """Colour of a tile by log2 of its scale."""
    return alt.Color(
        "log2:Q", legend=legend, scale=alt.Scale(scheme=SCALE_COLORS, domain=list(domain), clamp=True)
    )


def scale_legend(domain: tuple[int, int], ink: Ink, **place: object) -> alt.Legend:
    """A legend in powers of two."""
    step = max(1, (domain[1] - domain[0]) // 4)
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


def text_layers(words: Sequence[Row]) -> list[alt.Chart]:
    """Words at (x, y): a row has text and color, and may have dx, size, weight, align, angle, font."""
    styles: dict[tuple[object, ...], list[Row]] = {}
    names = ("dx", "size", "weight", "align", "angle", "font")
    for row in words:
        styles.setdefault(tuple(row.get(name) for name in names), []).append(row)
    layers = []
    for style, rows in styles.items():
        dx, size, weight, align, angle, font = style
        mark: dict[str, object] = {"dx": dx or 0, "fontSize": size or 11, "align": align or "left"}
        mark |= {"baseline": "middle", "fontWeight": weight or "normal", "angle": angle or 0, "aria": False}
        if font:
            mark["font"] = font
        data = [{"x": row["x"], "y": row["y"], "text": row["text"], "color": row["color"]} for row in rows]
        layers.append(
            alt.Chart(alt.Data(values=data))
            .mark_text(**mark)
            .encode(
                x="x:Q", y="y:Q", text="text:N", color=alt.Color("color:N", scale=None, legend=None)
            )
        )
    return layers


def rule_layer(lines: Sequence[Row]) -> alt.Chart:
    """Straight lines from (x0, y0) to (x1, y1) in their own colour."""
    return (
        alt.Chart(alt.Data(values=list(lines)))
        .mark_rule(strokeWidth=2, aria=False)
        .encode(
            x="x0:Q", x2="x1:Q", y="y0:Q", y2="y1:Q", color=alt.Color("color:N", scale=None, legend=None)
        )
    )


def bracket(x0: float, y0: float, x1: float, y1: float, color: str, cap: float = 4) -> list[Row]:
    """A line along a side of a panel with a cap at both ends."""
    lines = [{"x0": x0, "y0": y0, "x1": x1, "y1": y1, "color": color}]
    for x, y in ((x0, y0), (x1, y1)):
        dx, dy = (0, cap) if y0 == y1 else (cap, 0)
        lines.append({"x0": x - dx, "y0": y - dy, "x1": x + dx, "y1": y + dy, "color": color})
    return lines


def axis_words(matmul: Matmul, dim: str, drawn: int, size: int) -> tuple[str, str]:
    """Name of a dim with the layer's axis it is, and how much of it is drawn."""
    axis = {"m": matmul.m, "n": matmul.n, "k": matmul.k}[dim]
    name = f"{dim.upper()} = {axis.value}" + (" · contracted" if dim == "k" else "")
    return name, f"all {size:,} drawn" if drawn == size else f"drawn: {drawn:,} of {size:,}"
