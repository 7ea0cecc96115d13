"""The big picture: A left, B above, D in the corner, every tile coloured by its scale, linked along m, n, k."""

import altair as alt

from fp8core.linear import Side
from fp8core.tiles import WHOLE
from pages.charts.equation import equation_lines, pieces_at
from pages.charts.frame import Frame, Row, frame
from pages.charts.ink import Ink
from pages.charts.scene import Scene
from pages.charts.tile_marks import (
    MONOSPACE,
    axis_words,
    bracket,
    operand_rows,
    position,
    result_rows,
    rule_layer,
    scale_color,
    scale_domain,
    scale_legend,
    text_layers,
)
from pages.charts.words import count, tile

WIDTH, HEIGHT = 560, 540
PIN, HOVER = "pin", "hover"
LINKED = ["m0", "m1", "n0", "n1", "k0", "k1"]
CHARACTER = 7.2


def picture_frame(scene: Scene) -> Frame:
    """Where the three operands lie in the big picture."""
    return frame(
        scene.mnk, left=44, top=44, k_wide=226, n_wide=226, k_tall=176, m_tall=224, gap=(56, 60)
    )


def picture_rows(scene: Scene) -> list[Row]:
    """Every rectangle of the big picture: the tiles of A and B, and the parts of D."""
    place = picture_frame(scene)
    operands = [row for side in Side for row in operand_rows(scene, place, side)]
    return [*operands, *result_rows(scene, place)]


def pinned_rows(scene: Scene, side: Side, row: int, column: int) -> list[Row]:
    """The data of the highlight: one row a panel, with its place and the m, n, k of the pinned tile."""
    place, chosen = picture_frame(scene), scene.tile(side, row, column)
    free = {"A": "m", "B": "n"}[side.value]
    held = {"m": None, "n": None, "k": chosen.k} | {free: chosen.free}
    pinned = {
        f"{dim}{end}": -1 if elements is None else (elements.start if end == 0 else elements.stop)
        for dim, elements in held.items()
        for end in (0, 1)
    }
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
        }
        for p in place.panels
    ]


def tile_picture(scene: Scene, ink: Ink) -> alt.LayerChart:
    """The picture. Its own data, given when it is drawn, are `pinned_rows`; `pin` holds what was clicked."""
    rows = picture_rows(scene)
    return (
        alt.layer(
            _tiles(rows, ink),
            *_highlight(ink),
            rule_layer(_brackets(scene, ink)),
            *text_layers([*_axis_labels(scene, ink), *_operand_labels(scene, ink), *_equation(scene, ink)]),
            data=alt.Data(name="pinned"),
            width=WIDTH,
            height=HEIGHT,
        )
        .configure_view(stroke=None)
        .configure_axis(grid=False)
    )


def _tiles(rows: list[Row], ink: Ink) -> alt.Chart:
    domain = scale_domain(rows)
    color = scale_color(domain, scale_legend(domain, ink, legendX=4, legendY=174))
    tooltip = [alt.Tooltip("what:N", title="elements"), alt.Tooltip("detail:N", title="scale")]
    return (
        alt.Chart(alt.Data(values=rows), name="tiles")
        .mark_rect(strokeWidth=1, cursor="pointer", invalid=None)
        .encode(
            **position(WIDTH, HEIGHT),
            color=alt.when("datum.side == 'D'").then(alt.value(ink.panel)).otherwise(color),
            stroke=alt.when("datum.side == 'D'").then(alt.value(ink.line)).otherwise(alt.value(ink.page)),
            tooltip=tooltip,
        )
        .add_params(
            alt.selection_point(
                name=PIN, on="click", toggle="true", clear=False, empty=False, fields=["side", "row", "column"]
            ),
            alt.selection_point(
                name=HOVER, on="pointerover", clear="pointerout", empty=False, fields=LINKED
            ),
        )
    )


def _band_expression(along: str, end: int, at: str, unit: str) -> str:
    """Where the highlight starts or ends along a panel's dim: the hovered elements, else the pinned, else all."""
    name = f"datum.{along} + '{end}'"
    chosen = f"(isArray({HOVER}[{name}]) ? {HOVER}[{name}][0] : datum[{name}])"
    start, stop = at.split("…")
    edge = start if end == 0 else stop
    return f"{chosen} < 0 ? {edge} : {start} + {chosen} * ({stop} - {start}) / {unit}"


def _highlight(ink: Ink) -> list[alt.Chart]:
    """Four veils and an outline in each panel, whose corners alone move: the cost does not grow with tiles."""
    across, down = "datum.left…datum.right", "datum.top…datum.bottom"
    bands = (
        alt.Chart()
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
    return [*veils, outline]


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
        ("m", p.a.left - 34, (p.a.top + p.a.bottom) / 2, 270),
        ("k", p.b.left - 34, (p.b.top + p.b.bottom) / 2, 270),
    ):
        name, note = axis_words(scene.matmul, dim, drawn[dim], sizes[dim])
        step = (0, 14) if angle == 0 else (14, 0)
        place = {"align": "center", "angle": angle}
        labels.append({"x": x, "y": y, "text": name, "color": ink.of(dim), "weight": "bold", "size": 12, **place})
        labels.append({"x": x + step[0], "y": y + step[1], "text": note, "color": ink.soft, **place})
    return labels


def _operand_labels(scene: Scene, ink: Ink) -> list[Row]:
    p, spec = picture_frame(scene), scene.spec
    a = f"A = {scene.matmul.symbol(Side.A)} · {spec.a.format.name} · tiles {tile(spec.a.tile.mn, spec.a.tile.k)}"
    b = f"B = {scene.matmul.symbol(Side.B)} · {spec.b.format.name} · tiles {tile(spec.b.tile.k, spec.b.tile.mn)}"
    d = f"D = {scene.matmul.d.value} · {spec.out.name}"
    place = {"align": "center", "color": ink.text, "size": 11.5}
    return [
        {"x": (p.a.left + p.a.right) / 2, "y": p.a.bottom + 16, "text": a, **place},
        {"x": (p.b.left + p.b.right) / 2, "y": p.b.bottom + 16, "text": b, **place},
        {"x": (p.d.left + p.d.right) / 2, "y": p.d.bottom + 16, "text": d, **place},
    ]


def _equation(scene: Scene, ink: Ink) -> list[Row]:
    """The equation in the empty corner, each letter in the colour of its dim, and what its two sums mean."""
    words = [
        {
            "x": 4,
            "y": 52 + 24 * line,
            "text": text,
            "color": ink.of(dim),
            "dx": round(CHARACTER * (column + (2 if line else 0)), 1),
            "size": 12,
            "weight": "bold" if dim else "normal",
            "font": MONOSPACE,
        }
        for line, pieces in enumerate(equation_lines(scene.spec))
        for column, text, dim in pieces_at(pieces)
        if text.strip()
    ]
    extents = [e for e in (scene.spec.a.tile.k, scene.spec.b.tile.k) if e is not WHOLE]
    stretch = f"after every {count(min(extents), 'k')}" if extents else "once, after the sum"
    notes = ("Σ over k: the tensor core adds codes.", f"sA·sB: the scales, {stretch.replace(' ks', ' k')}.")
    words += [
        {"x": 4, "y": 130 + 16 * line, "text": note, "color": ink.soft} for line, note in enumerate(notes)
    ]
    return words
