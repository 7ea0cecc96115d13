"""Numbers against a format's window: their histogram, their fate, and SQNR at every scale.

In the browser, all parts follow one parameter, `pick`: log2 of the scale. A handle on the numbers or on the
curve sets it.
"""

from collections.abc import Mapping, Sequence
from itertools import pairwise

import altair as alt
from numpy.typing import NDArray

from pages.kit.charts.bars import histogram
from pages.kit.charts.ink import Ink
from pages.kit.charts.legible import NARROW, axis_title
from pages.kit.charts.parts import beside, halo, rail, tips
from pages.kit.charts.template import Filled, Spec, number, several, template, text
from pages.kit.charts.words import power_labels

PICK = "pick"
# What a hand can drag beside the handle, and the rail of the curve.
NUMBERS, DECIBELS, ALONG_CURVE = "numbers", "decibels", "along"
CURVE, BINS, AMAX, SPANS = "curve", "bins", "amax", "spans"
STEP, BIN = 0.25, 0.25  # octaves from one scale to the next, and in a bar of the histogram
# So near the end of the axis, in pixels, the handle's words stand at its left.
LARGEST, RIGHT_END = "largest number", 125
ZONES = ["becomes 0", "subnormal", "normal", "saturates"]
Numbers = Mapping[str, NDArray]
# Vega expression: the row of the curve at the reader's scale.
HERE = f"abs(datum.s - {PICK}) < {STEP / 4}"
# In heights of the highest mark: its panel, and the room below 0, where the cursor's dot may lie.
LABELS_ROOM, BELOW = 1.6, 0.1
# Pixels of a letter of a zone's name. A zone narrower than its name has none.
LETTER = 8.5


def window_chart(
    name: str,
    edges: Sequence[float],
    bins: Numbers,
    curve: Numbers,
    amax: Numbers,
    largest: float,
    ink: Ink,
) -> Filled:
    """The histogram in the window of a format, then SQNR over the scale.

    - `edges`: log2 of |x| / scale at the axis' start, at each zone's end, at the axis' end.
    - `bins`: `left` edge (log2 |x|) and `share` of the numbers, all BIN wide.
    - `curve`: log2 scale `s`, `sqnr`, the shares `saturated` and `dead`, every STEP of s.
    - `amax`: the same for the amax scale. `largest`: log2 of amax.
    """
    left, zero, normal, beyond, right = edges
    low, high = float(curve["s"][0]), float(curve["s"][-1])
    best = max(float(curve["sqnr"].max()), 1.0)
    spans = {
        "zone": ZONES,
        "x0": edges[:-1],
        "x1": edges[1:],
        "wide": [(end - begin) / (right - left) for begin, end in pairwise(edges)],
        "words": ["", "fewer bits", f"The window of {name}", "clipped"],
    }
    middle = f"(datum.x0 + {BIN / 2})"
    return _window(ink).filled(
        {CURVE: curve, BINS: bins, AMAX: amax, SPANS: spans},
        low=low,
        high=high,
        scales=[low, high],
        sqnr=[-BELOW * best, best * LABELS_ROOM],
        right=f"datum.s > {(low + high) / 2}",
        sizes=[left, right],
        beyond=beyond,
        largest=f"{largest} - datum.s",
        crowded=f"datum.x0 > {right} - {RIGHT_END * (right - left)} / containerSize()[0]",
        shares=[0.0, float(bins["share"].max(initial=0.0)) * LABELS_ROOM],
        size=axis_title(f"number / scale, as {name} stores it"),
        zone=f"{middle} <= {zero} ? '{ZONES[0]}' : {middle} < {normal} ? '{ZONES[1]}' : "
        f"{middle} <= {beyond} ? '{ZONES[2]}' : '{ZONES[3]}'",
    )


@template
def _window(ink: Ink) -> Spec:
    low, high = number("low", 0.0), number("high", 1.0)
    bind = alt.binding_range(min=low, max=high, step=STEP, name="log2 of the scale ")
    pick = {"name": PICK, "value": 0, "bind": bind.to_dict()}
    return stack([_histogram(ink), _sqnr_curve(ink)], ink, pick)


