"""The marks of every picture of tiles: A at the left, B above, D in the corner, so that m, n and k line up;
rectangles colored by scale, brackets and arrows along the dims.
"""

from dataclasses import dataclass
from typing import Any

import altair as alt
import numpy as np

from fp8core.linear import LayerTensor, Side
from fp8core.operand_scales import Scales
from pages.kit.charts.tile_marks import CORNERS, Row, own_colors, ranges, scale_log2
from pages.kit.charts.words import short, span
from pages.tile_layouts.charts.scene import Scene, SeenTiles

NOT_HERE = -1
OUTER_ROOM = 4.0
NO_SCALE = "bf16, no scale"

Ends = Any
"""Start and stop: two numbers, or two arrays of them."""


@dataclass(frozen=True, kw_only=True)
class Panel:
    """A rectangle of the picture that shows dim `across` from left to right and dim `down` from the top."""

    name: str
    across: str
    columns: int
    down: str
    rows: int
    left: float
    top: float
    width: float
    height: float

    @property
    def right(self) -> float:
        return self.left + self.width

    @property
    def bottom(self) -> float:
        return self.top + self.height

    def boxes(self, rows: Ends, columns: Ends) -> Row:
        """Corners of rectangles that cover elements from the first of `rows` and `columns` to the second."""
        wide, tall = self.width / max(self.columns, 1), self.height / max(self.rows, 1)
        return {
            "x0": self.left + wide * columns[0],
            "x1": self.left + wide * columns[1],
            "y0": self.top + tall * rows[0],
            "y1": self.top + tall * rows[1],
        }


@dataclass(frozen=True, kw_only=True)
class Frame:
    """The three panels of one matmul."""

    a: Panel
    b: Panel
    d: Panel

    @property
    def panels(self) -> tuple[Panel, Panel, Panel]:
        return self.a, self.b, self.d

    def of(self, side: Side) -> Panel:
        return self.a if side is Side.A else self.b


def frame(
    mnk: tuple[int, int, int], *, left: float, top: float, wide: float, k: float, m: float, gap: Ends
) -> Frame:
    """Panels for these M, N, K. A and B are `wide`, B is `k` high and A `m`; `gap` is (across, down)."""
    rows, columns, depth = mnk
    x, y = left + wide + gap[0], top + k + gap[1]

    def panel(name: str, dims: str, sizes: Ends, at: Ends, height: float) -> Panel:
        (across, down), (columns, rows), (left, top) = dims, sizes, at
        corner = {"left": left, "top": top, "width": wide, "height": height}
        return Panel(name=name, across=across, columns=columns, down=down, rows=rows, **corner)

    return Frame(
        a=panel("A", "km", (depth, rows), (left, y), m),
        b=panel("B", "nk", (columns, depth), (x, top), k),
        d=panel("D", "nm", (columns, rows), (x, y), m),
    )


def operand_marks(scene: Scene, frame: Frame, side: Side) -> Row:
    """A mark for each tile of an operand: its corners, the m, n, k that it covers, its scale."""
    tiles, tensor = scene.seen(side), scene.matmul.operand(side)
    free = "m" if side is Side.A else "n"
    along = {"m": None, "n": None, "k": tiles.k} | {free: tiles.free}
    rows, columns = ranges(tiles.rows), ranges(tiles.columns)
    words = scale_words(scene.operand(side).scales)
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
            f"{scale}, for {stored_slice(tensor, *part)}"
            for scale, *part in zip(words, rows, columns, strict=True)
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
    return _operand_boxes(frame, side, tiles.free, tiles.k)


def _operand_boxes(frame: Frame, side: Side, free: Ends, k: Ends) -> Row:
    return frame.of(side).boxes(*((free, k) if side is Side.A else (k, free)))


def outer_marks(scene: Scene, frame: Frame, side: Side) -> Row:
    """The corners of the tiles that share an outer scale; none where there is one level.

    A tile that is the whole panel is drawn a little larger, to be seen beside the tiles inside.
    """
    around = scene.operand(side).outer_grid
    if around is None:
        return {corner: np.zeros(0) for corner in CORNERS}
    rows, columns = around.ends()
    free, k = (columns, rows) if scene.matmul.k_is_rows(side) else (rows, columns)
    room = OUTER_ROOM if rows.shape[1] == 1 else 0
    boxes = _operand_boxes(frame, side, free, k)
    return {corner: at + (room if corner.endswith("1") else -room) for corner, at in boxes.items()}


def result_marks(scene: Scene, frame: Frame) -> Row:
    """A mark for each part of D that one row of A's tiles and one column of B's tiles give."""
    m_parts, n_parts = (np.unique(scene.seen(side).free, axis=1) for side in Side)
    row, column = (index.ravel() for index in np.indices((m_parts.shape[1], n_parts.shape[1])))
    m, n = m_parts[:, row], n_parts[:, column]
    words = "D has no scale of its own: it takes those of its row of A and its column of B"
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
        "detail": [words] * row.size,
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


def scale_color(field: str = "log2") -> alt.Color:
    """Color of a tile from its operand's smallest scale, 0, to its largest, 1."""
    return alt.Color(f"{field}:Q", legend=None, scale=alt.Scale(range="ramp", domain=[0, 1], clamp=True))


def bracket(x0: float, y0: float, x1: float, y1: float, color: str, cap: float = 4) -> list[Row]:
    """A line along a side of a panel with a cap at both ends."""
    dx, dy = (0, cap) if y0 == y1 else (cap, 0)
    caps = [(x - dx, y - dy, x + dx, y + dy) for x, y in ((x0, y0), (x1, y1))]
    return _lines([(x0, y0, x1, y1), *caps], color)


def arrow(x0: float, y0: float, x1: float, y1: float, color: str, head: float = 4) -> list[Row]:
    """A line with a cap at its start and a point at its end, along one side of a panel."""
    ends = [(x0, y0, x1, y1)]
    if y0 == y1:
        ends += [(x0, y0 - head, x0, y0 + head)]
        ends += [(x1 - 1.5 * head, y0 + side, x1, y1) for side in (-head, head)]
    else:
        ends += [(x0 - head, y0, x0 + head, y0)]
        ends += [(x0 + side, y1 - 1.5 * head, x1, y1) for side in (-head, head)]
    return _lines(ends, color)


def _lines(ends: list[tuple[float, ...]], color: str) -> list[Row]:
    return [dict(zip(("x0", "y0", "x1", "y1"), end, strict=True)) | {"color": color} for end in ends]
