"""The big picture: A left, B above, D in the corner, tiles colored by scale, linked along m, n, k."""

import altair as alt

from fp8core.linear import Side
from fp8core.recipes import MatmulSpec
from fp8core.tiles import WHOLE, TileShape
from pages.kit.charts.ink import Ink
from pages.kit.charts.template import Filled, by_column, template
from pages.kit.charts.tile_marks import (
    LINES,
    TILES,
    WORDS,
    Row,
    heat_map,
    joined,
    line_layer,
    picture,
    position,
    shade_words,
    word,
    word_layer,
)
from pages.kit.charts.words import bits_words, brief_preparation, short, tile
from pages.tile_layouts.charts.marks import (
    NO_SCALE,
    Frame,
    arrow,
    bracket,
    frame,
    operand_marks,
    outer_marks,
    result_marks,
)
from pages.tile_layouts.charts.scene import OperandTile, Scene

WIDTH, HEIGHT, FLAT = 640, 580, 450
PIN, HOVER, PINNED = "pin", "hover", "pinned"
OUTER, OUTPUT = "outer", "output"
LINKED = ["m0", "m1", "n0", "n1", "k0", "k1"]
MONOSPACE, CHARACTER = "'Source Code Pro', 'DejaVu Sans Mono', monospace", 7.2
DOT = 7
_BELOW = 52
"""Pixels of the words below A and D."""


def tile_picture(
    scene: Scene, pinned: OperandTile, output: tuple[int, int], ink: Ink, room: float = HEIGHT
) -> Filled:
    """The picture, with the tile `pinned` and the element `output` of D highlighted.

    The selection `pin` holds the clicked mark.
    """
    is_flat = room < FLAT
    top, gap = (30, 56) if is_flat else (34, 66)
    tall = room - top - gap - _BELOW
    at = frame(scene.mnk, left=40, top=top, wide=262, k=0.46 * tall, m=0.54 * tall, gap=(64, gap))
    words = [*_axis_labels(scene, at, ink), *_operand_labels(scene, at, ink), *_corner(scene, is_flat, ink)]
    return _picture(room, ink).filled(
        {
            TILES: joined([*(operand_marks(scene, at, side) for side in Side), result_marks(scene, at)]),
            LINES: by_column(_edges(at, ink)),
            WORDS: by_column(words),
            PINNED: by_column(_pinned(at, pinned, output)),
            OUTER: joined([outer_marks(scene, at, side) for side in Side]),
        }
    )


def _pinned(at: Frame, tile: OperandTile, output: tuple[int, int]) -> list[Row]:
    """The data of the highlight: one row a panel, with its corners and the m, n, k of the pinned tile.

    One more row is the element (m, n) of D whose sum is written out: it may be too small to see.
    """
    free = "m" if tile.side is Side.A else "n"
    covered = {"m": None, "n": None, "k": tile.k} | {free: tile.free}
    ends = {
        f"{dim}{end}": -1 if elements is None else (elements.start, elements.stop)[end]
        for dim, elements in covered.items()
        for end in (0, 1)
    }
    m, n = output
    box = at.d.boxes((m, m + 1), (n, n + 1))
    dot = {f"{a}{end}": (box[f"{a}0"] + box[f"{a}1"]) / 2 + (end - 0.5) * DOT for a in "xy" for end in (0, 1)}
    return [
        {
            "panel": name,
            "across": panel.across,
            "down": panel.down,
            "columns": max(panel.columns, 1),
            "rows": max(panel.rows, 1),
            "left": panel.left,
            "right": panel.right,
            "top": panel.top,
            "bottom": panel.bottom,
            **ends,
            **dot,
        }
        for name, panel in zip(("A", "B", "D", OUTPUT), (*at.panels, at.d), strict=True)
    ]


@template
def _picture(height: float, ink: Ink) -> alt.LayerChart:
    layers = (_tiles(height, ink), *_highlight(ink), _outer_tiles(ink), line_layer(), word_layer())
    return picture(WIDTH, height, *layers, data=alt.NamedData(PINNED))


def _tiles(height: float, ink: Ink) -> alt.Chart:
    data = alt.Chart(alt.NamedData(TILES), name=TILES)
    look = {"strokeWidth": 1.5, "cursor": "pointer"}
    pin = alt.selection_point(
        name=PIN, on="click", toggle="true", clear=False, empty=False, fields=["side", "row", "column"]
    )
    hover = alt.selection_point(name=HOVER, on="pointerover", clear="pointerout", empty=False, fields=LINKED)
    return (
        heat_map(data, position(WIDTH, height), ink, field="shade", **look)
        .encode(tooltip=[alt.Tooltip("what:N", title="elements"), alt.Tooltip("detail:N", title="scale")])
        .add_params(pin, hover)
    )


