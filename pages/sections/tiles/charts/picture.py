"""The big picture: A left, B above, D in the corner, tiles colored by scale, linked along m, n, k."""

from dataclasses import replace

import altair as alt

from fp8core.linear import Side
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
    scale_domain,
    word,
    word_layer,
)
from pages.sections.tiles.charts.equation import equation_lines, pieces_at
from pages.sections.tiles.charts.frame import Frame, frame
from pages.sections.tiles.charts.marks import (
    MONOSPACE,
    axis_words,
    bracket,
    operand_marks,
    outer_marks,
    result_marks,
    scale_color,
    scale_legend,
    scale_ticks,
)
from pages.sections.tiles.charts.operand_lines import operand_lines
from pages.sections.tiles.charts.scene import Scene

WIDTH, HEIGHT = 560, 562
PIN, HOVER, PINNED = "pin", "hover", "pinned"
OUTER = "outer"
OUTPUT, DOT = "output", 7
LINKED = ["m0", "m1", "n0", "n1", "k0", "k1"]
CHARACTER = 7.2
LINE = 14


def picture_frame(scene: Scene) -> Frame:
    """The places of the three operands in the big picture."""
    return frame(scene.mnk, left=44, top=44, k_wide=226, n_wide=226, k_tall=176, m_tall=224, gap=(56, 60))


def picture_marks(scene: Scene) -> Row:
    """Every rectangle of the big picture: the tiles of A and B, and the parts of D."""
    place = picture_frame(scene)
    return joined([*(operand_marks(scene, place, side) for side in Side), result_marks(scene, place)])


def pinned_rows(scene: Scene, side: Side, row: int, column: int, output: tuple[int, int]) -> list[Row]:
    """The data of the highlight: one row a panel, with its place and the m, n, k of the pinned tile.

    One more row is the element (m, n) of D whose sum is written out.
    """
    place, chosen = picture_frame(scene), scene.tile(side, row, column)
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


def tile_picture(scene: Scene, pinned: list[Row], ink: Ink) -> Filled:
    """The picture with the highlight of `pinned_rows`; the selection `pin` holds the clicked mark."""
    marks = picture_marks(scene)
    words = [*_axis_labels(scene, ink), *_operand_labels(scene, ink), *_equation(scene, ink)]
    domain = scale_domain(marks["log2"])
    return _picture(ink).filled(
        {
            TILES: marks,
            LINES: by_column(_brackets(scene, ink)),
            WORDS: by_column(words),
            PINNED: by_column(pinned),
            OUTER: joined([outer_marks(scene, picture_frame(scene), side) for side in Side]),
        },
        domain=domain,
        **scale_ticks(domain),
    )


@template
def _picture(ink: Ink) -> alt.LayerChart:
    layers = (_tiles(ink), *_highlight(ink), _outer_tiles(ink), line_layer(), word_layer())
    return picture(WIDTH, HEIGHT, *layers, data=alt.NamedData(PINNED))


def _tiles(ink: Ink) -> alt.Chart:
    corner = {"legendX": f"4 * width / {WIDTH}", "legendY": f"166 * height / {HEIGHT}"}
    place = {side: alt.ExprRef(at) for side, at in corner.items()}
    color = scale_color(scale_legend(ink, **place))
    return (
        alt.Chart(alt.NamedData(TILES), name=TILES)
        .mark_rect(strokeWidth=1, cursor="pointer", invalid=None)
        .encode(
            **position(WIDTH, HEIGHT),
            color=alt.when(NEUTRAL).then(alt.value(ink.panel)).otherwise(color),
            stroke=alt.when(NEUTRAL).then(alt.value(ink.line)).otherwise(alt.value(ink.page)),
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
    veils = [
        bands.mark_rect(fill=ink.page, fillOpacity=0.5, aria=False).encode(
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


def _brackets(scene: Scene, ink: Ink) -> list[Row]:
    p = picture_frame(scene)
    return [
        *bracket(p.a.left, p.a.top - 10, p.a.right, p.a.top - 10, ink.k),
        *bracket(p.a.left - 10, p.a.top, p.a.left - 10, p.a.bottom, ink.m),
        *bracket(p.b.left, p.b.top - 10, p.b.right, p.b.top - 10, ink.n),
        *bracket(p.b.left - 10, p.b.top, p.b.left - 10, p.b.bottom, ink.k),
    ]


def _axis_labels(scene: Scene, ink: Ink) -> list[Row]:
    p, sizes = picture_frame(scene), dict(zip("mnk", scene.matmul.mnk(scene.layer), strict=True))
    drawn = dict(zip("mnk", scene.mnk, strict=True))
    labels = []
    for dim, x, y, angle in (
        ("k", (p.a.left + p.a.right) / 2, p.a.top - 34, 0),
        ("n", (p.b.left + p.b.right) / 2, p.b.top - 34, 0),
        ("m", p.a.left - 37, (p.a.top + p.a.bottom) / 2, 270),
        ("k", p.b.left - 37, (p.b.top + p.b.bottom) / 2, 270),
    ):
        name, remark = axis_words(scene.matmul, dim, drawn[dim], sizes[dim])
        across, down = (0, 14) if angle == 0 else (16, 0)
        turn = {"align": "center", "angle": angle}
        labels.append(word(x, y, name, ink.of(dim), fontWeight="bold", fontSize=12, **turn))
        labels.append(word(x + across, y + down, remark, ink.soft, **turn))
    return labels


def _operand_labels(scene: Scene, ink: Ink) -> list[Row]:
    """A line on each operand below its panel, and more on what is unusual."""
    p = picture_frame(scene)
    labels = {
        p.a: operand_lines(scene, Side.A),
        p.b: operand_lines(scene, Side.B),
        p.d: [f"D = {scene.matmul.d.value} · {scene.spec.out.name}"],
    }
    words = []
    for at, lines in labels.items():
        for number, line in enumerate(lines):
            color, size = (ink.soft, 11) if number else (ink.text, 11.5)
            x, y = (at.left + at.right) / 2, at.bottom + 16 + LINE * number
            words.append(word(x, y, line, color, align="center", fontSize=size))
    return words


def _equation(scene: Scene, ink: Ink) -> list[Row]:
    """The equation in the empty corner, each letter in the color of its dim, and the meaning of its
    two sums.
    """
    words = [
        word(
            4,
            52 + 24 * line,
            text,
            ink.of(dim),
            dx=round(CHARACTER * (column + (2 if line else 0)), 1),
            fontSize=12,
            fontWeight="bold" if dim else "normal",
            font=MONOSPACE,
        )
        for line, pieces in enumerate(equation_lines(scene.spec))
        for column, text, dim in pieces_at(pieces)
        if text.strip()
    ]
    spec, extents = scene.spec, scene.spec.extents_along_k
    when = f"after every {min(extents)} k" if extents else "once, after the sum"
    scales = "·".join(f"s{side.value}" for side in Side if spec.operand(side))
    remarks = (
        f"Σ over k: the tensor core adds {'codes' if len(spec.quantized) > 1 else 'bf16 products'}.",
        f"{scales}: the scales, {when}." if scales else "There are no scales.",
    )
    return words + [word(4, 130 + 16 * line, text, ink.soft) for line, text in enumerate(remarks)]