def _histogram(ink: Ink) -> Spec:
    scale = alt.Scale(domain=several("sizes", [0.0, 1.0]), nice=False)
    x = alt.X(
        "x0:Q",
        title=text("size", "size"),
        scale=scale,
        axis=alt.Axis(labelExpr=power_labels("datum.value"), tickMinStep=1, tickCount=10, labelPadding=12),
    )
    shares = alt.Scale(domain=several("shares", [0.0, 1.0]), nice=False)
    y = alt.Y("share:Q", scale=shares, axis=None)
    bins = (
        alt.Chart(alt.NamedData(BINS))
        .transform_calculate(x0=f"datum.left - {PICK}", x1=f"datum.x0 + {BIN}")
        .transform_calculate(zone=text("zone", "'normal'"))
        .encode(x=x, x2=alt.X2("x1:Q"), y=y, y2=alt.Y2Datum(0))
    )
    tooltip = tips(
        ("share:Q", "share of the numbers", ".2%"),
        ("left:Q", "log2 |x| from", ".2f"),
        ("x0:Q", "log2 |x| / scale from", ".2f"),
        ("zone:N", "here a number"),
    )
    lost = f"datum.zone === '{ZONES[0]}' || datum.zone === '{ZONES[3]}'"
    bars = histogram(bins, tooltip, ink, lost=lost, less=f"datum.zone === '{ZONES[1]}'", clip=True)
    hand = alt.Chart(alt.NamedData(CURVE)).transform_calculate(
        at="datum.s",
        x0=text("largest", "0 - datum.s"),
        words="'scale 2^' + datum.s + ': ' + format(datum.dead, '.1%') + ' become 0, ' "
        "+ format(datum.saturated, '.1%') + ' saturate'",
    )
    style = {"dy": -16, "fontSize": 14, "fontWeight": "bold", "color": ink.text, **halo(ink)}
    names = [
        side.encode(x=x, y=alt.YDatum(0, scale=shares))
        for side in beside(
            hand.transform_filter(HERE), text("crowded", "false"), dx=18, text=LARGEST, **style
        )
    ]
    hand = rail(hand, x, alt.YDatum(0, scale=shares))
    return panel(*_zones(ink, x, scale), bars, *_fates(ink, scale), *names, hand, height=280, name=NUMBERS)


def _zones(ink: Ink, x: alt.X, scale: alt.Scale) -> list[alt.Chart]:
    spans = alt.Chart(alt.NamedData(SPANS))
    bands = alt.Scale(domain=ZONES, range=[ink.page, ink.sub, ink.win, ink.page])
    names = alt.Scale(domain=ZONES, range=[ink.soft, ink.soft, ink.scale, ink.soft])
    band = spans.mark_rect().encode(x=x, x2=alt.X2("x1:Q"), fill=alt.Fill("zone:N", scale=bands, legend=None))
    zero, largest = (
        spans.transform_filter(f"datum.zone === '{zone}'").mark_rule(color=ink.scale, **style).encode(x=x)
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
        .mark_text(fontSize=14, fontWeight="bold", align="left", baseline="top", dx=8)
        .encode(
            x=alt.X("x0:Q", scale=scale),
            y=alt.YValue(8),
            text=alt.Text("words:N"),
            color=alt.Color("zone:N", scale=names, legend=None),
        )
    )
    return [band, zero, largest, words]


def _fates(ink: Ink, scale: alt.Scale) -> list[alt.Chart]:
    here = alt.Chart(alt.NamedData(CURVE)).transform_filter(HERE)
    size = alt.ExprRef(f"containerSize()[0] < {NARROW} ? 22 : 34")
    style = {"align": "left", "baseline": "top", "color": ink.lost, "fontWeight": "bold", **halo(ink)}
    dead, over = (
        here.transform_filter(f"datum.{share} > 0").transform_calculate(
            words=f"0.9995 < datum.{share} && datum.{share} < 1 ? '>99.9%' : format(datum.{share}, '.3~p')"
        )
        for share in ("dead", "saturated")
    )
    at = alt.XDatum(number("beyond", 0.0), scale=scale)
    words = alt.Text("words:N")
    return [
        dead.mark_text(fontSize=size, **style).encode(x=alt.XValue(6), y=alt.YValue(6), text=words),
        dead.mark_text(fontSize=14, text="become 0", **style).encode(x=alt.XValue(7), y=alt.YValue(44)),
        over.mark_text(fontSize=16, dx=8, **style).encode(x=at, y=alt.YValue(28), text=words),
    ]


