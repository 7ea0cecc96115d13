"""The big picture: A left, B above, D in the corner, tiles colored by scale, linked along m, n, k."""

from dataclasses import replace

import altair as alt

from fp8core.linear import Side
from fp8core.recipes import MatmulSpec
from pages.kit.charts.ink import Ink
from pages.kit.charts.template import Filled, by_column, template
from pages.kit.charts.tile_marks import (
    LINES,
    NEUTRAL,
    TILES,
    WORDS,
    Row,
    joined,
    line_layer,
    picture,
    position,
    shade_words,
    word,
    word_layer,
)
from pages.tile_layouts.charts.equation import equation_lines, pieces_at
from pages.tile_layouts.charts.frame import Frame, frame
from pages.tile_layouts.charts.marks import (
    MONOSPACE,
    arrow,
    bracket,
    operand_marks,
    outer_marks,
    result_marks,
    scale_color,
)
from pages.tile_layouts.charts.operand_lines import operand_lines
from pages.tile_layouts.charts.scene import Scene

WIDTH, HEIGHT, FLAT = 640, 580, 450
PIN, HOVER, PINNED = "pin", "hover", "pinned"
OUTER = "outer"
OUTPUT, DOT = "output", 7
LINKED = ["m0", "m1", "n0", "n1", "k0", "k1"]
CHARACTER = 7.2
_BELOW = 52
"""Pixels of the words below A and D."""


def picture_frame(scene: Scene, room: float = HEIGHT) -> Frame:
    """The places of the three operands in a picture as high as `room`."""
    top, gap = (30, 56) if room < FLAT else (34, 66)
    tall = room - top - gap - _BELOW
    down = {"top": top, "k_tall": 0.46 * tall, "m_tall": 0.54 * tall}
    return frame(scene.mnk, left=40, k_wide=262, n_wide=262, gap=(64, gap), **down)


def picture_marks(scene: Scene, place: Frame) -> Row:
    """Every rectangle of the big picture: the tiles of A and B, and the parts of D."""
    return joined([*(operand_marks(scene, place, side) for side in Side), result_marks(scene, place)])


def pinned_rows(
    scene: Scene, place: Frame, side: Side, row: int, column: int, output: tuple[int, int]
) -> list[Row]:
    """The data of the highlight: one row a panel, with its place and the m, n, k of the pinned tile.

    One more row is the element (m, n) of D whose sum is written out.
    """
    chosen = scene.tile(side, row, column)
    free = {"A": "m", "B": "n"}[side.value]
    held = {"m": None, "n": None, "k": chosen.k} | {free: chosen.free}
    pinned = {
        f"{dim}{end}": -1 if elements is None else (elements.start if end == 0 else elements.stop)
        for dim, elements in held.items()
        for end in (0, 1)
    }
    m, n = output
    element = _dot(place.d.box(range(m, m + 1), range(n, n + 1)))
    shown = (*place.panels, replace(place.d, name=OUTPUT))
    return [
        {
            "panel": p.name,
            "across": p.across,
            "down": p.down,
            "columns": max(p.columns, 1),
            "rows": max(p.rows, 1),
            "left": p.left,
            "right": p.right,
            "top": p.top,
            "bottom": p.bottom,
            **pinned,
            **element,
        }
        for p in shown
    ]


def _dot(box: Row) -> Row:
    """A small square in the middle of the box, for an element that may be too small to see."""
    middle = {axis: (float(box[f"{axis}0"]) + float(box[f"{axis}1"])) / 2 for axis in "xy"}
    return {f"{axis}{end}": at + (end - 0.5) * DOT for axis, at in middle.items() for end in (0, 1)}


