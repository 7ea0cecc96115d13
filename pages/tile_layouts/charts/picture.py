"""The big picture: A left, B above, D in the corner, tiles colored by scale, linked along m, n, k."""

import re

import altair as alt
import numpy as np

from fp8core.linear import Side
from fp8core.recipes import MatmulSpec
from fp8core.tiles import WHOLE
from pages.kit.charts import tile_marks as marks
from pages.kit.charts.ink import Ink
from pages.kit.charts.template import Filled, by_column, template
from pages.kit.charts.tile_marks import Row, word
from pages.kit.charts.words import bits_words, brief_preparation, short, span, tile
from pages.tile_layouts.charts.scene import (
    NO_SCALE,
    Ends,
    Frame,
    OperandTile,
    Scene,
    arrow,
    frame,
    lines,
    scale_words,
    stored_slice,
)

WIDTH, HEIGHT, FLAT = 640, 580, 450
PIN, HOVER, PINNED = "pin", "hover", "pinned"
OUTER, OUTPUT = "outer", "output"
LINKED = ["m0", "m1", "n0", "n1", "k0", "k1"]
MONOSPACE, CHARACTER = "'Source Code Pro', 'DejaVu Sans Mono', monospace", 7.2
DOT, BELOW = 7, 52
OUTER_ROOM = 4.0
# The start and the stop of a dim that a mark lies across.
NOT_HERE = -1


def tile_picture(
    scene: Scene, pinned: OperandTile, output: tuple[int, int], ink: Ink, room: float = HEIGHT
) -> Filled:
    """The picture, with the tile `pinned` and the element `output` of D highlighted."""
    is_flat = room < FLAT
    top, gap = (30, 56) if is_flat else (34, 66)
    tall = room - top - gap - BELOW
    at = frame(scene.mnk, left=40, top=top, wide=262, k=0.46 * tall, m=0.54 * tall, gap=(64, gap))
    words = [*_axis_labels(scene, at, ink), *_operand_labels(scene, at, ink), *_corner(scene, is_flat, ink)]
    return _picture(room, ink).filled(
        {
            marks.TILES: marks.joined(
                [*(_operand_marks(scene, at, side) for side in Side), _result_marks(scene, at)]
            ),
            marks.LINES: by_column(_edges(at, ink)),
            marks.WORDS: by_column(words),
            PINNED: by_column(_pinned(at, pinned, output)),
            OUTER: marks.joined([_outer_marks(scene, at, side) for side in Side]),
        }
    )


def _operand_marks(scene: Scene, frame: Frame, side: Side) -> Row:
    tiles, tensor = scene.tiles(side), scene.matmul.operand(side)
    free = "m" if side is Side.A else "n"
    along = {"m": None, "n": None, "k": tiles.k} | {free: tiles.free}
    rows, columns = marks.ranges(tiles.rows), marks.ranges(tiles.columns)
    words = scale_words(scene.operand(side).scales)
    return {
        **frame.operand_boxes(side, tiles.free, tiles.k),
        "side": [side.value] * tiles.row.size,
        "row": tiles.row,
        "column": tiles.column,
        **_linked(along, tiles.row.size),
        "log2": np.round(marks.scale_log2(tiles.scale), 3),
        "shade": marks.own_colors(tiles.scale),
        "what": [
            f"{side.value}: {free} = {span(mine)}, k = {span(k)}"
            for mine, k in zip(marks.ranges(tiles.free), marks.ranges(tiles.k), strict=True)
        ],
        "detail": [
            f"{scale}, for {stored_slice(tensor, *part)}"
            for scale, *part in zip(words, rows, columns, strict=True)
        ],
    }


def _outer_marks(scene: Scene, frame: Frame, side: Side) -> Row:
    """The corners of the tiles that share an outer scale; none where there is one level.

    A tile that is the whole panel is drawn a little larger, to be seen beside the tiles inside.
    """
    around = scene.operand(side).outer_grid
    if around is None:
        return {corner: np.zeros(0) for corner in marks.CORNERS}
    rows, columns = around.ends()
    free, k = (columns, rows) if scene.matmul.k_is_rows(side) else (rows, columns)
    room = OUTER_ROOM if rows.shape[1] == 1 else 0
    boxes = frame.operand_boxes(side, free, k)
    return {corner: at + (room if corner.endswith("1") else -room) for corner, at in boxes.items()}


def _result_marks(scene: Scene, frame: Frame) -> Row:
    m_parts, n_parts = (np.unique(scene.tiles(side).free, axis=1) for side in Side)
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
            for down, across in zip(marks.ranges(m), marks.ranges(n), strict=True)
        ],
        "detail": [words] * row.size,
    }