def _sqnr_curve(ink: Ink) -> Spec:
    data = alt.NamedData(CURVE)
    scale = alt.Scale(domain=several("sqnr", [0.0, 1.0]), nice=False)
    y = alt.Y("sqnr:Q", scale=scale, axis=alt.Axis(tickCount=4))
    x = _along(axis=alt.Axis(labelExpr=power_labels("datum.value"), tickMinStep=1, tickCount=8))
    line = alt.Chart(data).mark_line(color=ink.text, strokeWidth=2.5).encode(x=x, y=y)
    here = alt.Chart(data).transform_filter(HERE)
    dot = here.mark_point(filled=True, size=110, color=ink.text, opacity=1).encode(x=x, y=y)
    words = here.transform_calculate(words="format(datum.sqnr, '.1f') + ' dB'")
    bold = {"baseline": "top", "fontSize": 20, "fontWeight": "bold", "color": ink.text}
    decibels = [
        side.encode(x=x, y=alt.YValue(2), text=alt.Text("words:N"))
        for side in beside(words, text("right", "false"), **bold)
    ]
    amax = alt.Chart(alt.NamedData(AMAX))
    diamond = amax.mark_point(
        filled=True, shape="diamond", size=130, color=ink.scale, opacity=1, stroke=ink.page
    ).encode(x=x, y=y)
    name = amax.mark_text(
        dy=-14, align="left", color=ink.scale, fontWeight="bold", fontSize=13, text="amax scale", **halo(ink)
    ).encode(x=x, y=y)
    none = alt.Chart(alt.Data(values=[{"s": 0}]))
    one = none.mark_rule(color=ink.line).encode(x=x)
    one_name = none.mark_text(
        color=ink.soft, fontSize=13, align="left", dx=4, dy=-4, baseline="bottom", text="no scale"
    ).encode(x=x, y=alt.YDatum(0, scale=scale))
    cursor = (
        alt.Chart(alt.Data(values=[{}]))
        .transform_calculate(s=PICK)
        .mark_rule(color=ink.text, strokeWidth=1.5, strokeDash=[2, 3])
        .encode(x=x)
    )
    along = rail(alt.Chart(data).transform_calculate(at="datum.s", words="''"), x, y, ALONG_CURVE)
    layers = (one, line, one_name, cursor, diamond, name, dot, *decibels, _handles(), along)
    return panel(*layers, height=170, name=DECIBELS, title="SQNR (dB) at every scale")


def _along(field: str = "s:Q", **options: object) -> alt.X:
    scale = alt.Scale(domain=several("scales", [0.0, 1.0]), nice=False, padding=7)
    return alt.X(field, scale=scale, title="scale", **options)


def _handles() -> alt.Chart:
    return (
        alt.Chart(alt.NamedData(CURVE))
        .transform_calculate(
            s0=f"datum.s - {STEP / 2}", s1=f"datum.s + {STEP / 2}", scale="'2^' + format(datum.s, '~f')"
        )
        .mark_rect(opacity=0, aria=False)
        .encode(
            x=_along("s0:Q"),
            x2=alt.X2("s1:Q"),
            tooltip=tips(
                ("scale:N", "scale"),
                ("sqnr:Q", "SQNR (dB)", ".2f"),
                ("saturated:Q", "saturate", ".3%"),
                ("dead:Q", "become 0", ".3%"),
            ),
        )
    )


def panel(*layers: alt.Chart, height: int, title: str | None = None, name: str = "") -> Spec:
    """Layers as a spec: Altair's own `layer` would copy and check all layers once for each.

    A hand drags a panel with a `name`.
    """
    units = [layer.to_dict(validate=False) for layer in layers]
    for unit in units:
        del unit["$schema"], unit["config"]
        if name:
            unit["mark"] |= {"cursor": "ew-resize"}
    view = {"name": name, "view": {"cursor": "ew-resize"}} if name else {}
    return {"layer": units, "height": height} | view | ({"title": title} if title else {})


def stack(panels: Sequence[Spec], ink: Ink, param: Spec) -> Spec:
    """Panels one below the other, their vertical axes inside."""
    bold = {"fontSize": 13, "fontWeight": "bold"}
    return {
        "params": [param],
        "vconcat": list(panels),
        "spacing": 8,
        "resolve": {"scale": {"color": "independent"}},
        "config": {
            "view": {"stroke": None},
            "axis": {f"{part}Color": ink.soft for part in ("label", "title")}
            | {f"{part}Color": ink.line for part in ("tick", "domain")},
            "axisX": {"grid": False, "labelFlush": 20, "titlePadding": 4, "labelPadding": 3},
            "axisY": {
                "grid": True,
                "gridColor": ink.line,
                "gridOpacity": 0.35,
                "domain": False,
                "ticks": False,
                "labelAlign": "left",
                "labelBaseline": "bottom",
                "labelPadding": -2,
                "labelOffset": -1,
                "title": None,
            },
            "title": {"color": ink.text, "anchor": "start", "offset": 4, **bold},
        },
    }