def tile_picture(scene: Scene, place: Frame, pinned: list[Row], ink: Ink, room: float = HEIGHT) -> Filled:
    """The picture with the highlight of `pinned_rows`; the selection `pin` holds the clicked mark."""
    marks = picture_marks(scene, place)
    words = [
        *_axis_labels(scene, place, ink),
        *_operand_labels(scene, place, ink),
        *_corner(scene, room < FLAT, ink),
    ]
    return _picture(room, ink).filled(
        {
            TILES: marks,
            LINES: by_column(_edges(place, ink)),
            WORDS: by_column(words),
            PINNED: by_column(pinned),
            OUTER: joined([outer_marks(scene, place, side) for side in Side]),
        }
    )


@template
def _picture(height: float, ink: Ink) -> alt.LayerChart:
    layers = (_tiles(height, ink), *_highlight(ink), _outer_tiles(ink), line_layer(), word_layer())
    return picture(WIDTH, height, *layers, data=alt.NamedData(PINNED))


def _tiles(height: float, ink: Ink) -> alt.Chart:
    return (
        alt.Chart(alt.NamedData(TILES), name=TILES)
        .mark_rect(strokeWidth=1.5, cursor="pointer", invalid=None)
        .encode(
            **position(WIDTH, height),
            color=alt.when(NEUTRAL).then(alt.value(ink.panel)).otherwise(scale_color()),
            stroke=alt.value(ink.page),
            tooltip=[alt.Tooltip("what:N", title="elements"), alt.Tooltip("detail:N", title="scale")],
        )
        .add_params(
            alt.selection_point(
                name=PIN,
                on="click",
                toggle="true",
                clear=False,
                empty=False,
                fields=["side", "row", "column"],
            ),
            alt.selection_point(name=HOVER, on="pointerover", clear="pointerout", empty=False, fields=LINKED),
        )
    )


def _outer_tiles(ink: Ink) -> alt.Chart:
    """Outlines around the tiles that share an outer scale."""
    return (
        alt.Chart(alt.NamedData(OUTER))
        .mark_rect(fill=None, stroke=ink.text, strokeWidth=1.5, strokeDash=[5, 3], aria=False)
        .encode(x="x0:Q", x2="x1:Q", y="y0:Q", y2="y1:Q")
    )


def _band_expression(along: str, end: int, at: str, unit: str) -> str:
    """The start or end of the highlight along a panel's dim: of the hovered elements, else the pinned."""
    name = f"datum.{along} + '{end}'"
    chosen = f"(isArray({HOVER}[{name}]) ? {HOVER}[{name}][0] : datum[{name}])"
    start, stop = at.split("…")
    edge = start if end == 0 else stop
    return f"{chosen} < 0 ? {edge} : {start} + {chosen} * ({stop} - {start}) / {unit}"


