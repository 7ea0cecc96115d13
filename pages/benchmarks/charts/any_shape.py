"""Speed relative to torch's best over operations per byte: a point for each GEMM of a random draw."""

from collections.abc import Sequence
from dataclasses import dataclass

import altair as alt

from pages.benchmarks.charts.points import Words, intensity_axis, marks, series_points, tooltip, word_columns
from pages.kit.charts.finish import dressed
from pages.kit.charts.ink import Ink
from pages.kit.charts.template import Filled, number, several, template

TITLES = ("GEMM", "M × N × K", "ours", "torch's best", "kernel", "slower than the best blocks", "from")
_EQUAL = 1.0
_ROOM = 1.15
_ASIDE = 1.5
"""The room left and right of the points: one point alone still has a power of two beside it."""
_SIZE, _OPACITY = 50, 0.85
_TICKS = [0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.8, 1, 1.25, 1.5, 2, 3, 4, 6, 8, 10, 20]


@dataclass(frozen=True, kw_only=True)
class DrawnPoint:
    """One GEMM of a random shape: its speed over torch's, the operations per byte, and words by TITLES."""

    series: str
    recipe: str
    is_here: bool
    intensity: float
    ratio: float
    words: Words


def any_shape_chart(points: Sequence[DrawnPoint], room: float, ink: Ink, *, is_aside: bool) -> Filled:
    """The points around the line at 1; there is at least one. A legend aside needs a wide page."""
    ratios = [point.ratio for point in points]
    intensities = [point.intensity for point in points]
    columns = {
        "series": [point.series for point in points],
        "here": [point.is_here for point in points],
        "intensity": intensities,
        "ratio": ratios,
        **word_columns([point.words for point in points], TITLES),
    }
    return _chart(ink, is_aside).filled(
        {"points": columns},
        intensities=[min(intensities) / _ASIDE, max(intensities) * _ASIDE],
        ratios=[min([*ratios, _EQUAL]) / _ROOM, max([*ratios, _EQUAL]) * _ROOM],
        height=room,
        **marks({point.series: point.recipe for point in points}),
    )


@template
def _chart(ink: Ink, is_aside: bool) -> alt.LayerChart:
    x = intensity_axis((1.0, 4096.0))
    y = alt.Y(
        "ratio:Q",
        title="times as fast as torch's best",
        scale=alt.Scale(type="log", domain=several("ratios", [0.5, 2.0]), nice=False),
        axis=alt.Axis(values=_TICKS, format="~g", labelOverlap=True),
    )
    words = tooltip(
        alt.Tooltip("ratio:Q", title="times as fast as torch's best", format=".3f"),
        alt.Tooltip("intensity:Q", title="operations per byte", format=",.0f"),
        titles=TITLES,
    )
    points = series_points(x, y, ink, words, size=_SIZE, opacity=_OPACITY, is_aside=is_aside)
    equal = alt.Chart(alt.Data(values=[{}])).mark_rule(color=ink.text, strokeWidth=1.5, aria=False)
    return dressed(
        alt.layer(equal.encode(y=alt.datum(_EQUAL)), points).properties(height=number("height", 500)), ink
    )
