"""Speed relative to a peer: a bar a shape, in groups of one recipe each, with a rule at 1."""

from collections.abc import Sequence
from dataclasses import dataclass

import altair as alt

from pages.kit.charts.finish import dressed
from pages.kit.charts.ink import Ink
from pages.kit.charts.template import Filled, number, several, template
from pages.sections.benchmarks.charts.facts import TimedGemm, fact_columns, tooltip

LINE = 21
_AROUND = 125
_BAR = 13
_EQUAL = 1.0
_ROOM = 1.14
_NAMES = 128
"""Pixels of the shapes' names, beside the axis."""


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


def ratios_chart(groups: Sequence[Group], peers: Sequence[str], ink: Ink) -> Filled:
    """The groups from top to bottom, each under its title; `peers` in the order of the legend."""
    heads = {
        "line": [_key(place, 0, group.title) for place, group in enumerate(groups)],
        "title": [group.title for group in groups],
        "peer": [group.peer for group in groups],
        "mean": [group.mean for group in groups],
        "averaged": [group.averaged for group in groups],
    }
    shown = [
        (_key(place, place_in_group, bar.name), group, bar)
        for place, group in enumerate(groups)
        for place_in_group, bar in enumerate(group.bars, 1)
    ]
    bars = {
        "line": [line for line, _, _ in shown],
        "peer": [group.peer for _, group, _ in shown],
        "here": [bar.is_here for _, _, bar in shown],
        "ratio": [bar.ratio for _, _, bar in shown],
        "low": [bar.low for _, _, bar in shown],
        "high": [bar.high for _, _, bar in shown],
        **fact_columns([bar.facts for _, _, bar in shown]),
    }
    lines = [
        _key(place, place_in_group, name)
        for place, group in enumerate(groups)
        for place_in_group, name in enumerate([group.title, *(bar.name for bar in group.bars)])
    ]
    return _chart(ink, tuple(peers)).filled(
        {"heads": heads, "bars": bars},
        lines=lines,
        ratios=[0.0, _ROOM * max([*bars["high"], *heads["mean"], _EQUAL])],
        compared=[peer for peer in peers if any(group.peer == peer for group in groups)],
        height=len(lines) * LINE + _AROUND,
    )


@template
def _chart(ink: Ink, peers: tuple[str, ...]) -> alt.LayerChart:
    y = alt.Y(
        "line:N", title=None, scale=alt.Scale(domain=several("lines", ["0|0|Per row"])), axis=_names(ink)
    )
    x = alt.X(
        "ratio:Q",
        title="times as fast as the peer, the GEMM alone",
        scale=alt.Scale(domain=several("ratios", [0.0, 1.0]), nice=False),
        axis=alt.Axis(tickCount=8, grid=True),
    )
    bars = alt.Chart(alt.NamedData("bars")).encode(y=y)
    ratio = alt.Tooltip("ratio:Q", title="times as fast as the peer", format=".3f")
    outline = alt.when(alt.datum.here).then(alt.value(ink.text)).otherwise(alt.value(None))
    chart = alt.layer(
        bars.mark_bar(size=_BAR, strokeWidth=2, aria=False).encode(
            x=x, color=_color(peers, ink), stroke=outline, tooltip=tooltip(ratio)
        ),
        bars.mark_rule(color=ink.text, strokeWidth=2).encode(x="low:Q", x2="high"),
        bars.mark_text(align="right", color=ink.text).encode(
            x=alt.value("width"), text=alt.Text("ratio:Q", format=".2f")
        ),
        *_means(y, ink),
        alt.Chart(alt.Data(values=[{}]))
        .mark_rule(color=ink.text, strokeWidth=1.5)
        .encode(x=alt.datum(_EQUAL)),
    )
    return dressed(chart.properties(height=number("height", 400)), ink)


def _color(peers: Sequence[str], ink: Ink) -> alt.Color:
    """The colors of the peers. A peer keeps its color, and the legend lists the peers of these bars."""
    compared = several("compared", peers)
    legend = alt.Legend(orient="bottom", columns=1, labelLimit=400, labelColor=ink.text, values=compared)
    return alt.Color("peer:N", title="peer", scale=alt.Scale(domain=list(peers)), legend=legend)


def _key(group: int, number: int, name: str) -> str:
    """A line's unique value on the axis. The reader sees the text after the second bar character."""
    return f"{group}|{number}|{name}"


def _names(ink: Ink) -> alt.Axis:
    """The names of the shapes; the lines of the heads, which are longer, are free."""
    return alt.Axis(
        labelExpr="split(datum.value, '|')[1] == '0' ? '' : split(datum.value, '|')[2]",
        labelColor=ink.soft,
        labelLimit=240,
        ticks=False,
        domain=False,
        labelOverlap=False,
        labelFlush=False,
        labelBound=False,
        grid=False,
    )


def _means(y: alt.Y, ink: Ink) -> tuple[alt.Chart, alt.Chart, alt.Chart]:
    """Each group's title from the left edge of the names, a diamond at its mean, and the mean in figures."""
    base = alt.Chart(alt.NamedData("heads")).encode(
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
    title = base.mark_text(align="left", color=ink.text, fontWeight="bold", clip=False).encode(
        x=alt.value(-_NAMES), text="title:N"
    )
    return title, diamond, figure
