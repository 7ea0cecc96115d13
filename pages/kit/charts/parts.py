"""Parts that charts share: shapes, axes and panels; words, tooltips; the rail of a gold handle.

A handle (`pages/kit/stage/hand.js`) slides along its rail.
"""

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


_TIP = ("shorthand", "title", "format")
WORDS = "words"  # the field with the words of a line


def words_of(name: str, figures: str) -> str:
    return f"{name}: {figures}" if figures else name


def without_names() -> alt.Axis:
    return alt.Axis(labels=False, grid=False, ticks=False, domain=False)


def beside(data: alt.Chart, is_right: str, *, dx: float = 10, **mark: Any) -> list[alt.Chart]:
    """Text marks left of a point where the Vega expression `is_right` holds, else right of it.

    layers = [one.encode(x=x, y=y, text="words:N") for one in beside(points, "datum.k > 12")]
    """
    sided = data.transform_calculate(right=is_right)
    return [
        sided.transform_filter("datum.right").mark_text(align="right", dx=-dx, **mark),
        sided.transform_filter("!datum.right").mark_text(align="left", dx=dx, **mark),
    ]


def halo(ink: Ink) -> dict[str, Any]:
    """Give words in front of lines and marks a ground of paper (`page.css` paints it behind the letters)."""
    return {"stroke": ink.page, "strokeWidth": 5}


def spread(targets: Sequence[float], sizes: Sequence[float], tall: float) -> list[float]:
    """Middles from 0 to `tall` near the wanted ones, in order, without overlap of `sizes`."""
    places, top = [0.0] * len(targets), 0.0
    order = sorted(range(len(targets)), key=targets.__getitem__)
    for at in order:
        places[at] = max(targets[at], top + sizes[at] / 2)
        top = places[at] + sizes[at] / 2
    bottom = tall
    for at in reversed(order):
        places[at] = min(places[at], bottom - sizes[at] / 2)
        bottom = places[at] - sizes[at] / 2
    return places


def tips(*lines: tuple[str, ...]) -> list[alt.Tooltip]:
    """Lines of a tooltip: (field, title), or (field, title, format)."""
    return [alt.Tooltip(**dict(zip(_TIP, line, strict=False))) for line in lines]


RAIL = "rail"


def marks_of(name: str) -> str:
    """Part of the class of a rail's marks. Altair numbers the views of nested layers."""
    return f" {name}_"


def rail(base: alt.Chart, x: alt.X, y: alt.Y | alt.YDatum | alt.YValue, name: str = RAIL) -> alt.Chart:
    """Invisible mark for each position of the handle.

    The fields `at` and `words` of `base` are the position and its words for a screen reader.
    """
    marks = base.properties(name=name).mark_point(opacity=0, size=1)
    return marks.encode(x=x, y=y, detail=["at:Q", "words:N"])
