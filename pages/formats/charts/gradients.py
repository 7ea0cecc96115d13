"""Gradients against each format's window, under a loss scale 2^k."""

import math
from collections.abc import Mapping, Sequence

import altair as alt

from fp8core.formats.float_format import FloatFormat
from fp8core.formats.survival import Fates
from pages.formats.charts.words import percent
from pages.kit.charts.bars import histogram
from pages.kit.charts.ink import Ink
from pages.kit.charts.parts import tips
from pages.kit.charts.template import Filled, by_column, number, several, template
from pages.kit.charts.words import power_labels

_SLIDER = 40  # pixels of the slider above the picture
# Of a row: the highest bar, and the words above the window.
_FILL, _HEAD = 0.66, 0.3
ZERO, SUBNORMAL = "becomes zero", "subnormal: loses bits"
NORMAL, OVERFLOW = "normal: full precision", "overflows"
LOSS_SCALE = "k"
BARS, WINDOWS, FLOORS, SHARES = "bars", "windows", "floors", "shares"


def gradient_chart(
    formats: Mapping[str, FloatFormat],
    bins: Sequence[float],
    counts: Sequence[int],
    fates: Mapping[str, Sequence[Fates]],
    room: int,
    ink: Ink,
) -> Filled:
    """A histogram a format, bars colored by the gradients' fate; `fates` has one for each 2^k.

    `bins` are edges of log2 of the gradients, `counts` their numbers in each.
    """
    largest = min(map(len, fates.values())) - 1
    left, right = math.floor(bins[0]) - 1, math.ceil(bins[-1]) + largest
    bars, windows, shares = [], [], []
    for line, (title, format_) in enumerate(formats.items()):
        zero, normal = math.log2(format_.min_subnormal) - 1, math.log2(format_.min_normal)
        top = math.log2(format_.max)
        ends = {"zero": max(zero, left), "normal": max(normal, left), "top": min(top, right)}
        windows.append(
            {"y": line + _HEAD, "y2": line + 1, "begins": zero > left, "ends": top < right, **ends}
        )
        limits = {"zero": zero, "normal": normal, "top": math.log2(format_.max + format_.gap_beyond / 2)}
        bars += [
            {"format": title, "line": line + 1, "low": low, "high": high}
            | {"tall": _FILL * count / max(counts), "count": count, **limits}
            for low, high, count in zip(bins[:-1], bins[1:], counts, strict=True)
            if count
        ]
        shares += [
            {"y": line + 0.14, "k": k, "words": f"{title}: {_words(its)}"}
            for k, its in enumerate(fates[title])
        ]
    floors = [{"y": y + 1} for y in range(len(formats))]
    datasets = {BARS: bars, WINDOWS: windows, SHARES: shares, FLOORS: floors}
    return _chart(largest, ink).filled(
        {name: by_column(rows) for name, rows in datasets.items()},
        across=[left, right],
        lines=len(formats),
        height=room - _SLIDER,
    )


def _words(fates: Fates) -> str:
    words = f"{percent(fates.zero)} become 0, {percent(fates.subnormal)} lose bits"
    return f"{words}, {percent(fates.overflow)} overflow" if fates.overflow else words


@template
def _chart(largest: int, ink: Ink) -> alt.LayerChart:
    slider = alt.binding_range(min=0, max=largest, step=1, name="log2 of the loss scale ")
    across = alt.Scale(domain=several("across", [-40.0, 20.0]), nice=False)
    x = alt.X(
        "x0:Q",
        scale=across,
        axis=alt.Axis(labelExpr=power_labels("datum.value"), grid=False, labelOverlap=True, tickCount=10),
        title="size of the gradient × loss scale",
    )
    y = {"scale": alt.Scale(domain=[0, number("lines", 4)], reverse=True, nice=False), "axis": None}
    windows = alt.Chart(alt.NamedData(WINDOWS)).encode(y=alt.Y("y:Q", **y), y2="y2:Q")
    bands = [
        windows.mark_rect(color=color).encode(x=alt.X(f"{low}:Q", scale=across), x2=f"{high}:Q")
        for low, high, color in (("zero", "normal", ink.sub), ("normal", "top", ink.win))
    ]
    edges = [
        windows.transform_filter(f"datum.{there}")
        .mark_rule(color=ink.scale, **style)
        .encode(x=alt.X(f"{at}:Q", scale=across))
        for there, at, style in (
            ("begins", "zero", {"strokeWidth": 1.5, "strokeDash": [2, 3]}),
            ("ends", "top", {"strokeWidth": 2.5}),
        )
    ]
    floor = alt.Chart(alt.NamedData(FLOORS)).mark_rule(color=ink.line).encode(y=alt.Y("y:Q", **y))
    words = (
        alt.Chart(alt.NamedData(SHARES))
        .transform_filter("datum.k == k")
        .mark_text(align="left", baseline="middle", size=14, fontWeight="bold", color=ink.text)
        .encode(x=alt.value(0), y=alt.Y("y:Q", **y), text="words:N")
    )
    bars = _bars(ink).encode(x=x, x2="x1:Q", y=alt.Y("y0:Q", **y), y2="y1:Q")
    return (
        alt.layer(*bands, *edges, bars, floor, words, height=number("height", 480))
        .add_params(alt.param(name=LOSS_SCALE, value=0, bind=slider))
        .configure_axis(labelColor=ink.text, titleColor=ink.soft, titleFontWeight="normal")
        .configure_view(stroke=None)
    )


def _bars(ink: Ink) -> alt.Chart:
    middle = "(datum.low + datum.high) / 2 + k"
    fate = (
        f"{middle} < datum.zero ? '{ZERO}' : {middle} < datum.normal ? '{SUBNORMAL}' : "
        f"{middle} > datum.top ? '{OVERFLOW}' : '{NORMAL}'"
    )
    bins = alt.Chart(alt.NamedData(BARS)).transform_calculate(
        x0="datum.low + k", x1="datum.high + k", y0="datum.line", y1="datum.line - datum.tall", fate=fate
    )
    tooltip = tips(("format:N", "format"), ("fate:N", "these gradients"), ("count:Q", "how many"))
    lost = f"datum.fate == '{ZERO}' || datum.fate == '{OVERFLOW}'"
    return histogram(bins, tooltip, ink, lost=lost, less=f"datum.fate == '{SUBNORMAL}'", clip=True)
