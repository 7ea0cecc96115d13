"""Points of series with their recipes' marks; a click on a name in the legend shows one series alone."""

from collections.abc import Mapping
from typing import Any

import altair as alt

from pages.kit.charts.ink import Ink
from pages.kit.charts.recipe_marks import mark_of
from pages.kit.charts.template import several

_COLUMNS = 4

_LONG_NAME = "Per tensor, hybrid"
"""The legend has as many columns as names of this length leave room for."""
_HERE, _FAINT = 3.0, 0.08
"""How many times as large a point is that was measured here; the opacity of a series that is not picked."""


def marks(recipes: Mapping[str, str]) -> dict[str, list[str]]:
    """What fills the holes of `series_points`: the names of series, and the recipe of each."""
    found = [mark_of(recipe) for recipe in recipes.values()]
    return {
        "series": list(recipes),
        "colors": [one.color for one in found],
        "shapes": [one.shape for one in found],
    }


def series_points(
    x: alt.X, y: alt.Y, ink: Ink, tooltip: Any, *, size: float, opacity: float, is_aside: bool
) -> alt.Chart:
    """The dataset "points", with the holes "series", "colors", "shapes". A legend aside needs a wide page."""
    series = several("series", [_LONG_NAME])
    colors = alt.Scale(domain=series, range=several("colors", ["#000000"]))
    shapes = alt.Scale(domain=series, range=several("shapes", ["circle"]))
    place = {"orient": "right", "columns": 1} if is_aside else {"orient": "top", "columns": _COLUMNS}
    legend = alt.Legend(**place, labelLimit=260, labelColor=ink.text, symbolSize=90)
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
