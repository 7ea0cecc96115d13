"""Outputs of a real GPU that the model gives bit for bit: a bar for each operation."""

from collections.abc import Sequence

import altair as alt

from pages.kit.charts.ink import Ink
from pages.kit.charts.legible import NARROW
from pages.kit.charts.template import Filled, by_column, number, template

BARS = "bars"
_TOP, _LOW = 0.5, 0.78
"""Where a bar begins and ends, as shares of its row; its words are above."""


def checks_chart(operations: Sequence[tuple[str, int, int]], room: int, ink: Ink) -> Filled:
    """The bars in `room` pixels of height, the first at the top: title, equal outputs, outputs."""
    rows = [
        {
            "top": place + _TOP,
            "low": place + _LOW,
            "share": equal / outputs,
            "title": title,
            "words": f"{equal:,} of {outputs:,}",
        }
        for place, (title, equal, outputs) in enumerate(operations)
    ]
    return _chart(ink).filled({BARS: by_column(rows)}, rows=len(rows), height=room)


@template
def _chart(ink: Ink) -> alt.LayerChart:
    y = {"scale": alt.Scale(domain=[0, number("rows", 7)], reverse=True, nice=False), "axis": None}
    x = alt.Scale(domain=[0, 1], nice=False)
    base = alt.Chart(alt.NamedData(BARS)).encode(y=alt.Y("top:Q", **y))
    is_whole = alt.when(alt.datum.share == 1)
    frame = (
        base.transform_calculate(x0="0", x1="1")
        .mark_rect(strokeWidth=1.2)
        .encode(
            x=alt.X("x0:Q", scale=x, axis=None),
            x2="x1:Q",
            y2="low:Q",
            fill=is_whole.then(alt.value(ink.page)).otherwise(alt.value(ink.lost_area)),
            stroke=is_whole.then(alt.value(ink.dot)).otherwise(alt.value(ink.lost)),
            tooltip=[
                alt.Tooltip("title:N", title="operation"),
                alt.Tooltip("words:N", title="equal, bit for bit"),
                alt.Tooltip("share:Q", title="share", format=".2%"),
            ],
        )
    )
    bar = (
        base.transform_calculate(x0="0")
        .mark_rect(color=ink.dot, aria=False)
        .encode(x=alt.X("x0:Q", scale=x, axis=None), x2="share:Q", y2="low:Q")
    )
    size = alt.ExprRef(f"containerSize()[0] < {NARROW} ? 12 : 15")
    word = {"baseline": "bottom", "dy": -4, "fontSize": size, "aria": False}
    title = base.mark_text(align="left", color=ink.text, **word).encode(x=alt.value(0), text="title:N")
    told = base.mark_text(align="right", fontWeight="bold", **word).encode(
        x=alt.value(alt.ExprRef("width")),
        text="words:N",
        color=is_whole.then(alt.value(ink.text)).otherwise(alt.value(ink.lost)),
    )
    return alt.layer(frame, bar, title, told, height=number("height", 500)).configure_view(stroke=None)
