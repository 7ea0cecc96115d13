"""SQNR over the crest factor, a line a recipe; and distributions of real tensors."""

import math
from collections.abc import Mapping, Sequence

import altair as alt

from fp8core.experiments.error_curves import Draws
from pages.kit.charts.curves import Series, line
from pages.kit.charts.ink import Ink
from pages.kit.charts.parts import dressed, spread, tips
from pages.kit.charts.recipe_marks import Mark
from pages.kit.charts.template import Filled, by_column, several, template

POINTS, NAMES = "points", "names"
TALL = 300
_LABEL = 112  # pixels at the right for the names of the lines
_APART = 0.085  # the least distance of two names, as a share of the axis


def draws_chart(curves: Mapping[str, Sequence[Draws]], marks: Mapping[str, Mark], ink: Ink) -> Filled:
    """Every curve over a logarithmic axis, its name at its end."""
    points = [
        {"who": name, "color": marks[name].color, "shape": marks[name].shape}
        | {field: getattr(draws, field) for field in ("at", "mean", "low", "high", "bits")}
        for name, every in curves.items()
        for draws in every
        if has_error(draws)
    ]
    at, errors = [row["at"] for row in points], [row[end] for row in points for end in ("low", "high")]
    low, high = min(errors) - 1, max(errors) + 1
    last = {row["who"]: row for row in points}
    means, least = [row["mean"] - low for row in last.values()], _APART * (high - low)
    heights = spread(means, [least] * len(last), high - low)
    names = {"who": list(last), "height": [low + height for height in heights]}
    return _draws(ink).filled(
        {POINTS: by_column(points), NAMES: names},
        span=[min(at), max(at)],
        errors=[low, high],
    )


def has_error(draws: Draws) -> bool:
    """True if every draw has an error; no error has no place on an axis of decibels."""
    return math.isfinite(draws.high)


@template
def _draws(ink: Ink) -> alt.LayerChart:
    x = alt.X(
        "at:Q",
        title="crest factor of the tensor: largest |x| over rms",
        scale=alt.Scale(
            type="log",
            base=2,
            nice=False,
            domain=several("span", [1.0, 64.0]),
            range=[14, alt.ExprRef(f"width - {_LABEL}")],
        ),
        axis=alt.Axis(
            values=[1 << power for power in range(15)], format=",d", grid=False, labelOverlap="greedy"
        ),
    )
    y = alt.Y(
        "mean:Q",
        title="SQNR (dB)",
        scale=alt.Scale(domain=several("errors", [0.0, 40.0]), nice=False, zero=False),
    )
    tooltip = tips(
        ("who:N", "recipe"),
        ("at:Q", "at", ".3~g"),
        ("mean:Q", "mean SQNR (dB)", ".2f"),
        ("low:Q", "worst draw (dB)", ".2f"),
        ("high:Q", "best draw (dB)", ".2f"),
        ("bits:Q", "bits per element", ".3~f"),
    )
    color, shape = alt.Color("color:N", scale=None), alt.Shape("shape:N", scale=None)
    base = alt.Chart(alt.NamedData(POINTS)).encode(x=x, color=color, detail="who:N")
    names = alt.Chart(alt.NamedData(NAMES)).mark_text(
        align="left", x=alt.ExprRef(f"width - {_LABEL - 12}"), fontSize=14, color=ink.text
    )
    layers = [
        base.mark_line(strokeWidth=2.5).encode(y=y),
        base.mark_rule(strokeWidth=4, opacity=0.55).encode(y=alt.Y("low:Q"), y2="high:Q"),
        base.mark_point(size=80, filled=True, opacity=1).encode(y=y, shape=shape, tooltip=tooltip),
        names.encode(y=alt.Y("height:Q"), text="who:N"),
    ]
    return dressed(alt.layer(*layers, height=TALL), ink)


_FAR = 20.0  # octaves below the rms, the end of the axis


def shapes_chart(shares: Mapping[str, Mapping[float, float]], ink: Ink) -> Filled:
    """A line a tensor, the last one a law; shares by the middles of bins, in octaves."""
    rows = [(name, at, share) for name, bins in shares.items() for at, share in sorted(bins.items())]
    columns = dict(zip(("who", "at", "share"), map(list, zip(*rows, strict=True)), strict=True))
    span = [max(min(columns["at"]), -_FAR), max(columns["at"]) + 1]
    return _shapes(ink).filled({POINTS: columns}, names=list(shares), span=span)


@template
def _shapes(ink: Ink) -> alt.LayerChart:
    legend = alt.Legend(orient="top", columns=4, labelLimit=300, labelColor=ink.text, symbolSize=140)
    series = Series(
        names=several("names", ["w, weights"]),
        colors=[ink.text, ink.series[4], ink.series[10], ink.mid],
        dashes=[[1, 0], [7, 3], [3, 2], [2, 2]],
        legend=legend,
    )
    lines = alt.Chart(alt.NamedData(POINTS)).encode(
        x=alt.X(
            "at:Q",
            title="log2 of |v| over the rms of its tensor",
            scale=alt.Scale(domain=several("span", [-20.0, 8.0]), nice=False),
            axis=alt.Axis(tickMinStep=1, tickCount=10, grid=False),
        ),
        y=alt.Y("share:Q", title="share of the elements", axis=alt.Axis(format="~%", tickCount=5)),
    )
    points = lines.mark_point(size=40, opacity=0, clip=True).encode(
        color=series.color(),
        tooltip=tips(("who:N", "tensor"), ("at:Q", "octaves from rms", "+.2f"), ("share:Q", "share", ".3%")),
    )
    return dressed(alt.layer(line(lines, series, clip=True), points, height=TALL), ink)
