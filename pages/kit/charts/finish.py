"""The last changes to every chart."""

import altair as alt

from pages.kit.charts.ink import Ink

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


def color_range(count: int, ink: Ink) -> list[str]:
    return [ink.series[i % len(ink.series)] for i in range(count)]


def shape_range(count: int) -> list[str]:
    """A shape for each of so many series, because not everybody can tell series apart by color alone."""
    return [SHAPES[i % len(SHAPES)] for i in range(count)]


def dressed(chart: alt.LayerChart, ink: Ink) -> alt.LayerChart:
    return chart.configure_view(stroke=None).configure_axis(gridColor=ink.line, gridOpacity=0.35)
