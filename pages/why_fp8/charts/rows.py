"""A transformer from top to bottom: a box a part, its format, and its share of the work."""

from collections.abc import Sequence
from dataclasses import dataclass

import altair as alt

from pages.kit.charts.ink import Ink
from pages.kit.charts.template import Filled, number, template

_FILL = 0.82
BOXES = "boxes"


@dataclass(frozen=True, kw_only=True)
class Box:
    """A part: how it is computed, its share of all operations or None, and why."""

    title: str
    format: str
    share: float | None
    why: str


def block(boxes: Sequence[Box], room: int, ink: Ink) -> Filled:
    """The boxes, the first at the top, within `room` pixels."""
    rows = {
        "top": [place + (1 - _FILL) / 2 for place in range(len(boxes))],
        "bottom": [place + (1 + _FILL) / 2 for place in range(len(boxes))],
        "middle": [place + 0.5 for place in range(len(boxes))],
        "title": [box.title for box in boxes],
        "format": [box.format for box in boxes],
        "share": [box.share or 0.0 for box in boxes],
        "words": ["" if box.share is None else f"{box.share:.1%}" for box in boxes],
        "why": [box.why for box in boxes],
    }
    return _chart(ink).filled({BOXES: rows}, rows=len(boxes), height=room)


@template
def _chart(ink: Ink) -> alt.LayerChart:
    y = {"scale": alt.Scale(domain=[0, number("rows", 8)], reverse=True, nice=False), "axis": None}
    x = alt.Scale(domain=[0, 1], nice=False)
    base = alt.Chart(alt.NamedData(BOXES))
    is_fp8 = alt.datum.format == "fp8"
    tooltip = [
        alt.Tooltip("title:N", title="part"),
        alt.Tooltip("format:N", title="computed in"),
        alt.Tooltip("words:N", title="share of the matmuls' work"),
        alt.Tooltip("why:N", title="why"),
    ]
    frames = (
        base.transform_calculate(x0="0", x1="1")
        .mark_rect(cornerRadius=3, strokeWidth=1.5)
        .encode(
            x=alt.X("x0:Q", scale=x, axis=None),
            x2="x1",
            y=alt.Y("top:Q", **y),
            y2="bottom",
            fill=alt.value(ink.page),
            stroke=alt.when(is_fp8).then(alt.value(ink.text)).otherwise(alt.value(ink.line)),
            tooltip=tooltip,
        )
    )
    bars = (
        base.transform_filter(alt.datum.share > 0)
        .transform_calculate(x0="0")
        .mark_rect(cornerRadius=3, aria=False)
        .encode(
            x=alt.X("x0:Q", scale=x, axis=None),
            x2="share",
            y=alt.Y("top:Q", **y),
            y2="bottom",
            fill=alt.when(is_fp8).then(alt.value(ink.ramp[1])).otherwise(alt.value(ink.hair)),
        )
    )
    names = base.mark_text(align="left", dx=64, fontSize=15, color=ink.text).encode(
        x=alt.value(0), y=alt.Y("middle:Q", **y), text="title:N"
    )
    formats = base.mark_text(align="left", dx=10, fontSize=15, fontWeight="bold").encode(
        x=alt.value(0),
        y=alt.Y("middle:Q", **y),
        text="format:N",
        color=alt.when(is_fp8).then(alt.value(ink.text)).otherwise(alt.value(ink.soft)),
    )
    figures = base.mark_text(align="right", dx=-12, fontSize=18, fontWeight="bold", color=ink.text).encode(
        x=alt.value("width"), y=alt.Y("middle:Q", **y), text="words:N"
    )
    return alt.layer(frames, bars, names, formats, figures, height=number("height", 320)).configure_view(
        stroke=None
    )
