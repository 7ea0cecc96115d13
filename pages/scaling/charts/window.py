"""Numbers against a format's window: their histogram, their fate, and SQNR at every scale.

All parts follow one selection, `pick`, which holds log2 of the scale. The slider sets it, and so does
dragging across the curve. None of that needs Python.
"""

import altair as alt

from pages.kit.charts.bars import histogram
from pages.kit.charts.ink import Ink
from pages.kit.charts.legible import NARROW, axis_title
from pages.kit.charts.template import Filled, number, several, template, text
from pages.scaling.charts.curves import sqnr_curve
from pages.scaling.charts.scene import (
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
from pages.scaling.charts.stack import Spec, panel, stack

TALL = 280
LABELS_ROOM, BELOW = 1.6, 0.1
"""Of the highest mark: the height of its panel, and the room below 0, where the cursor's dot may lie."""
LETTER = 8.5
"""Pixels of a letter of a zone's name. A zone that is narrower than its name has none."""


def window_chart(scene: WindowScene, ink: Ink) -> Filled:
    """The picture: the histogram in its window, then SQNR over the scale."""
    edges, (low, high) = scene.edges, scene.range
    words = ("", "fewer bits", f"The window of {scene.format_name}", "clipped")
    across = edges.high - edges.low
    best = max(float(scene.curve["sqnr"].max()), 1.0)
    spans = [
        (zone, start, end, (end - start) / across, word)
        for (zone, start, end), word in zip(edges.spans, words, strict=True)
    ]
    named = dict(zip(("zone", "x0", "x1", "wide", "words"), zip(*spans, strict=True), strict=True))
    middle = f"(datum.x0 + {BIN / 2})"
    return _window(ink).filled(
        {CURVE: scene.curve, BINS: scene.bins, AMAX: scene.amax, SPANS: named},
        start=scene.start,
        low=low,
        high=high,
        scales=[low, high],
        sqnr=[-BELOW * best, best * LABELS_ROOM],
        scale_labels=powers_of_two(low, high),
        right=f"datum.s > {(low + high) / 2}",
        sizes=[edges.low, edges.high],
        size_labels=powers_of_two(edges.low, edges.high),
        beyond=edges.beyond,
        shares=[0.0, float(scene.bins["share"].max(initial=0.0)) * LABELS_ROOM],
        given=axis_title(f"number / scale, as {scene.format_name} stores it"),
        zone=f"{middle} <= {edges.zero} ? '{ZONES[0]}' : {middle} < {edges.normal} ? '{ZONES[1]}' : "
        f"{middle} <= {edges.beyond} ? '{ZONES[2]}' : '{ZONES[3]}'",
    )


@template
def _window(ink: Ink) -> Spec:
    return stack([_histogram(ink), sqnr_curve(ink)], ink)


def _histogram(ink: Ink) -> Spec:
    scale = alt.Scale(domain=several("sizes", [0.0, 1.0]), nice=False)
    x = alt.X(
        "x0:Q",
        title=text("given", "size"),
        scale=scale,
        axis=alt.Axis(labelExpr=text("size_labels", "datum.value"), tickMinStep=1, tickCount=10),
    )
    y = alt.Y("share:Q", scale=alt.Scale(domain=several("shares", [0.0, 1.0]), nice=False), axis=None)
    bins = (
        alt.Chart(alt.NamedData(BINS))
        .transform_calculate(x0=f"datum.left - {NOW}", x1=f"datum.x0 + {BIN}")
        .transform_calculate(zone=text("zone", "'normal'"))
        .encode(x=x, x2=alt.X2("x1:Q"), y=y, y2=alt.Y2Datum(0))
    )
    tooltip = [
        alt.Tooltip("share:Q", title="share of the numbers", format=".2%"),
        alt.Tooltip("left:Q", title="log2 |x| from", format=".2f"),
        alt.Tooltip("x0:Q", title="log2 |x| / scale from", format=".2f"),
        alt.Tooltip("zone:N", title="here a number"),
    ]
    lost = f"datum.zone === '{ZONES[0]}' || datum.zone === '{ZONES[3]}'"
    bars = histogram(bins, tooltip, ink, lost=lost, less=f"datum.zone === '{ZONES[1]}'", clip=True)
    return panel(*_zones(ink, x, scale), bars, *_fates(ink, scale), height=TALL)


def _zones(ink: Ink, x: alt.X, scale: alt.Scale) -> list[alt.Chart]:
    """The window itself: a band and a name for each zone, and the two edges."""
    spans = alt.Chart(alt.NamedData(SPANS))
    bands = alt.Scale(domain=ZONES, range=[ink.page, ink.sub, ink.win, ink.page])
    names = alt.Scale(domain=ZONES, range=[ink.soft, ink.soft, ink.scale, ink.soft])
    band = spans.mark_rect(aria=False).encode(
        x=x, x2=alt.X2("x1:Q"), fill=alt.Fill("zone:N", scale=bands, legend=None)
    )
    zero, largest = (
        spans.transform_filter(f"datum.zone === '{zone}'")
        .mark_rule(color=ink.scale, aria=False, **style)
        .encode(x=x)
        for zone, style in (
            (ZONES[1], {"strokeWidth": 1.5, "strokeDash": [2, 3]}),
            (ZONES[3], {"strokeWidth": 2.5}),
        )
    )
    words = (
        spans.transform_calculate(room=f"datum.wide * containerSize()[0] / {LETTER}")
        .transform_calculate(
            words=f"length(datum.words) < datum.room || datum.zone !== '{ZONES[2]}' ? datum.words : 'window'"
        )
        .transform_filter("length(datum.words) < datum.room")
        .mark_text(fontSize=14, fontWeight="bold", align="left", baseline="top", dx=8, aria=False)
        .encode(
            x=alt.X("x0:Q", scale=scale),
            y=alt.YValue(8),
            text=alt.Text("words:N"),
            color=alt.Color("zone:N", scale=names, legend=None),
        )
    )
    return [band, zero, largest, words]


def _fates(ink: Ink, scale: alt.Scale) -> list[alt.Chart]:
    """The two shares that are lost, each beside its edge."""
    here = alt.Chart(alt.NamedData(CURVE)).transform_filter(HERE)
    size = alt.ExprRef(f"containerSize()[0] < {NARROW} ? 22 : 34")
    style = {"align": "left", "baseline": "top", "color": ink.lost, "fontWeight": "bold", "aria": False}
    dead, clipped = (
        here.transform_filter(f"datum.{share} > 0").transform_calculate(
            words=f"0.9995 < datum.{share} && datum.{share} < 1 ? '>99.9%' : format(datum.{share}, '.3~p')"
        )
        for share in ("dead", "saturated")
    )
    at = alt.XDatum(number("beyond", 0.0), scale=scale)
    return [
        dead.mark_text(fontSize=size, **style).encode(
            x=alt.XValue(6), y=alt.YValue(6), text=alt.Text("words:N")
        ),
        dead.mark_text(fontSize=14, text="become 0", **style).encode(x=alt.XValue(7), y=alt.YValue(44)),
        clipped.mark_text(fontSize=16, dx=8, **style).encode(
            x=at, y=alt.YValue(28), text=alt.Text("words:N")
        ),
    ]
