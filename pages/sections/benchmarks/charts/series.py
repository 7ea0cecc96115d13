"""Points of series, told apart by color and shape; a click on a name in the legend shows one series alone."""

from typing import Any

import altair as alt

from pages.kit.charts.ink import Ink
from pages.kit.charts.template import several

COLUMNS = 2
"""Names in a line of the legend."""

_LONG_NAME = "MXFP8, refolded, not bit-exact"
"""The legend has as many columns as names of this length leave room for."""
_HERE, _FAINT = 3.0, 0.08
"""How many times as large a point is that was measured here; the opacity of a series that is not picked."""


def series_points(x: alt.X, y: alt.Y, ink: Ink, tooltip: Any, *, size: float, opacity: float) -> alt.Chart:
    """The dataset "points". It fills the holes "series", "colors" and "shapes"."""
    series = several("series", [_LONG_NAME])
    colors = alt.Scale(domain=series, range=several("colors", ["#000000"]))
    shapes = alt.Scale(domain=series, range=several("shapes", ["circle"]))
    legend = alt.Legend(orient="bottom", columns=COLUMNS, labelLimit=260, labelColor=ink.text, symbolSize=90)
    picked = alt.selection_point(name="picked", fields=["series"], bind="legend")
    return (
        alt.Chart(alt.NamedData("points"))
        .mark_point(filled=True)
        .encode(
            x=x,
            y=y,
            color=alt.Color("series:N", title=None, scale=colors, legend=legend),
            shape=alt.Shape("series:N", title=None, scale=shapes, legend=legend),
            size=alt.when(alt.datum.here).then(alt.value(_HERE * size)).otherwise(alt.value(size)),
            stroke=alt.when(alt.datum.here).then(alt.value(ink.text)).otherwise(alt.value(None)),
            opacity=alt.when(picked).then(alt.value(opacity)).otherwise(alt.value(_FAINT)),
            tooltip=tooltip,
        )
        .add_params(picked)
    )
