"""The roofline of one GPU in each format, and where one matmul lies below it."""

from collections.abc import Sequence
from dataclasses import dataclass

import altair as alt

from pages.kit.charts.finish import dressed
from pages.kit.charts.ink import Ink
from pages.kit.charts.template import Filled, by_column, several, template

_TALL = 400
_LEAST, _MOST = 0.5, 32768.0
_POWERS = [2.0**power for power in range(-2, 16)]
_TICKS = [digit * 10.0**power for power in range(-1, 5) for digit in (1, 2, 5)]
_LONGEST = 3
_NAME = 110
"""Pixels from one name to the next: each stands in its roof, and neighboring roofs are near each other."""
_WIDE, _GAP = 84, "M-1,-.16L1,-.16L1,.16L-1,.16Z"
"""A gap's width in pixels, and its shape."""
_APART = 4
"""Pixels from the end of a name to the end of its gap."""
ROOFS, POINTS, FLATS = "roofs", "points", "flats"
_SHAPES = ["circle", "diamond", "triangle-up"]


@dataclass(frozen=True, kw_only=True)
class Place:
    """A format: its peak, and one matmul's operations a byte, speed, and a word on what limits it."""

    format: str
    peak_tflop_s: float
    intensity: float
    tflop_s: float
    limit: str


def roofline(places: Sequence[Place], memory_gb_s: float, ink: Ink) -> Filled:
    """A roof and a point for each format, the slowest first."""
    slope = memory_gb_s / 1e3
    roofs, flats = [], []
    for rank, place in enumerate(places):
        ridge = place.peak_tflop_s / slope
        for at in (_LEAST, ridge, _MOST):
            speed = min(place.peak_tflop_s, slope * at)
            roofs.append({"format": place.format, "intensity": at, "speed": speed})
        words = f"{place.format}: {place.peak_tflop_s:,.0f}"
        flats.append({"intensity": _MOST, "speed": place.peak_tflop_s, "words": words, "rank": rank})
    points = [
        {"format": p.format, "intensity": p.intensity, "speed": p.tflop_s, "limit": p.limit} for p in places
    ]
    highest = max(place.peak_tflop_s for place in places)
    return _chart(tuple(place.format for place in places), ink).filled(
        {ROOFS: by_column(roofs), FLATS: by_column(flats), POINTS: by_column(points)},
        speeds=[0.5 * slope * _LEAST, 2.0 * highest],
    )


@template
def _chart(formats: tuple[str, ...], ink: Ink) -> alt.LayerChart:
    x = alt.X(
        "intensity:Q",
        title="operations for each byte that moves",
        scale=alt.Scale(type="log", base=2, domain=[_LEAST, _MOST], nice=False),
        axis=alt.Axis(values=_POWERS, format=",~f", labelOverlap=True, grid=True),
    )
    y = alt.Y(
        "speed:Q",
        title="TFLOP/s at most",
        scale=alt.Scale(type="log", domain=several("speeds", [0.5, 9000.0]), nice=False),
        axis=alt.Axis(values=_TICKS, format=",~f", labelOverlap=True),
    )
    legend = alt.Legend(orient="bottom", title=None, columns=_LONGEST, labelColor=ink.text, symbolSize=160)
    color = alt.Color(
        "format:N",
        scale=alt.Scale(domain=list(formats), range=[ink.n, ink.m, ink.k][: len(formats)]),
        legend=legend,
    )
    lines = (
        alt.Chart(alt.NamedData(ROOFS)).mark_line(strokeWidth=2.5, opacity=0.8).encode(x=x, y=y, color=color)
    )
    count = len(formats)
    names = [mark.encode(x=x, y=y) for rank in range(count) for mark in _name(rank, count, ink)]
    points = (
        alt.Chart(alt.NamedData(POINTS))
        .mark_point(filled=True, size=260, opacity=1, stroke=ink.text, strokeWidth=1.5)
        .encode(
            x=x,
            y=y,
            color=color,
            shape=alt.Shape(
                "format:N",
                scale=alt.Scale(domain=list(formats), range=_SHAPES[: len(formats)]),
                legend=legend,
            ),
            tooltip=[
                alt.Tooltip("format:N", title="operands"),
                alt.Tooltip("speed:Q", title="TFLOP/s at most", format=",.4~g"),
                alt.Tooltip("intensity:Q", title="operations a byte", format=",.4~g"),
                alt.Tooltip("limit:N", title="limited by"),
            ],
        )
    )
    drop = (
        alt.Chart(alt.NamedData(POINTS))
        .mark_rule(strokeDash=[3, 4], aria=False)
        .encode(x=x, y=y, color=color)
    )
    return dressed(alt.layer(lines, drop, *names, points).properties(height=_TALL), ink)


def _name(rank: int, count: int, ink: Ink) -> tuple[alt.Chart, alt.Chart]:
    """The name of one of `count` roofs, with a gap in the roof behind it.

    The highest roof has its name at the end, because its mark lies farthest to the right.
    """
    end = -_NAME * ((count - 1 - rank) % 2)
    base = alt.Chart(alt.NamedData(FLATS)).transform_filter(alt.datum.rank == rank)
    gap = base.mark_point(
        shape=_GAP, size=_WIDE**2, xOffset=end - _WIDE / 2, filled=True, opacity=1, color=ink.page
    )
    return gap, base.mark_text(align="right", dx=end - _APART, fontSize=13, color=ink.text).encode(
        text="words:N"
    )
