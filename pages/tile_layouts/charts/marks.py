"""The marks of every picture of tiles: rectangles colored by scale, outlines, words."""

import altair as alt
import numpy as np

from fp8core.linear import LayerTensor, Side
from fp8core.operand_scales import Scales
from pages.kit.charts.tile_marks import Row, own_colors, ranges, scale_log2
from pages.kit.charts.words import short, span
from pages.tile_layouts.charts.frame import Ends, Frame
from pages.tile_layouts.charts.scene import Scene, SeenTiles

MONOSPACE = "'Source Code Pro', 'DejaVu Sans Mono', monospace"
NOT_HERE = -1
OUTER_ROOM = 4.0
NO_SCALE = "bf16, no scale"


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
        "shade": own_colors(tiles.scale),
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
        "shade": np.full(row.size, np.nan),
        "what": [
            f"D: m = {span(down)}, n = {span(across)}"
            for down, across in zip(ranges(m), ranges(n), strict=True)
        ],
        "detail": ["D has no scale of its own: it takes those of its row of A and its column of B"]
        * row.size,
    }


def stored_slice(tensor: LayerTensor, rows: range, columns: range) -> str:
    """A slice of the stored tensor, such as ``x[5, 256:384]``."""
    parts = (str(r.start) if len(r) == 1 else f"{r.start}:{r.stop}" for r in (rows, columns))
    return f"{tensor.value}[{', '.join(parts)}]"


def _linked(along: dict[str, Ends | None], count: int) -> Row:
    """The m, n and k that marks cover, which link them; `NOT_HERE` for a dim that they lie across."""
    nowhere = np.full((2, count), NOT_HERE)
    return {
        f"{dim}{end}": (nowhere if ends is None else ends)[end]
        for dim, ends in along.items()
        for end in (0, 1)
    }


def scale_color() -> alt.Color:
    """Color of a tile from its operand's smallest scale to its largest."""
    return alt.Color("shade:Q", legend=None, scale=alt.Scale(range="ramp", domain=[0, 1], clamp=True))


def bracket(x0: float, y0: float, x1: float, y1: float, color: str, cap: float = 4) -> list[Row]:
    """A line along a side of a panel with a cap at both ends."""
    lines = [{"x0": x0, "y0": y0, "x1": x1, "y1": y1, "color": color}]
    for x, y in ((x0, y0), (x1, y1)):
        dx, dy = (0, cap) if y0 == y1 else (cap, 0)
        lines.append({"x0": x - dx, "y0": y - dy, "x1": x + dx, "y1": y + dy, "color": color})
    return lines


def arrow(x0: float, y0: float, x1: float, y1: float, color: str, head: float = 4) -> list[Row]:
    """A line with a cap at its start and a point at its end, along one side of a panel."""
    ends = [(x0, y0, x1, y1)]
    if y0 == y1:
        ends += [(x0, y0 - head, x0, y0 + head)]
        ends += [(x1 - 1.5 * head, y0 + side, x1, y1) for side in (-head, head)]
    else:
        ends += [(x0 - head, y0, x0 + head, y0)]
        ends += [(x0 + side, y1 - 1.5 * head, x1, y1) for side in (-head, head)]
    return [dict(zip(("x0", "y0", "x1", "y1"), end, strict=True)) | {"color": color} for end in ends]
