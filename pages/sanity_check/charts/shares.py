"""Speed against the record: a bar a line, as a share of the recorded rate of this GPU model."""

from collections.abc import Mapping, Sequence
from typing import Any

import altair as alt

from pages.kit.charts.ink import Ink
from pages.kit.charts.template import Filled, by_column, number, several, template

NORMAL, SLOW = "normal", "slow"
_STEP = 22
_AROUND = 80
_TOP = 1.2
_ROOM_INSIDE = 0.35


def shares_chart(bars: Sequence[Mapping[str, Any]], slow_below: float, ink: Ink) -> Filled:
    """Bars with a rule at the record and a dashed rule where slow begins.

    A bar has its `name`, the `share` of the recorded rate, both rates as words, and the record's `source`.
    """
    columns = by_column(bars)
    columns["verdict"] = [SLOW if share < slow_below else NORMAL for share in columns["share"]]
    return _chart(ink, slow_below).filled(
        {"bars": columns},
        names=columns["name"],
        shares=[0.0, max(_TOP, 1.1 * max(columns["share"]))],
        height=_STEP * len(bars) + _AROUND,
    )


@template
def _chart(ink: Ink, slow_below: float) -> alt.LayerChart:
    x = alt.X(
        "share:Q",
        title="share of the recorded rate",
        axis=alt.Axis(format=".0%", tickCount=6, gridColor=ink.line, gridOpacity=0.5),
        scale=alt.Scale(domain=several("shares", [0.0, 1.0]), nice=False),
    )
    y = alt.Y(
        "name:N",
        title=None,
        scale=alt.Scale(domain=several("names", ["mxfp8 fprop"])),
        axis=alt.Axis(labelLimit=240, labelOverlap=False),
    )
    base = alt.Chart(alt.NamedData("bars")).encode(y=y, tooltip=_tooltip())
    marks = base.mark_bar(size=_STEP - 8).encode(
        x=x,
        color=alt.Color(
            "verdict:N",
            title=None,
            scale=alt.Scale(domain=[NORMAL, SLOW], range=[ink.scale, ink.lost]),
            legend=None,
        ),
    )
    said = f"format(datum.share, '.0%') + (datum.verdict === '{SLOW}' ? ' {SLOW}' : '')"
    words = base.transform_calculate(said=said).encode(text="said:N")
    inside = words.transform_filter(f"datum.share >= {_ROOM_INSIDE}").mark_text(
        align="left", dx=5, color=ink.page, x=0
    )
    outside = words.transform_filter(f"datum.share < {_ROOM_INSIDE}").mark_text(
        align="left", dx=5, color=ink.text
    )
    record = _rule(1.0, "record", [1, 0], "left", ink)
    slow = _rule(slow_below, f"slow below {slow_below:.0%}", [4, 3], "right", ink)
    chart = alt.layer(marks, *record, *slow, inside, outside.encode(x=x))
    return chart.properties(width="container", height=number("height", 200)).configure_view(stroke=None)


def _rule(at: float, name: str, dash: list[int], align: str, ink: Ink) -> tuple[alt.Chart, alt.Chart]:
    """A vertical rule, and its name above the bars."""
    data = alt.Chart(alt.Data(values=[{"at": at, "name": name}]))
    away = 4 if align == "left" else -4
    return (
        data.mark_rule(color=ink.text, strokeWidth=1.5, strokeDash=dash).encode(x="at:Q"),
        data.mark_text(color=ink.soft, align=align, dx=away, dy=-8, y=0).encode(x="at:Q", text="name:N"),
    )


def _tooltip() -> list[alt.Tooltip]:
    return [
        alt.Tooltip("name:N", title="line"),
        alt.Tooltip("rate:N", title="measured"),
        alt.Tooltip("recorded:N", title="recorded"),
        alt.Tooltip("share:Q", title="share", format=".1%"),
        alt.Tooltip("source:N", title="record"),
    ]
