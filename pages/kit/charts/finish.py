"""The last changes to every chart."""

from collections.abc import Sequence
from typing import Any

import altair as alt

from pages.kit.charts.ink import Ink

Spec = dict[str, Any]


_STAR = "M0,-1L.29,-.4L.95,-.31L.48,.15L.59,.81L0,.5L-.59,.81L-.48,.15L-.95,-.31L-.29,-.4Z"


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
"""One a series: circles and polygons; a star, an hourglass, a bow tie and a bar come last."""


def series_colors(names: Sequence[str], ink: Ink) -> alt.Scale:
    """A color for each series; they differ as far as there are colors."""
    return alt.Scale(domain=list(names), range=[ink.series[i % len(ink.series)] for i in range(len(names))])


def series_shapes(names: Sequence[str]) -> alt.Scale:
    """A shape for each series, because not everybody can tell series apart by color alone."""
    return alt.Scale(domain=list(names), range=[SHAPES[i % len(SHAPES)] for i in range(len(names))])


def finished(chart: alt.LayerChart, ink: Ink) -> Spec:
    """The chart as a spec in which every layer has its own data.

    Streamlit takes data from the top level out of the spec and sends them later. Axes would then be drawn
    before there is anything to span.
    """
    spec = chart.configure_view(stroke=None).configure_axis(gridColor=ink.line, gridOpacity=0.35).to_dict()
    data = spec.pop("data", None)
    return spec if data is None else {**spec, "layer": [{"data": data, **layer} for layer in spec["layer"]]}
