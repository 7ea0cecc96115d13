"""Speed of quantizing kernels over that of a copy: a bar each, and a diamond for torch.compile."""

from collections.abc import Sequence
from dataclasses import dataclass

import altair as alt

from pages.kit.charts.above import LETTERS, WORDS, without_names, words_above, words_of
from pages.kit.charts.finish import dressed
from pages.kit.charts.ink import Ink
from pages.kit.charts.template import Filled, number, several, template

LINE = 20 + LETTERS
_BAR, _AROUND = 15, 110
_ROOM = 1.02
OURS, COMPILED = "this project", "torch.compile"
BARS, POINTS = "bars", "points"
_FIELDS = ("line", "who", "ratio", "time", "rate", "told")


@dataclass(frozen=True, kw_only=True)
class Quantizer:
    """One kernel: its name, and for ours and torch.compile's the ratio to a copy, with what is told of it."""

    line: str
    ratio: float
    time: str
    rate: str
    told: str
    compiled: float | None
    compiled_time: str
    compiled_rate: str


def ratio_chart(found: Sequence[Quantizer], ink: Ink) -> Filled:
    """A line a kernel, from top to bottom; 1 is the speed of a copy."""
    bars = [(one.line, OURS, one.ratio, one.time, one.rate, one.told) for one in found]
    points = [
        (one.line, COMPILED, one.compiled, one.compiled_time, one.compiled_rate, one.told)
        for one in found
        if one.compiled is not None
    ]
    words = [words_of(one.line, f"{one.ratio:.2f}") for one in found]
    most = max([1.0, *(bar[2] for bar in bars), *(point[2] for point in points)])
    return _chart(ink).filled(
        {BARS: _columns(bars) | {WORDS: words}, POINTS: _columns(points)},
        lines=[one.line for one in found],
        ratios=[0.0, _ROOM * most],
        shown=[OURS, COMPILED] if points else [OURS],
        height=LINE * len(found) + _AROUND,
    )


def _columns(rows: Sequence[tuple[object, ...]]) -> dict[str, list[object]]:
    return {field: [row[place] for row in rows] for place, field in enumerate(_FIELDS)}


@template
def _chart(ink: Ink) -> alt.LayerChart:
    y = alt.Y(
        "line:N",
        title=None,
        scale=alt.Scale(domain=several("lines", ["MXFP8, x, along rows and down columns"])),
        axis=without_names(),
    )
    x = alt.X(
        "ratio:Q",
        title="times the speed of a copy",
        scale=alt.Scale(domain=several("ratios", [0.0, 1.0]), nice=False),
        axis=alt.Axis(tickCount=6, format=".1f"),
    )
    who = alt.Scale(domain=[OURS, COMPILED], range=[ink.m, ink.lost])
    named = several("shown", [OURS, COMPILED])
    legend = alt.Legend(orient="bottom", title=None, columns=2, labelColor=ink.text, values=named)
    tooltip = [
        alt.Tooltip("line:N", title="quantizes"),
        alt.Tooltip("who:N", title="by"),
        alt.Tooltip("ratio:Q", title="of a copy's speed", format=".3f"),
        alt.Tooltip("time:N", title="time"),
        alt.Tooltip("rate:N", title="least bytes over time"),
        alt.Tooltip("told:N", title="also"),
    ]
    bars = alt.Chart(alt.NamedData(BARS)).encode(y=y, x=x)
    points = alt.Chart(alt.NamedData(POINTS)).encode(y=y, x=x)
    chart = alt.layer(
        bars.mark_bar(size=_BAR).encode(color=alt.Color("who:N", scale=who, legend=legend), tooltip=tooltip),
        points.mark_point(shape="diamond", size=110, filled=True, opacity=1, stroke=ink.page).encode(
            color=alt.Color("who:N", scale=who, legend=legend), tooltip=tooltip
        ),
        alt.Chart(alt.Data(values=[{}])).mark_rule(color=ink.text, strokeWidth=1.5).encode(x=alt.datum(1.0)),
        words_above(alt.Chart(alt.NamedData(BARS)).encode(y=y), _BAR, ink),
    )
    return dressed(chart.properties(height=number("height", 400)), ink)
