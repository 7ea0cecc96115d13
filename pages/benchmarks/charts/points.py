"""The parts that several pictures of benchmarks share: tooltips, series of points, operations per byte."""

from collections.abc import Mapping, Sequence
from typing import Any

import altair as alt

from pages.kit.charts.ink import Ink
from pages.kit.charts.recipe_marks import mark_of
from pages.kit.charts.template import several

Words = Mapping[str, str]
"""A timed GEMM in words, by the titles of its tooltip."""
TITLES = (
    "GEMM",
    "M × N × K",
    "median (20th to 80th percentile)",
    "speed",
    "times as fast as",
    "kernel",
    "measured with",
    "from",
)
_POWERS = [2.0**power for power in range(20)]
_COLUMNS = 4
_LONG_NAME = "Per tensor, hybrid"
"""The legend has as many columns as names of this length leave room for."""
_HERE, _FAINT = 3.0, 0.08
"""How many times as large a point is that was measured here; the opacity of a series that is not picked."""


def word_columns(
    words: Sequence[Words | None], titles: Sequence[str] = TITLES
) -> dict[str, list[str | None]]:
    """The columns that the tooltip reads; empty for None."""
    return {_field(place): [one and one[title] for one in words] for place, title in enumerate(titles)}


def tooltip(*first: alt.Tooltip, titles: Sequence[str] = TITLES) -> list[alt.Tooltip]:
    """These lines, then the words."""
    return [*first, *(alt.Tooltip(f"{_field(place)}:N", title=title) for place, title in enumerate(titles))]


def _field(place: int) -> str:
    return f"words_{place}"


def intensity_axis(example: tuple[float, float]) -> alt.X:
    """The x axis in powers of two. A rerun puts its "intensities" in the place of the example's ends."""
    return alt.X(
        "intensity:Q",
        title=["operations per byte:", "2 · M · N · K / bytes of codes, scales and D"],
        scale=alt.Scale(type="log", base=2, domain=several("intensities", [*example]), nice=False),
        axis=alt.Axis(values=_POWERS, format=",~f", grid=True, labelOverlap=True),
    )


def marks(recipes: Mapping[str, str]) -> dict[str, list[str]]:
    """What fills the holes of `series_points`: the names of series, and the recipe of each."""
    every = [mark_of(recipe) for recipe in recipes.values()]
    return {
        "series": list(recipes),
        "colors": [one.color for one in every],
        "shapes": [one.shape for one in every],
    }


def series_points(
    x: alt.X, y: alt.Y, ink: Ink, tooltip: Any, *, size: float, opacity: float, is_aside: bool
) -> alt.Chart:
    """Points with their recipes' marks; a click on a name in the legend shows one series alone.

    The dataset is "points", the holes are "series", "colors", "shapes". A legend aside needs a wide page.
    """
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