def _outer_tiles(ink: Ink) -> alt.Chart:
    """Outlines around the tiles that share an outer scale."""
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
        *bracket(a.left - 10, a.top, a.left - 10, a.bottom, ink.m),
        *bracket(b.left, b.top - 8, b.right, b.top - 8, ink.n),
        *arrow(b.left - 12, b.top, b.left - 12, b.bottom, ink.k),
    ]


def _axis_labels(scene: Scene, at: Frame, ink: Ink) -> list[Row]:
    """The dims with their axes of the layer, and how much of them is drawn."""
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
    """A line on each operand below its panel, and more on what is unusual."""
    d = scene.matmul.d.value
    lines = {side: operand_lines(scene, side) for side in Side}
    labels = {
        at.a: lines[Side.A],
        at.b: lines[Side.B],
        at.d: [(f"D = {d}, in {scene.spec.out.name}", f"D = {d}")],
    }
    return [
        word(
            panel.left,
            panel.bottom + 14 + 15 * number,
            line,
            ink.soft if number else ink.text,
            narrow=narrow,
            fontSize=13,
        )
        for panel, lines in labels.items()
        for number, (line, narrow) in enumerate(lines)
        if 14 + 15 * number < at.d.top - at.b.bottom - 8
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


def _corner(scene: Scene, is_flat: bool, ink: Ink) -> list[Row]:
    """The equation in the empty corner, each letter in its color; why the scales leave the sum."""
    top, step = (18, 20) if is_flat else (44, 24)
    words = []
    for line, pieces in enumerate(equation_lines(scene.spec)):
        column = 2 if line else 0
        for text, dim in pieces:
            if text.strip():
                style = {"dx": round(CHARACTER * column, 1), "fontWeight": "bold" if dim else "normal"}
                color = ink.scale if text in ("sA", "sB") else ink.of(dim)
                style |= {"fontSize": 12, "font": MONOSPACE}
                words.append(word(4, top + step * line, text, color, narrow="", **style))
            column += len(text)
    top += 3 * step + (4 if is_flat else 14)
    words += [
        word(4, top + 18 * at, line, ink.text, n_y=44 + 18 * at, fontSize=14, fontWeight=weight)
        for at, (line, weight) in enumerate(
            zip(leaves_words(scene.spec), ("bold", "normal", "normal"), strict=False)
        )
    ]
    if scene.spec.quantized and not is_flat:
        words.append(word(4, top + 72, f"{shade_words(ink)},", ink.soft, n_y=116, fontSize=13))
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


Pieces = list[tuple[str, str | None]]
"""Text with the dim whose color it takes. No piece starts with a blank, which SVG would drop."""


def equation_lines(spec: MatmulSpec) -> tuple[Pieces, ...]:
    """D[m, n] in three lines; j counts the stretches of K on which both scales are constant.

    A lower-case a or b is a code, a capital one a bf16 number. The line of scales is empty without any.
    """
    cut = bool(spec.extents_along_k)
    factors: list[Pieces] = []
    if spec.a is not None:
        factors.append([("sA", None), *_index(spec.a.tile, "m", k_first=False)])
    if spec.b is not None:
        factors.append([("sB", None), *_index(spec.b.tile, "n", k_first=True)])
    scales: Pieces = [("Σ", None), ("j", "k"), (" ", None)] if cut else []
    for number, factor in enumerate(factors):
        scales += [("·", None), *factor] if number else factor
    a, b = ("A" if spec.a is None else "a"), ("B" if spec.b is None else "b")
    head = [("D", None), *_listed(["m", "n"]), (" ", None), ("=", None)]
    codes = [("· Σ" if factors else "Σ", None), ("k", "k"), *([("∈", None), ("j", "k")] if cut else [])]
    codes += [(" ", None), (a, None), *_listed(["m", "k"]), (f"·{b}", None), *_listed(["k", "n"])]
    return head, scales, codes


def _index(tile: TileShape, dim: str, *, k_first: bool) -> Pieces:
    free = [] if tile.mn is WHOLE else [(dim, dim) if tile.mn == 1 else (f"⌊{dim}/{tile.mn}⌋", dim)]
    along = [] if tile.k is WHOLE else [("j", "k")]
    parts = [*along, *free] if k_first else [*free, *along]
    return _listed(parts) if parts else []


def _listed(parts: list[tuple[str, str]] | list[str]) -> Pieces:
    """Indices in brackets; a dim alone has its own color."""
    pieces = [(part, part) if isinstance(part, str) else part for part in parts]
    return [
        ("[", None),
        pieces[0],
        *(one for piece in pieces[1:] for one in ((",", None), piece)),
        ("]", None),
    ]
