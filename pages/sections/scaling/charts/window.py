"""Numbers against a format's window: their histogram, their fate, and the error of every scale.

All parts follow one selection, `pick`, which holds log2 of the scale. The slider sets it, and so does
dragging across the curves. None of that needs Python.
"""

import altair as alt

from pages.kit.charts.ink import Ink
from pages.kit.charts.legible import axis_title, view_title
from pages.kit.charts.template import Filled, several, template, text
from pages.sections.scaling.charts.curves import error_parts, sqnr_curve
from pages.sections.scaling.charts.scene import (
    AMAX,
    BIN,
    BINS,
    CURVE,
    HERE,
    NOW,
    SPANS,
    ZONES,
    WindowScene,
    powers_of_two,
)
from pages.sections.scaling.charts.stack import Figure, Spec, figures, panel, stack

TALL = 190
LABELS_ROOM = 1.5
NARROW = 0.16


def window_chart(scene: WindowScene, ink: Ink) -> Filled:
    """The picture: figures, histogram, curve of SQNR, parts of the error."""
    edges, (low, high) = scene.edges, scene.range
    spans = [
        (name, start, end, (start + end) / 2, end - start < NARROW * (edges.high - edges.low))
        for name, start, end in edges.spans
    ]
    named = dict(zip(("zone", "x0", "x1", "middle", "tall"), zip(*spans, strict=True), strict=True))
    middle = f"(datum.x0 + {BIN / 2})"
    return _window(ink).filled(
        {CURVE: scene.curve, BINS: scene.bins, AMAX: scene.amax, SPANS: named},
        start=scene.start,
        low=low,
        high=high,
        scales=[low, high],
        sqnr=[0.0, max(float(scene.curve["sqnr"].max()), 1.0) * LABELS_ROOM],
        scale_labels=powers_of_two(low, high),
        sizes=[edges.low, edges.high],
        size_labels=powers_of_two(edges.low, edges.high),
        shares=[0.0, float(scene.bins["share"].max(initial=0.0)) * LABELS_ROOM],
        given=axis_title(f"|x| / scale: what {scene.format_name} is given to hold"),
        title=view_title(f"Where the numbers land in the window of {scene.format_name}"),
        zone=f"{middle} <= {edges.zero} ? '{ZONES[0]}' : {middle} < {edges.normal} ? '{ZONES[1]}' : "
        f"{middle} <= {edges.beyond} ? '{ZONES[2]}' : '{ZONES[3]}'",
    )


@template
def _window(ink: Ink) -> Spec:
    shown = [
        Figure(place=0, name="'scale'", words=f"'2^' + format({NOW}, '~f')"),
        Figure(place=1, name="'become 0'", words="format(datum.dead, '.2%')"),
        Figure(place=2, name="'saturate'", words="format(datum.saturated, '.2%')"),
        Figure(place=3, name="'SQNR'", words="format(datum.sqnr, '.1f') + ' dB'"),
    ]
    head = figures(alt.NamedData(CURVE), HERE, shown, ink)
    return stack([head, _histogram(ink), sqnr_curve(ink), error_parts(ink)], ink)


def _histogram(ink: Ink) -> Spec:
    scale = alt.Scale(domain=several("sizes", [0.0, 1.0]), nice=False)
    x = alt.X(
        "x0:Q",
        title=text("given", "size"),
        scale=scale,
        axis=alt.Axis(labelExpr=text("size_labels", "datum.value"), tickMinStep=1, tickCount=10),
    )
    y = alt.Y("share:Q", scale=alt.Scale(domain=several("shares", [0.0, 1.0]), nice=False), axis=None)
    colors = alt.Scale(domain=ZONES, range=_zone_colors(ink))
    bars = (
        alt.Chart(alt.NamedData(BINS))
        .transform_calculate(x0=f"datum.left - {NOW}", x1=f"datum.x0 + {BIN}")
        .transform_calculate(zone=text("zone", "'normal'"))
        .mark_rect(clip=True, stroke=ink.page, strokeWidth=0.5)
        .encode(
            x=x, x2=alt.X2("x1:Q"), y=y, y2=alt.Y2Datum(0),
            color=alt.Color("zone:N", scale=colors, legend=None),
            tooltip=[
                alt.Tooltip("share:Q", title="share of the numbers", format=".2%"),
                alt.Tooltip("left:Q", title="log2 |x| from", format=".2f"),
                alt.Tooltip("x0:Q", title="log2 |x| / scale from", format=".2f"),
                alt.Tooltip("zone:N", title="here a number"),
            ],
        )
    )  # fmt: skip
    return panel(
        *_zones(ink, x, scale, colors),
        bars,
        height=TALL,
        title=text("title", "window"),
    )


def _zone_colors(ink: Ink) -> list[str]:
    return [ink.soft, ink.n, ink.scale, ink.lost]


def _zones(ink: Ink, x: alt.X, scale: alt.Scale, colors: alt.Scale) -> list[alt.Chart]:
    """The window itself: a tinted band, an edge and a name for each zone."""
    data = alt.NamedData(SPANS)
    color = alt.Color("zone:N", scale=colors, legend=None)
    across = alt.X("middle:Q", scale=scale)
    tint = alt.Chart(data).mark_rect(opacity=0.13, aria=False).encode(x=x, x2=alt.X2("x1:Q"), color=color)
    edge = (
        alt.Chart(data)
        .transform_filter(f"datum.zone !== '{ZONES[0]}'")
        .mark_rule(strokeDash=[3, 3], strokeWidth=1, color=ink.soft, aria=False)
        .encode(x=x)
    )
    names = [
        alt.Chart(data)
        .transform_filter(f"datum.tall === {str(tall).lower()}")
        .mark_text(
            fontSize=12, fontWeight="bold", angle=270 if tall else 0, align="right" if tall else "center",
            baseline="middle" if tall else "top", dy=0 if tall else 6, dx=-6 if tall else 0, aria=False,
        )
        .encode(x=across, y=alt.YValue(0), text=alt.Text("zone:N"), color=color)
        for tall in (False, True)
    ]  # fmt: skip
    return [tint, edge, *names]