def _linked(along: dict[str, Ends | None], count: int) -> Row:
    """The m, n and k that marks cover, which link them; `NOT_HERE` for a dim that they lie across."""
    nowhere = np.full((2, count), NOT_HERE)
    return {
        f"{dim}{end}": (nowhere if ends is None else ends)[end]
        for dim, ends in along.items()
        for end in (0, 1)
    }


def _bracket(x0: float, y0: float, x1: float, y1: float, color: str) -> list[Row]:
    dx, dy = (0, 4) if y0 == y1 else (4, 0)
    caps = [(x - dx, y - dy, x + dx, y + dy) for x, y in ((x0, y0), (x1, y1))]
    return lines([(x0, y0, x1, y1), *caps], color)


def _pinned(at: Frame, tile: OperandTile, output: tuple[int, int]) -> list[Row]:
    """The data of the highlight: one row a panel, with its corners and the m, n, k of the pinned tile.

    One more row is the element (m, n) of D whose sum is written out: it may be too small to see.
    """
    free = "m" if tile.side is Side.A else "n"
    covered = {"m": None, "n": None, "k": tile.k} | {free: tile.free}
    ends = {
        f"{dim}{end}": NOT_HERE if elements is None else (elements.start, elements.stop)[end]
        for dim, elements in covered.items()
        for end in (0, 1)
    }
    m, n = output
    box = at.d.boxes((m, m + 1), (n, n + 1))
    dot = {f"{a}{end}": (box[f"{a}0"] + box[f"{a}1"]) / 2 + (end - 0.5) * DOT for a in "xy" for end in (0, 1)}
    return [
        {"panel": name, **vars(panel), "right": panel.right, "bottom": panel.bottom, **ends, **dot}
        for name, panel in (("A", at.a), ("B", at.b), ("D", at.d), (OUTPUT, at.d))
    ]


@template
def _picture(height: float, ink: Ink) -> alt.LayerChart:
    layers = (
        _tiles(height, ink),
        *_highlight(ink),
        _outer_tiles(ink),
        marks.line_layer(),
        marks.word_layer(),
    )
    return marks.picture(WIDTH, height, *layers, data=alt.NamedData(PINNED))


def _tiles(height: float, ink: Ink) -> alt.Chart:
    data = alt.Chart(alt.NamedData(marks.TILES), name=marks.TILES)
    look = {"strokeWidth": 1.5, "cursor": "pointer"}
    pin = alt.selection_point(
        name=PIN, on="click", toggle="true", clear=False, empty=False, fields=["side", "row", "column"]
    )
    hover = alt.selection_point(name=HOVER, on="pointerover", clear="pointerout", empty=False, fields=LINKED)
    return (
        marks.heat_map(data, marks.position(WIDTH, height), ink, field="shade", **look)
        .encode(tooltip=[alt.Tooltip("what:N", title="elements"), alt.Tooltip("detail:N", title="scale")])
        .add_params(pin, hover)
    )


def _outer_tiles(ink: Ink) -> alt.Chart:
    return (
        alt.Chart(alt.NamedData(OUTER))
        .mark_rect(fill=None, stroke=ink.text, strokeWidth=1.5, strokeDash=[5, 3], aria=False)
        .encode(x="x0:Q", x2="x1:Q", y="y0:Q", y2="y1:Q")
    )


def _band_expression(along: str, end: int, start: str, stop: str, unit: str) -> str:
    """The start or end of the highlight along a panel's dim: of the hovered elements, else the pinned."""
    name = f"datum.{along} + '{end}'"
    chosen = f"(isArray({HOVER}[{name}]) ? {HOVER}[{name}][0] : datum[{name}])"
    return f"{chosen} < 0 ? {(start, stop)[end]} : {start} + {chosen} * ({stop} - {start}) / {unit}"


