"""Bars in groups: a group a row, a bar a series, with an axis of percentages."""

from collections.abc import Sequence
from dataclasses import dataclass

import altair as alt

from pages.kit.charts.finish import color_range, dressed
from pages.kit.charts.ink import Ink
from pages.kit.charts.legible import axis_title
from pages.kit.charts.template import Filled, by_column, number, several, template, text

BARS = "bars"
BAR, GAP, AROUND, LEGEND_LINE = 18, 16, 90, 26
ROOM = 1.12
_LONG = "a recipe with a long title, and the axis"
"""A legend has as many columns as names of this length fit into the width. It begins where the bars do."""


@dataclass(frozen=True, kw_only=True)
class Bar:
    """A share of something: its group, its series, and its size; `start` is where it begins."""

    group: str
    series: str
    share: float
    start: float = 0.0
    told: str = ""


def grouped(bars: Sequence[Bar], axis: str, ink: Ink) -> Filled:
    """Bars beside one another in each group."""
    return _filled(bars, axis, ink, stacked=False)


def stacked(bars: Sequence[Bar], axis: str, ink: Ink) -> Filled:
    """Bars that follow one another in each group; each has its own `start`."""
    return _filled(bars, axis, ink, stacked=True)


def _filled(bars: Sequence[Bar], axis: str, ink: Ink, stacked: bool) -> Filled:
    groups = list(dict.fromkeys(bar.group for bar in bars))
    series = list(dict.fromkeys(bar.series for bar in bars))
    rows = [
        {
            "group": bar.group,
            "series": bar.series,
            "start": bar.start,
            "end": bar.start + bar.share,
            "share": bar.share,
            "told": bar.told,
        }
        for bar in bars
    ]
    a_group = GAP + BAR * (1.6 if stacked else len(series))
    longest = max((row["end"] for row in rows), default=0.0)
    return _template(stacked, ink).filled(
        {BARS: by_column(rows)},
        groups=groups,
        series=series,
        ends=[0.0, (1.0 if stacked else ROOM) * longest or 1.0],
        axis=axis_title(axis),
        height=a_group * len(groups) + AROUND + LEGEND_LINE * len(series) / 2,
    )


@template
def _template(stacked: bool, ink: Ink) -> alt.LayerChart:
    group = alt.Y(
        "group:N",
        title=None,
        scale=alt.Scale(domain=several("groups", ["MXFP8"]), paddingInner=0.25),
        axis=alt.Axis(labelLimit=180, ticks=False),
    )
    series = several("series", [_LONG])
    x = alt.X(
        "start:Q",
        scale=alt.Scale(domain=several("ends", [0.0, 1.0]), nice=False),
        axis=alt.Axis(title=text("axis", "share"), format="~%", tickCount=5),
    )
    legend = alt.Legend(title=None, orient="bottom", labelColor=ink.text, columns=4, labelLimit=300)
    base = alt.Chart(alt.NamedData(BARS)).encode(
        y=group,
        tooltip=[
            alt.Tooltip("group:N", title="row"),
            alt.Tooltip("series:N", title="bar"),
            alt.Tooltip("share:Q", title="share", format=".3~p")
            if stacked
            else alt.Tooltip("told:N", title="share"),
        ],
    )
    color = alt.Color("series:N", scale=alt.Scale(domain=series, range=color_range(12, ink)), legend=legend)
    layers = [base.mark_bar(minBandSize=2).encode(x=x, x2="end:Q", color=color)]
    if not stacked:
        layers = [
            layer.encode(yOffset=alt.YOffset("series:N", scale=alt.Scale(domain=series))) for layer in layers
        ]
        layers.append(
            base.mark_text(align="left", dx=4, fontSize=12, color=ink.text, aria=False).encode(
                x=alt.X("end:Q"),
                yOffset=alt.YOffset("series:N", scale=alt.Scale(domain=series)),
                text="told:N",
            )
        )
    return dressed(alt.layer(*layers, height=number("height", 280)), ink)