def _highlight(ink: Ink) -> list[alt.Chart]:
    """Four veils and an outline a panel. Only their corners move, so the cost does not grow with tiles."""
    across, down = "datum.left…datum.right", "datum.top…datum.bottom"
    bands = (
        alt.Chart()
        .transform_filter(f"datum.panel != '{OUTPUT}'")
        .transform_calculate(
            bx0=_band_expression("across", 0, across, "datum.columns"),
            bx1=_band_expression("across", 1, across, "datum.columns"),
            by0=_band_expression("down", 0, down, "datum.rows"),
            by1=_band_expression("down", 1, down, "datum.rows"),
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


def _edges(p: Frame, ink: Ink) -> list[Row]:
    return [
        *arrow(p.a.left, p.a.top - 8, p.a.right, p.a.top - 8, ink.k),
        *bracket(p.a.left - 10, p.a.top, p.a.left - 10, p.a.bottom, ink.m),
        *bracket(p.b.left, p.b.top - 8, p.b.right, p.b.top - 8, ink.n),
        *arrow(p.b.left - 12, p.b.top, p.b.left - 12, p.b.bottom, ink.k),
    ]


def _axis_labels(scene: Scene, p: Frame, ink: Ink) -> list[Row]:
    """The dims with their axes of the layer, and how much of them is drawn."""
    matmul, sizes = scene.matmul, dict(zip("mnk", scene.matmul.mnk(scene.layer), strict=True))
    drawn, axes = dict(zip("mnk", scene.mnk, strict=True)), {"m": matmul.m, "n": matmul.n, "k": matmul.k}
    labels = []
    for dim, x, y, angle in (
        ("k", p.a.left, p.a.top - 21, 0),
        ("n", p.b.left, p.b.top - 21, 0),
        ("m", p.a.left - 26, (p.a.top + p.a.bottom) / 2, 270),
        ("k", p.b.left - 28, (p.b.top + p.b.bottom) / 2, 270),
    ):
        turn = {"align": "center" if angle else "left", "angle": angle, "fontSize": 14}
        name = f"{dim.upper()} = {axes[dim].value}"
        labels.append(word(x, y, name, ink.of(dim), fontWeight="bold", **turn))
        if not angle:
            all_of = drawn[dim] == sizes[dim]
            part = f"all {drawn[dim]:,} drawn" if all_of else f"{drawn[dim]:,} of {sizes[dim]:,} drawn"
            labels.append(word(x + p.a.width, y, part, ink.soft, narrow="", align="right", fontSize=13))
    return labels


def _operand_labels(scene: Scene, p: Frame, ink: Ink) -> list[Row]:
    """A line on each operand below its panel, and more on what is unusual."""
    labels = {
        p.a: operand_lines(scene, Side.A),
        p.b: operand_lines(scene, Side.B),
        p.d: [(f"D = {scene.matmul.d.value}, in {scene.spec.out.name}", f"D = {scene.matmul.d.value}")],
    }
    return [
        word(
            at.left,
            at.bottom + 14 + 15 * number,
            line,
            ink.soft if number else ink.text,
            narrow=narrow,
            fontSize=13,
        )
        for at, lines in labels.items()
        for number, (line, narrow) in enumerate(lines)
        if 14 + 15 * number < p.d.top - p.b.bottom - 8
    ]


def _corner(scene: Scene, is_flat: bool, ink: Ink) -> list[Row]:
    """The equation in the empty corner, each letter in its color; why the scales leave the sum."""
    top, step = (18, 20) if is_flat else (44, 24)
    words = [
        word(
            4,
            top + step * line,
            text,
            ink.scale if text in ("sA", "sB") else ink.of(dim),
            narrow="",
            dx=round(CHARACTER * (column + (2 if line else 0)), 1),
            fontSize=12,
            fontWeight="bold" if dim else "normal",
            font=MONOSPACE,
        )
        for line, pieces in enumerate(equation_lines(scene.spec))
        for column, text, dim in pieces_at(pieces)
        if text.strip()
    ]
    top += 3 * step + (4 if is_flat else 14)
    lines = leaves_words(scene.spec)
    words += [
        word(4, top + 18 * at, line, ink.text, n_y=44 + 18 * at, fontSize=14, fontWeight=weight)
        for at, (line, weight) in enumerate(zip(lines, ("bold", "normal", "normal"), strict=False))
    ]
    if scene.spec.quantized and not is_flat:
        words.append(word(4, top + 72, f"{shade_words(ink)},", ink.soft, n_y=116, fontSize=13))
        words.append(word(4, top + 89, "within one tensor", ink.soft, n_y=133, fontSize=13))
    return words


def leaves_words(spec: MatmulSpec) -> tuple[str, ...]:
    """Why the scales of a matmul leave the sum, in short lines."""
    if not spec.quantized:
        return ("There are no scales:", "both operands", "stay bf16.")
    both = len(spec.quantized) > 1
    holds, leave = ("Both scales stay", "they leave") if both else ("The scale stays", "it leaves")
    extents = spec.extents_along_k
    along = f"along K for {min(extents)} products:" if extents else "along all of K:"
    return (f"{holds} constant", along, f"{leave} the sum.")
