"""SQNR against one property, a line a recipe: the mean of the draws, and a bar from the worst to the best."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import altair as alt

from fp8core.experiments.error_curves import Draws
from pages.kit.charts.finish import dressed
from pages.kit.charts.ink import Ink
from pages.kit.charts.legible import axis_title
from pages.kit.charts.recipe_marks import Mark
from pages.kit.charts.template import Filled, by_column, several, template, text

POINTS, NAMES = "points", "names"
TALL = 300
_LABEL = 112
"""Pixels at the right for the names of the lines."""
_APART = 0.062
"""The least distance of two names, as a share of the axis."""


@dataclass(frozen=True, kw_only=True)
class Curve:
    """The points of one recipe, and its mark."""

    name: str
    points: tuple[Draws, ...]
    mark: Mark


def draws_chart(curves: Sequence[Curve], axis: str, ink: Ink) -> Filled:
    """Every curve over a logarithmic axis, its name at its end."""
    points = [_row(curve, draws) for curve in curves for draws in curve.points if has_error(draws)]
    at, errors = [row["at"] for row in points], [row[end] for row in points for end in ("low", "high")]
    low, high = min(errors) - 1, max(errors) + 1
    last = {row["who"]: row for row in points}
    places = apart([row["mean"] for row in last.values()], _APART * (high - low))
    names = [{"who": row["who"], "place": place} for row, place in zip(last.values(), places, strict=True)]
    return _template(ink).filled(
        {POINTS: by_column(points), NAMES: by_column(names)},
        span=[min(at), max(at)],
        errors=[low, high],
        axis=axis_title(axis),
    )


def apart(wanted: Sequence[float], least: float) -> list[float]:
    """Places near the wanted ones, in their order, with at least so much between two."""
    order = sorted(range(len(wanted)), key=wanted.__getitem__)
    places = [wanted[at] for at in order]
    for at in range(1, len(places)):
        places[at] = max(places[at], places[at - 1] + least)
    shift = (sum(places) - sum(wanted)) / max(len(places), 1)
    return [places[order.index(at)] - shift for at in range(len(wanted))]


def has_error(draws: Draws) -> bool:
    """True where every draw has an error; others have no place on an axis of decibels."""
    return math.isfinite(draws.high)


def _row(curve: Curve, draws: Draws) -> dict[str, object]:
    return {
        "who": curve.name,
        "color": curve.mark.color,
        "shape": curve.mark.shape,
        "at": draws.at,
        "mean": draws.mean,
        "low": draws.low,
        "high": draws.high,
        "bits": draws.bits,
    }


@template
def _template(ink: Ink) -> alt.LayerChart:
    x = alt.X(
        "at:Q",
        title=text("axis", "crest factor"),
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
    tooltip = [
        alt.Tooltip("who:N", title="recipe"),
        alt.Tooltip("at:Q", title="at", format=".3~g"),
        alt.Tooltip("mean:Q", title="mean SQNR (dB)", format=".2f"),
        alt.Tooltip("low:Q", title="worst draw (dB)", format=".2f"),
        alt.Tooltip("high:Q", title="best draw (dB)", format=".2f"),
        alt.Tooltip("bits:Q", title="bits per element", format=".3~f"),
    ]
    color, shape = alt.Color("color:N", scale=None), alt.Shape("shape:N", scale=None)
    base = alt.Chart(alt.NamedData(POINTS)).encode(x=x, color=color, detail="who:N")
    names = alt.Chart(alt.NamedData(NAMES)).mark_text(
        align="left", x=alt.ExprRef(f"width - {_LABEL - 12}"), fontSize=14, color=ink.text
    )
    layers = [
        base.mark_line(strokeWidth=2.5, aria=False).encode(y=y),
        base.mark_rule(strokeWidth=4, opacity=0.55, aria=False).encode(y=alt.Y("low:Q"), y2="high:Q"),
        base.mark_point(size=80, filled=True, opacity=1).encode(y=y, shape=shape, tooltip=tooltip),
        names.encode(y=alt.Y("place:Q"), text="who:N"),
    ]
    return dressed(alt.layer(*layers, height=TALL), ink)
