"""Series, panels and axes that charts share."""

from collections.abc import Sequence
from typing import Any, TypeVar

import altair as alt

from pages.kit.charts.ink import Ink

C = TypeVar("C", alt.LayerChart, alt.VConcatChart)
_STAR = "M0,-1L.29,-.4L.95,-.31L.48,.15L.59,.81L0,.5L-.59,.81L-.48,.15L-.95,-.31L-.29,-.4Z"


# One a series: circles and polygons; a star, an hourglass, a bow tie and a bar come last
SHAPES = (
    "circle",
    "square",
    "triangle-up",
    "diamond",
    "cross",
    "triangle-down",
    "triangle-right",
    "triangle-left",
    _STAR,
    "M-.9,-.9L.9,-.9L-.9,.9L.9,.9Z",
    "M-.9,-.9L.9,.9L.9,-.9L-.9,.9Z",
    "M-.9,.3L-.9,-.3L.9,-.3L.9,.3Z",
)


def dressed(chart: C, ink: Ink) -> C:
    return chart.configure_view(stroke=None).configure_axis(gridColor=ink.line, gridOpacity=0.35)


END = 0.03  # share of the width left free at the right, for half a label of the horizontal axis

_NARROW = {"left": 0, "right": 0, "top": 5, "bottom": 5}


def panels(charts: Sequence[alt.LayerChart], ink: Ink, spacing: int) -> alt.VConcatChart:
    return dressed(alt.vconcat(*charts, spacing=spacing, padding=_NARROW), ink)


def panel_title(words: str, ink: Ink) -> alt.TitleParams:
    return alt.TitleParams(words, anchor="start", frame="group", fontSize=13, color=ink.text, offset=6)


def inside_axis(**options: Any) -> alt.Axis:
    return alt.Axis(
        title=None,
        labelAlign="left",
        labelBaseline="bottom",
        labelPadding=-4,
        labelOffset=-1,
        ticks=False,
        domain=False,
        **options,
    )
