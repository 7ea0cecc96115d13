"""Peak rates, a line for each GPU, and a transformer's parts, a box for each."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import altair as alt

from pages.kit.charts.ink import Ink
from pages.kit.charts.legible import NARROW
from pages.kit.charts.parts import tips
from pages.kit.charts.recipe_marks import BF16_COLOR
from pages.kit.charts.template import Filled, by_column, number, several, template, text

MARKS, ROWS = "marks", "rows"
MEMORY = "memory"
_FLAT = 300  # pixels of the plot: a flatter picture, as on a projector, has smaller words


def rates_chart(peaks: Sequence[Mapping[str, Any]], axis: str, room: int, ink: Ink) -> Filled:
    """A line a `gpu`, a mark a rate: its kind `what`, its place `at` on the axis, its value in `words`.

    Memory is no rate of the tensor cores: its mark is below their line.
    """
    gpus = list(dict.fromkeys(peak["gpu"] for peak in peaks))
    rates = [peak for peak in peaks if peak["what"] != MEMORY]
    above, below = 0.6 if len(rates) == len(peaks) else 0.4, 0.88
    most = max((peak["at"] for peak in peaks if peak["what"] == MEMORY), default=0)
    marks = [
        peak
        | {"line": gpus.index(peak["gpu"]) + (below if peak["what"] == MEMORY else above)}
        | {"is_most": peak["at"] == most}
        for peak in peaks
    ]
    lines = [
        {"line": row + above, "name": gpu, "x0": min(its), "x1": max(its)}
        for row, gpu in enumerate(gpus)
        for its in [[peak["at"] for peak in rates if peak["gpu"] == gpu]]
    ]
    low, high = (end(peak["at"] for peak in peaks) for end in (min, max))
    powers = [2.0**k for k in range(math.floor(math.log2(low)), math.ceil(math.log2(high)) + 1)]
    ticks = powers if high < 100 else [100.0 * 2**k for k in range(8)]
    return _rates(ink).filled(
        {MARKS: by_column(marks), ROWS: by_column(lines)},
        across=[low / 3, high * 1.4],
        ticks=ticks,
        axis=axis,
        rows=len(gpus),
        height=room,
    )


@template
def _rates(ink: Ink) -> alt.LayerChart:
    scale = alt.Scale(type="log", base=2, domain=several("across", [1.0, 2.0]), nice=False)
    x = alt.X(
        "at:Q",
        title=text("axis", "dense TFLOP/s"),
        scale=scale,
        axis=alt.Axis(values=several("ticks", [1.0]), format=",~g", grid=True, domain=False, ticks=False),
    )
    y = {"scale": alt.Scale(domain=[0, number("rows", 6)], reverse=True, nice=False), "axis": None}
    rows, marks = alt.Chart(alt.NamedData(ROWS)), alt.Chart(alt.NamedData(MARKS))
    line = rows.mark_rule(color=ink.line, strokeWidth=1.5).encode(
        x=alt.X("x0:Q", scale=scale), x2="x1:Q", y=alt.Y("line:Q", **y)
    )
    name = rows.mark_text(
        align="left", baseline="middle", dy=-24, fontSize=15, fontWeight="bold", color=ink.text
    ).encode(x=alt.value(0), y=alt.Y("line:Q", **y), text="name:N")
    kinds = ["tf32", "bf16", "fp8", "fp4", MEMORY]

    def look(values: list[str]) -> dict[str, Any]:
        return {"legend": None, "scale": alt.Scale(domain=kinds, range=values)}

    point = marks.mark_point(size=170, opacity=1, strokeWidth=2.5).encode(
        x=x,
        y=alt.Y("line:Q", **y),
        shape=alt.Shape("what:N", **look(["circle", "circle", "circle", "diamond", "square"])),
        stroke=alt.Stroke("what:N", **look([ink.line, BF16_COLOR, ink.text, ink.text, ink.scale])),
        fill=alt.Fill("what:N", **look([ink.line, ink.page, ink.text, ink.text, ink.page])),
        tooltip=tips(("what:N", "rate of"), ("words:N", "at most")),
    )
    words = _words(marks.encode(x=x, y=alt.Y("line:Q", **y)), ink)
    chart = alt.layer(line, point, *words, name, height=number("height", 480))
    return chart.configure_view(stroke=None).configure_axis(gridColor=ink.hair)


def _words(marks: alt.Chart, ink: Ink) -> list[alt.Chart]:
    is_flat = f"height < {_FLAT}"
    size = alt.ExprRef(f"containerSize()[0] < {NARROW} || {is_flat} ? 12 : 14")
    words = {"fontSize": size}
    is_fp8 = alt.when(alt.datum.what == "fp8").then(alt.value(ink.text)).otherwise(alt.value(ink.soft))
    rates, memory = (marks.transform_filter(f"datum.what {sign} '{MEMORY}'") for sign in ("!=", "=="))
    above = rates.mark_text(
        baseline="bottom", dy=alt.ExprRef(f"{is_flat} ? -7 : -10"), fontWeight="bold", **words
    )
    below = rates.mark_text(baseline="top", dy=alt.ExprRef(f"{is_flat} ? 8 : 11"), **words)
    beside = {"baseline": "middle", "color": ink.scale}
    return [
        above.encode(text="words:N", color=is_fp8),
        below.encode(text="what:N", color=is_fp8),
        memory.mark_text(align="right", dx=-14, **beside, fontSize=size).encode(text="what:N"),
        *(
            memory.transform_filter(which)
            .mark_text(align="left", dx=14, **beside, fontWeight="bold", fontSize=alt.ExprRef(pixels))
            .encode(text="words:N")
            for which, pixels in (("datum.is_most", f"{is_flat} ? 17 : 24"), ("!datum.is_most", "14"))
        ),
    ]


BOXES = "boxes"
_FILL = 0.82  # a box's share of its row


def block(boxes: Sequence[Mapping[str, Any]], room: int, ink: Ink) -> Filled:
    rows = [
        box
        | {
            "top": row + (1 - _FILL) / 2,
            "middle": row + 0.5,
            "bottom": row + (1 + _FILL) / 2,
            "share": box["share"] or 0.0,
            "words": "" if box["share"] is None else f"{box['share']:.1%}",
        }
        for row, box in enumerate(boxes)
    ]
    return _block(ink).filled({BOXES: by_column(rows)}, rows=len(boxes), height=room)


@template
def _block(ink: Ink) -> alt.LayerChart:
    down = {"scale": alt.Scale(domain=[0, number("rows", 8)], reverse=True, nice=False), "axis": None}
    x = alt.X("x0:Q", scale=alt.Scale(domain=[0, 1], nice=False), axis=None)
    base = alt.Chart(alt.NamedData(BOXES))

    def of_fp8(color: str, other: str) -> Any:
        return alt.when(alt.datum.format == "fp8").then(alt.value(color)).otherwise(alt.value(other))

    tooltip = tips(
        ("title:N", "part"),
        ("format:N", "computed in"),
        ("words:N", "share of the matmuls' work"),
        ("why:N", "why"),
    )
    frames = base.transform_calculate(x0="0", x1="1").mark_rect(cornerRadius=3, strokeWidth=1.5)
    bars = base.transform_filter(alt.datum.share > 0).transform_calculate(x0="0")
    names = base.mark_text(align="left", dx=64, fontSize=15, color=ink.text)
    formats = base.mark_text(align="left", dx=10, fontSize=15, fontWeight="bold")
    figures = base.mark_text(align="right", dx=-12, fontSize=18, fontWeight="bold", color=ink.text)
    ends, middle = {"y": alt.Y("top:Q", **down), "y2": "bottom"}, alt.Y("middle:Q", **down)
    stroke, fill = of_fp8(ink.text, ink.line), of_fp8(ink.ramp[1], ink.hair)
    chart = alt.layer(
        frames.encode(x=x, x2="x1", **ends, fill=alt.value(ink.page), stroke=stroke, tooltip=tooltip),
        bars.mark_rect(cornerRadius=3).encode(x=x, x2="share", **ends, fill=fill),
        names.encode(x=alt.value(0), y=middle, text="title:N"),
        formats.encode(x=alt.value(0), y=middle, text="format:N", color=of_fp8(ink.text, ink.soft)),
        figures.encode(x=alt.value("width"), y=middle, text="words:N"),
        height=number("height", 320),
    )
    return chart.configure_view(stroke=None)
