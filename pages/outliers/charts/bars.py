"""Bars in groups: a group a row, a bar a series, with an axis of percentages and names at the bars."""

from collections.abc import Sequence
from dataclasses import dataclass

import altair as alt

from pages.kit.charts.finish import dressed
from pages.kit.charts.ink import Ink
from pages.kit.charts.legible import axis_title
from pages.kit.charts.template import Filled, by_column, number, several, template, text

BARS = "bars"
_AROUND = 10
_LETTER = 8
"""Pixels of a letter at the end of a bar."""
_LABEL = "words_wide"


@dataclass(frozen=True, kw_only=True)
class Bar:
    """A share of something: its group, its series, its size and its color; `start` is where it begins.

    `told` are the words at its end, or in it where bars follow one another.
    """

    group: str
    series: str
    share: float
    color: str
    start: float = 0.0
    told: str = ""


def grouped(bars: Sequence[Bar], axis: str, height: float, ink: Ink) -> Filled:
    """Bars beside one another in each group; the words at their ends name them."""
    return _filled(bars, axis, height, ink, stacked=False)


def stacked(bars: Sequence[Bar], axis: str, height: float, ink: Ink) -> Filled:
    """Bars that follow one another in each group, named above; each has its own `start`."""
    return _filled(bars, axis, height, ink, stacked=True)


def _filled(bars: Sequence[Bar], axis: str, height: float, ink: Ink, stacked: bool) -> Filled:
    rows = [
        {
            "group": bar.group,
            "series": bar.series,
            "start": bar.start,
            "end": bar.start + bar.share,
            "share": bar.share,
            "color": bar.color,
            "told": bar.told,
        }
        for bar in bars
    ]
    colors = {bar.series: bar.color for bar in bars}
    return _template(stacked, ink).filled(
        {BARS: by_column(rows)},
        groups=list(dict.fromkeys(bar.group for bar in bars)),
        series=list(colors),
        ends=[0.0, max((row["end"] for row in rows), default=0.0) or 1.0],
        axis=axis_title(axis),
        height=height - _AROUND,
        label=_LETTER * max(map(len, (bar.told for bar in bars)), default=0) + _LETTER,
        **({"colors": list(colors.values())} if stacked else {}),
    )


@template
def _template(stacked: bool, ink: Ink) -> alt.LayerChart:
    group = alt.Y(
        "group:N",
        title=None,
        scale=alt.Scale(domain=several("groups", ["MXFP8"]), paddingInner=0.25),
        axis=alt.Axis(labelLimit=180, ticks=False, labelFontSize=14, labelColor=ink.text, domain=False),
    )
    series = several("series", ["a series"])
    x = alt.X(
        "start:Q",
        scale=alt.Scale(
            domain=several("ends", [0.0, 1.0]),
            nice=False,
            range=[0, alt.ExprRef(f"width - min({_LABEL}, width / 2)")],
        ),
        axis=alt.Axis(title=text("axis", "share"), format="~%", tickCount=5),
    )
    base = alt.Chart(alt.NamedData(BARS)).encode(
        y=group,
        tooltip=[
            alt.Tooltip("group:N", title="row"),
            alt.Tooltip("series:N", title="bar"),
            alt.Tooltip("share:Q", title="share", format=".3~p"),
        ],
    )
    if stacked:
        legend = alt.Legend(title=None, orient="top", labelColor=ink.text, labelLimit=300, labelFontSize=14)
        color = alt.Color(
            "series:N",
            scale=alt.Scale(domain=series, range=several("colors", ["#000000"])),
            legend=legend,
            sort=None,
        )
        offset = {}
    else:
        color = alt.Color("color:N", scale=None)
        offset = {"yOffset": alt.YOffset("series:N", scale=alt.Scale(domain=series))}
    layers = [
        base.mark_bar(minBandSize=2, cornerRadiusEnd=2).encode(x=x, x2="end:Q", color=color, **offset),
        base.mark_text(align="left", dx=6, fontSize=14, color=ink.text, aria=False).encode(
            x=alt.X("end:Q"), text="told:N", **offset
        ),
    ]
    chart = alt.layer(*layers, height=number("height", 280))
    return dressed(chart.add_params(alt.param(name=_LABEL, value=number("label", 160))), ink)
