"""Speed relative to a peer: a bar a shape, in groups of one recipe each, with a rule at 1."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import altair as alt

from pages.kit.charts.finish import finished
from pages.kit.charts.ink import Ink
from pages.sections.benchmarks.charts.facts import TimedGemm, tooltip

Spec = dict[str, Any]
LINE = 21
_AROUND = 125
_BAR = 13
_EQUAL = 1.0
_ROOM = 1.12


@dataclass(frozen=True, kw_only=True)
class Bar:
    """One measurement: its speed relative to the peer, between `low` and `high`; recorded, or made here."""

    name: str
    is_here: bool
    ratio: float
    low: float
    high: float
    facts: TimedGemm


@dataclass(frozen=True, kw_only=True)
class Group:
    """One recipe's bars, all against one peer, and the geometric mean of `averaged` of them."""

    title: str
    peer: str
    mean: float
    averaged: int
    bars: tuple[Bar, ...]


def ratios_chart(groups: Sequence[Group], peers: Sequence[str], ink: Ink) -> Spec:
    """The groups from top to bottom, each under its title; `peers` in the order of the legend."""
    heads = [
        {
            "line": _key(place, 0, group.title),
            "peer": group.peer,
            "mean": group.mean,
            "averaged": group.averaged,
        }
        for place, group in enumerate(groups)
    ]
    bars = [
        {
            "line": _key(place, number, bar.name),
            "peer": group.peer,
            "here": bar.is_here,
            "ratio": bar.ratio,
            "low": bar.low,
            "high": bar.high,
            **bar.facts.fields(),
        }
        for place, group in enumerate(groups)
        for number, bar in enumerate(group.bars, 1)
    ]
    lines = [
        _key(place, number, name)
        for place, group in enumerate(groups)
        for number, name in enumerate([group.title, *(bar.name for bar in group.bars)])
    ]
    most = max([*(row["high"] for row in bars), *(row["mean"] for row in heads), _EQUAL])
    y = alt.Y("line:N", title=None, sort=lines, scale=alt.Scale(domain=lines), axis=_names(ink))
    x = alt.X(
        "ratio:Q",
        title="times as fast as the peer, the GEMM alone",
        scale=alt.Scale(domain=[0, _ROOM * most], nice=False),
        axis=alt.Axis(tickCount=8, grid=True),
    )
    color = _color([peer for peer in peers if any(group.peer == peer for group in groups)], peers, ink)
    ratio = alt.Tooltip("ratio:Q", title="times as fast as the peer", format=".3f")
    outline = alt.when(alt.datum.here).then(alt.value(ink.text)).otherwise(alt.value(None))
    chart = alt.layer(
        alt.Chart(alt.Data(values=bars))
        .mark_bar(size=_BAR, strokeWidth=2, aria=False)
        .encode(y=y, x=x, color=color, stroke=outline, tooltip=tooltip(ratio)),
        _whiskers(bars, y, ink),
        *_means(heads, y, ink),
        alt.Chart(alt.Data(values=[{}]))
        .mark_rule(color=ink.text, strokeWidth=1.5)
        .encode(x=alt.datum(_EQUAL)),
    )
    return finished(chart.properties(height=len(lines) * LINE + _AROUND), ink)


def _color(compared: Sequence[str], peers: Sequence[str], ink: Ink) -> alt.Color:
    """The colors of the peers. A peer keeps its color, and the legend lists the peers of these bars."""
    legend = alt.Legend(
        orient="bottom", columns=1, labelLimit=400, labelColor=ink.text, values=list(compared)
    )
    return alt.Color("peer:N", title="peer", scale=alt.Scale(domain=list(peers)), legend=legend)


def _key(group: int, number: int, name: str) -> str:
    """A line's unique value on the axis. The reader sees the text after the second bar character."""
    return f"{group}|{number}|{name}"


def _names(ink: Ink) -> alt.Axis:
    is_head = {"test": "split(datum.value, '|')[1] == '0'"}
    return alt.Axis(
        labelExpr="split(datum.value, '|')[2]",
        labelFontWeight={"condition": {**is_head, "value": "bold"}, "value": "normal"},
        labelColor={"condition": {**is_head, "value": ink.text}, "value": ink.soft},
        labelLimit=240,
        ticks=False,
        domain=False,
        labelOverlap=False,
        labelFlush=False,
        labelBound=False,
        grid=False,
    )


def _whiskers(bars: Sequence[dict[str, object]], y: alt.Y, ink: Ink) -> alt.LayerChart:
    base = alt.Chart(alt.Data(values=list(bars))).encode(y=y)
    rule = base.mark_rule(color=ink.text, strokeWidth=2).encode(x="low:Q", x2="high")
    value = base.mark_text(align="right", color=ink.text).encode(
        x=alt.value("width"), text=alt.Text("ratio:Q", format=".2f")
    )
    return alt.layer(rule, value)


def _means(heads: Sequence[dict[str, object]], y: alt.Y, ink: Ink) -> tuple[alt.Chart, alt.Chart]:
    """A diamond at each group's mean, with its figure."""
    base = alt.Chart(alt.Data(values=list(heads))).encode(
        y=y,
        tooltip=[
            alt.Tooltip("mean:Q", title="geometric mean", format=".3f"),
            alt.Tooltip("averaged:Q", title="over measurements"),
            alt.Tooltip("peer:N", title="peer"),
        ],
    )
    diamond = base.mark_point(shape="diamond", size=90, filled=True, opacity=1, color=ink.text).encode(
        x="mean:Q"
    )
    figure = base.mark_text(align="right", color=ink.text, fontWeight="bold").encode(
        x=alt.value("width"), text=alt.Text("mean:Q", format=".2f")
    )
    return diamond, figure
