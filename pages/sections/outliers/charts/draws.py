"""SQNR against one property, a line a recipe: the mean of the draws, and a bar from the worst to the best."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import altair as alt

from fp8core.experiments.error_curves import Draws
from pages.kit.charts.finish import color_range, dressed, shape_range
from pages.kit.charts.ink import Ink
from pages.kit.charts.legible import axis_title
from pages.kit.charts.template import Filled, by_column, number, several, template, text

POINTS, OWN = "points", "own"
TALL, AROUND, LEGEND_LINE = 300, 70, 26
_MANY = 12
_LONG = "a recipe with a long title"
"""A legend has as many columns as names of this length fit into the width."""


@dataclass(frozen=True, kw_only=True)
class Curve:
    """The points of one recipe, and the one of its own tile, if it is to be marked."""

    name: str
    points: tuple[Draws, ...]
    own: Draws | None = None


def draws_chart(curves: Sequence[Curve], axis: str, ink: Ink) -> Filled:
    """Every curve over a logarithmic axis."""
    points = [_row(curve.name, draws) for curve in curves for draws in curve.points if has_error(draws)]
    own = [_row(curve.name, curve.own) for curve in curves if curve.own and has_error(curve.own)]
    every = points + own
    at, errors = [row["at"] for row in every], [row[end] for row in every for end in ("low", "high")]
    names = [curve.name for curve in curves]
    datasets = {POINTS: by_column(points)} | ({OWN: by_column(own)} if own else {})
    return _template(bool(own), ink).filled(
        datasets,
        names=names,
        span=[min(at), max(at)],
        errors=[min(errors) - 1, max(errors) + 1],
        axis=axis_title(axis),
        height=TALL + AROUND + LEGEND_LINE * len(names),
    )


def has_error(draws: Draws) -> bool:
    """True where every draw has an error; others have no place on an axis of decibels."""
    return math.isfinite(draws.high)


def _row(name: str, draws: Draws) -> dict[str, object]:
    return {
        "who": name,
        "at": draws.at,
        "mean": draws.mean,
        "low": draws.low,
        "high": draws.high,
        "bits": draws.bits,
        "draws": len(draws.sqnr_db),
    }


@template
def _template(has_own: bool, ink: Ink) -> alt.LayerChart:
    x = alt.X(
        "at:Q",
        title=text("axis", "crest factor"),
        scale=alt.Scale(type="log", base=2, nice=False, padding=14, domain=several("span", [1.0, 64.0])),
        axis=alt.Axis(
            values=[1 << power for power in range(15)], format=",d", grid=False, labelOverlap="greedy"
        ),
    )
    y = alt.Y(
        "mean:Q",
        title="SQNR (dB)",
        scale=alt.Scale(domain=several("errors", [0.0, 40.0]), nice=False, zero=False),
    )
    names = several("names", [_LONG])
    legend = alt.Legend(orient="bottom", columns=4, labelLimit=300, labelColor=ink.text, symbolSize=100)
    color = alt.Color(
        "who:N", title=None, legend=legend, scale=alt.Scale(domain=names, range=color_range(_MANY, ink))
    )
    shape = alt.Shape(
        "who:N", title=None, legend=legend, scale=alt.Scale(domain=names, range=shape_range(_MANY))
    )
    tooltip = [
        alt.Tooltip("who:N", title="recipe"),
        alt.Tooltip("at:Q", title="at", format=".3~g"),
        alt.Tooltip("mean:Q", title="mean SQNR (dB)", format=".2f"),
        alt.Tooltip("low:Q", title="worst draw (dB)", format=".2f"),
        alt.Tooltip("high:Q", title="best draw (dB)", format=".2f"),
        alt.Tooltip("draws:Q", title="draws"),
        alt.Tooltip("bits:Q", title="bits an element", format=".3~f"),
    ]
    base = alt.Chart(alt.NamedData(POINTS)).encode(x=x, color=color)
    layers = [
        base.mark_line(strokeWidth=2, aria=False).encode(y=y),
        base.mark_rule(strokeWidth=4, opacity=0.55, aria=False).encode(y=alt.Y("low:Q"), y2="high:Q"),
        base.mark_point(size=70, filled=True, opacity=1).encode(y=y, shape=shape, tooltip=tooltip),
    ]
    if has_own:
        ring = {"shape": "circle", "size": 300, "filled": False, "strokeWidth": 2.5, "opacity": 1}
        own = alt.Chart(alt.NamedData(OWN)).encode(x=x, y=y, color=color)
        layers += [own.mark_point(**ring).encode(tooltip=tooltip), own.mark_point(size=30, filled=True)]
    return dressed(alt.layer(*layers, height=number("height", TALL)), ink)
