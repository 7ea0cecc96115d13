"""The error of each format by the path of its input: not rotated, rotated exactly, rotated through bf16."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import altair as alt

from pages.kit.charts.ink import Ink
from pages.kit.charts.template import Filled, number, several, template

_POWERS_OF_TEN = [10.0**e for e in range(-12, 3)]
_ROW, _AROUND = 46, 130
ROWS = "ways"


@dataclass(frozen=True, kw_only=True)
class Way:
    """One mark: the error of `format` by this path."""

    format: str
    way: str
    nmse: float


def ways(marks: Sequence[Way], order: tuple[str, ...], ink: Ink) -> Filled:
    """A line a format, a mark a path, on a logarithmic axis, which has no place for an error of zero."""
    formats = list(dict.fromkeys(mark.format for mark in marks))
    seen = [mark for mark in marks if mark.nmse > 0]
    powers = [math.log10(mark.nmse) for mark in seen] or [-1.0, 0.0]
    low, high = math.floor(min(powers)), math.ceil(max(powers))
    rows = {
        "format": [mark.format for mark in seen],
        "way": [mark.way for mark in seen],
        "nmse": [mark.nmse for mark in seen],
    }
    return _ways(order, ink).filled(
        {ROWS: rows},
        formats=formats,
        ends=[10.0**low, 10.0 ** max(high, low + 1)],
        height=_ROW * len(formats) + _AROUND,
    )


@template
def _ways(order: tuple[str, ...], ink: Ink) -> alt.Chart:
    scale = alt.Scale(domain=list(order), range=[ink.lost, ink.scale, ink.k, ink.soft][: len(order)])
    shapes = alt.Scale(domain=list(order), range=["diamond", "circle", "cross", "triangle-up"][: len(order)])
    legend = alt.Legend(title=None, orient="top", columns=2, labelLimit=320)
    formats = several("formats", ["e4m3"])
    return (
        alt.Chart(alt.NamedData(ROWS))
        .mark_point(size=150, filled=False, strokeWidth=2.5, opacity=1)
        .encode(
            x=alt.X(
                "nmse:Q",
                scale=alt.Scale(type="log", domain=several("ends", [1e-6, 1.0])),
                axis=alt.Axis(title="error energy / signal energy", format=".0e", values=_POWERS_OF_TEN),
            ),
            y=alt.Y(
                "format:N",
                sort=formats,
                scale=alt.Scale(domain=formats),
                axis=alt.Axis(title=None, labelFontSize=13, grid=True),
            ),
            color=alt.Color("way:N", scale=scale, legend=legend),
            shape=alt.Shape("way:N", scale=shapes, legend=legend),
            tooltip=[
                alt.Tooltip("format:N", title="format"),
                alt.Tooltip("way:N", title="input"),
                alt.Tooltip("nmse:Q", title="error energy / signal energy", format=".4~g"),
            ],
        )
        .properties(height=number("height", 300))
        .configure_view(stroke=None)
        .configure_axis(gridColor=ink.line, gridOpacity=0.5)
    )
