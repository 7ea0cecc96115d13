"""The error of each format by the path of its input: not rotated, rotated exactly, rotated through bf16."""

from collections.abc import Sequence
from dataclasses import dataclass

import altair as alt

from pages.kit.charts.ink import Ink

_POWERS_OF_TEN = [10.0**e for e in range(-12, 3)]
_ROW, _AROUND = 46, 130


@dataclass(frozen=True, kw_only=True)
class Way:
    """One mark: the error of `format` by this path."""

    format: str
    way: str
    nmse: float


def ways(marks: Sequence[Way], order: Sequence[str], ink: Ink) -> alt.Chart:
    """A line a format, a mark a path, on a logarithmic axis, which has no place for an error of zero."""
    formats = list(dict.fromkeys(mark.format for mark in marks))
    rows = [{"format": mark.format, "way": mark.way, "nmse": mark.nmse} for mark in marks if mark.nmse > 0]
    scale = alt.Scale(domain=list(order), range=[ink.bad, ink.good, ink.k, ink.soft][: len(order)])
    shapes = alt.Scale(domain=list(order), range=["diamond", "circle", "cross", "triangle-up"][: len(order)])
    legend = alt.Legend(title=None, orient="top", columns=2, labelLimit=320)
    return (
        alt.Chart(alt.Data(values=rows))
        .mark_point(size=150, filled=False, strokeWidth=2.5, opacity=1)
        .encode(
            x=alt.X(
                "nmse:Q",
                scale=alt.Scale(type="log", nice=True),
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
        .properties(height=_ROW * len(formats) + _AROUND)
        .configure_view(stroke=None)
        .configure_axis(gridColor=ink.line, gridOpacity=0.5)
    )
