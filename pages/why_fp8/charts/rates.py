"""Peak rates on an axis of doublings: a line for each GPU, a mark for each format of its tensor cores."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import altair as alt

from pages.kit.charts.ink import Ink
from pages.kit.charts.legible import NARROW
from pages.kit.charts.recipe_marks import BF16_COLOR
from pages.kit.charts.template import Filled, by_column, number, several, template, text

MARKS, ROWS = "marks", "rows"


@dataclass(frozen=True, kw_only=True)
class Peak:
    """One rate: the GPU's line, what it is, its place on the axis, and the value in words."""

    gpu: str
    what: str
    at: float
    words: str


def rates_chart(peaks: Sequence[Peak], axis: str, room: int, ink: Ink) -> Filled:
    """The lines from top to bottom, within `room` pixels."""
    gpus = list(dict.fromkeys(peak.gpu for peak in peaks))
    marks = [{"line": gpus.index(p.gpu) + 0.6, "what": p.what, "at": p.at, "words": p.words} for p in peaks]
    lines = [
        {"line": row + 0.6, "name": gpu, "x0": min(its), "x1": max(its)}
        for row, gpu in enumerate(gpus)
        for its in [[peak.at for peak in peaks if peak.gpu == gpu]]
    ]
    low, high = (end(peak.at for peak in peaks) for end in (min, max))
    powers = [2.0**k for k in range(math.floor(math.log2(low)), math.ceil(math.log2(high)) + 1)]
    ticks = powers if high < 100 else [100.0 * 2**k for k in range(8)]
    return _chart(ink).filled(
        {MARKS: by_column(marks), ROWS: by_column(lines)},
        across=[low / 3, high * 1.4],
        ticks=ticks,
        axis=axis,
        rows=len(gpus),
        height=room,
    )


@template
def _chart(ink: Ink) -> alt.LayerChart:
    scale = alt.Scale(type="log", base=2, domain=several("across", [1.0, 2.0]), nice=False)
    x = alt.X(
        "at:Q",
        title=text("axis", "dense TFLOP/s"),
        scale=scale,
        axis=alt.Axis(values=several("ticks", [1.0]), format=",~g", grid=True, domain=False, ticks=False),
    )
    y = {"scale": alt.Scale(domain=[0, number("rows", 6)], reverse=True, nice=False), "axis": None}
    rows, marks = alt.Chart(alt.NamedData(ROWS)), alt.Chart(alt.NamedData(MARKS))
    line = rows.mark_rule(color=ink.line, strokeWidth=1.5, aria=False).encode(
        x=alt.X("x0:Q", scale=scale), x2="x1:Q", y=alt.Y("line:Q", **y)
    )
    name = rows.mark_text(
        align="left", baseline="middle", dy=-24, fontSize=15, fontWeight="bold", color=ink.text, aria=False
    ).encode(x=alt.value(0), y=alt.Y("line:Q", **y), text="name:N")
    kinds = ["tf32", "bf16", "fp8", "fp4", "memory"]
    point = marks.mark_point(size=170, opacity=1, strokeWidth=2.5).encode(
        x=x,
        y=alt.Y("line:Q", **y),
        shape=alt.Shape(
            "what:N",
            legend=None,
            scale=alt.Scale(domain=kinds, range=["circle", "circle", "circle", "diamond", "square"]),
        ),
        stroke=alt.Stroke(
            "what:N",
            legend=None,
            scale=alt.Scale(domain=kinds, range=[ink.line, BF16_COLOR, ink.text, ink.text, ink.scale]),
        ),
        fill=alt.Fill(
            "what:N",
            legend=None,
            scale=alt.Scale(domain=kinds, range=[ink.line, ink.page, ink.text, ink.text, ink.page]),
        ),
        tooltip=[alt.Tooltip("what:N", title="rate of"), alt.Tooltip("words:N", title="at most")],
    )
    is_fp8 = alt.when(alt.datum.what == "fp8")
    size = alt.ExprRef(f"containerSize()[0] < {NARROW} ? 12 : 14")
    value = marks.mark_text(baseline="bottom", dy=-10, fontSize=size, fontWeight="bold", aria=False).encode(
        x=x,
        y=alt.Y("line:Q", **y),
        text="words:N",
        color=is_fp8.then(alt.value(ink.text)).otherwise(alt.value(ink.soft)),
    )
    what = marks.mark_text(baseline="top", dy=11, fontSize=size, aria=False).encode(
        x=x,
        y=alt.Y("line:Q", **y),
        text="what:N",
        color=is_fp8.then(alt.value(ink.text)).otherwise(alt.value(ink.soft)),
    )
    return (
        alt.layer(line, point, value, what, name, height=number("height", 480))
        .configure_view(stroke=None)
        .configure_axis(gridColor=ink.hair)
    )