def _highlight(ink: Ink) -> list[alt.Chart]:
    """Four veils and an outline a panel. Only their corners move, so the cost does not grow with tiles."""
    across, down = ("datum.left", "datum.right", "datum.columns"), ("datum.top", "datum.bottom", "datum.rows")
    bands = (
        alt.Chart()
        .transform_filter(f"datum.panel != '{OUTPUT}'")
        .transform_calculate(
            bx0=_band_expression("across", 0, *across),
            bx1=_band_expression("across", 1, *across),
            by0=_band_expression("down", 0, *down),
            by1=_band_expression("down", 1, *down),
            both="datum.bx0 > datum.left - 1 && (isArray(hover.m0) ? "
            "hover[datum.across + '0'][0] >= 0 && hover[datum.down + '0'][0] >= 0 : "
            "datum[datum.across + '0'] >= 0 && datum[datum.down + '0'] >= 0)",
            dim="datum.both ? 'tile' : (isArray(hover.m0) ? hover[datum.across + '0'][0] : "
            "datum[datum.across + '0']) >= 0 ? datum.across : datum.down",
        )
    )
    strips = (
        ("left", "top", "bx0", "bottom"),
        ("bx1", "top", "right", "bottom"),
        ("bx0", "top", "bx1", "by0"),
        ("bx0", "by1", "bx1", "bottom"),
    )
    # D has no shades of its own: under a veil it would fade into the page.
    scaled = bands.transform_filter("datum.panel != 'D'")
    veils = [
        scaled.mark_rect(fill=ink.page, fillOpacity=0.4, aria=False).encode(
            x=f"{x0}:Q", y=f"{y0}:Q", x2=f"{x1}:Q", y2=f"{y1}:Q"
        )
        for x0, y0, x1, y1 in strips
    ]
    colors = alt.Scale(domain=["m", "n", "k", "tile"], range=[ink.m, ink.n, ink.k, ink.text])
    outline = bands.mark_rect(fill=None, strokeWidth=2.5, aria=False).encode(
        x="bx0:Q", y="by0:Q", x2="bx1:Q", y2="by1:Q", stroke=alt.Stroke("dim:N", scale=colors, legend=None)
    )
    element = (
        alt.Chart()
        .transform_filter(f"datum.panel == '{OUTPUT}'")
        .mark_rect(fill=ink.text, aria=False)
        .encode(x="x0:Q", x2="x1:Q", y="y0:Q", y2="y1:Q")
    )
    return [*veils, outline, element]


def _edges(at: Frame, ink: Ink) -> list[Row]:
    a, b = at.a, at.b
    return [
        *arrow(a.left, a.top - 8, a.right, a.top - 8, ink.k),
        *_bracket(a.left - 10, a.top, a.left - 10, a.bottom, ink.m),
        *_bracket(b.left, b.top - 8, b.right, b.top - 8, ink.n),
        *arrow(b.left - 12, b.top, b.left - 12, b.bottom, ink.k),
    ]


def _axis_labels(scene: Scene, at: Frame, ink: Ink) -> list[Row]:
    matmul, sizes = scene.matmul, dict(zip("mnk", scene.matmul.mnk(scene.layer), strict=True))
    drawn, axes = dict(zip("mnk", scene.mnk, strict=True)), {"m": matmul.m, "n": matmul.n, "k": matmul.k}
    a, b, labels = at.a, at.b, []
    for dim, x, y, angle in (
        ("k", a.left, a.top - 21, 0),
        ("n", b.left, b.top - 21, 0),
        ("m", a.left - 26, (a.top + a.bottom) / 2, 270),
        ("k", b.left - 28, (b.top + b.bottom) / 2, 270),
    ):
        turn = {"align": "center" if angle else "left", "angle": angle, "fontSize": 14}
        name = f"{dim.upper()} = {axes[dim].value}"
        labels.append(word(x, y, name, ink.of(dim), fontWeight="bold", **turn))
        if not angle:
            all_of = drawn[dim] == sizes[dim]
            part = f"all {drawn[dim]:,} drawn" if all_of else f"{drawn[dim]:,} of {sizes[dim]:,} drawn"
            labels.append(word(x + a.width, y, part, ink.soft, narrow="", align="right", fontSize=13))
    return labels


def _operand_labels(scene: Scene, at: Frame, ink: Ink) -> list[Row]:
    d = scene.matmul.d.value
    labels = (
        (at.a, operand_lines(scene, Side.A)),
        (at.b, operand_lines(scene, Side.B)),
        (at.d, [(f"D = {d}, in {scene.spec.out.name}", f"D = {d}")]),
    )
    return [
        word(panel.left, panel.bottom + below, line, color, narrow=narrow, fontSize=13)
        for panel, texts in labels
        for number, (line, narrow) in enumerate(texts)
        for below, color in [(14 + 15 * number, ink.soft if number else ink.text)]
        if below < at.d.top - at.b.bottom - 8
    ]


def operand_lines(scene: Scene, side: Side) -> list[tuple[str, str]]:
    """Format and tiles; bits and the steps before rounding; the outer scale. Each also for a telephone."""
    operand, drawn = scene.recipe.operand(scene.matmul, side), scene.operand(side)
    tensor, name = scene.matmul.operand(side), f"{side.value} = {scene.matmul.symbol(side)}"
    if operand is None or drawn.scales is None:
        return [(f"{name}, {NO_SCALE}", f"{name}, {NO_SCALE}")]
    spec = operand.spec
    free, k = (spec.tile.mn, "M" if side is Side.A else "N"), (spec.tile.k, "K")
    (down, across), names = zip(*((free, k) if side is Side.A else (k, free)), strict=True)
    bits, shape = bits_words(operand, scene.layer.of(tensor)), tile(down, across, names)
    brief = brief_preparation(operand)
    lines = [
        (f"{name} in {spec.format.name}, tiles of {shape}", f"{name}, {shape}"),
        (", ".join([f"{bits} bits per element", *brief]), ", ".join([f"{bits} bits", *brief[:1]])),
    ]
    outer, rule = drawn.scales.outer, spec.scale_rule
    if outer is None:
        return lines
    if rule.outer.constant is not None:
        line = f"each scale times {rule.outer.constant:.6g}"
        return [*lines, (line, line)]
    many = "outlined" if outer.size > 1 else f"dashed: {short(float(outer.flat[0]), 3)}"
    return [*lines, (f"{rule.format.name} scales under {rule.outer.format.name}, {many}", f"outer {many}")]


_PIECE = re.compile(r"s[AB]|⌊[mn]/\d+⌋|[mnkj]|[^mnkjs⌊\s]+")


def _corner(scene: Scene, is_flat: bool, ink: Ink) -> list[Row]:
    top, step = (18, 20) if is_flat else (44, 24)
    words = []
    for line, equation in enumerate(equation_lines(scene.spec)):
        for piece in _PIECE.finditer(equation):
            dim = re.search("[mnkj]", piece[0])
            color = ink.scale if piece[0] in ("sA", "sB") else ink.of(dim and dim[0].replace("j", "k"))
            style = {"fontSize": 12, "font": MONOSPACE, "fontWeight": "bold" if dim else "normal"}
            style["dx"] = round(CHARACTER * (piece.start() + 2 * (line > 0)), 1)
            words.append(word(4, top + step * line, piece[0], color, narrow="", **style))
    top += 3 * step + (4 if is_flat else 14)
    for line, text in enumerate(leaves_words(scene.spec)):
        weight, below = "normal" if line else "bold", 18 * line
        words.append(word(4, top + below, text, ink.text, n_y=44 + below, fontSize=14, fontWeight=weight))
    if scene.spec.quantized and not is_flat:
        words.append(word(4, top + 72, f"{marks.shade_words(ink)},", ink.soft, n_y=116, fontSize=13))
        words.append(word(4, top + 89, "within one tensor", ink.soft, n_y=133, fontSize=13))
    return words


def leaves_words(spec: MatmulSpec) -> tuple[str, ...]:
    """The reason why the scales of a matmul leave the sum, in short lines."""
    if not spec.quantized:
        return ("There are no scales:", "both operands", "stay bf16.")
    both = len(spec.quantized) > 1
    holds, leave = ("Both scales stay", "they leave") if both else ("The scale stays", "it leaves")
    extents = spec.extents_along_k
    along = f"along K for {min(extents)} products:" if extents else "along all of K:"
    return (f"{holds} constant", along, f"{leave} the sum.")


def equation_lines(spec: MatmulSpec) -> tuple[str, str, str]:
    """D[m, n] in three lines; j counts the stretches of K on which both scales are constant.

    A lower-case a or b is a code, a capital one a bf16 number. The line of scales is empty without any.
    """
    factors = []
    for name, operand, dim in (("sA", spec.a, "m"), ("sB", spec.b, "n")):
        if operand is not None:
            free, k = operand.tile.mn, operand.tile.k
            index = [] if free is WHOLE else [dim if free == 1 else f"⌊{dim}/{free}⌋"]
            index += [] if k is WHOLE else ["j"]
            ordered = index if dim == "m" else index[::-1]
            factors.append(f"{name}[{','.join(ordered)}]" if index else name)
    has_stretches = bool(spec.extents_along_k)
    scales = "Σj " * has_stretches + "·".join(factors)
    a, b = ("A" if spec.a is None else "a"), ("B" if spec.b is None else "b")
    return "D[m,n] =", scales, f"{'· ' * bool(factors)}Σk{'∈j' * has_stretches} {a}[m,k]·{b}[k,n]"
