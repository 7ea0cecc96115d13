"""Speed of quantizing kernels over that of a copy: a mark each, and a hollow one for torch.compile."""

from collections.abc import Sequence
from dataclasses import dataclass

import altair as alt

from pages.kit.charts.finish import dressed
from pages.kit.charts.ink import Ink
from pages.kit.charts.named_rows import SHAPE, Rows, across, columns, dots, names, reference, row_axis
from pages.kit.charts.recipe_marks import mark_of
from pages.kit.charts.template import Filled, number, several, template

OURS, COMPILED = "this project", "torch.compile"
BARS, POINTS = "bars", "points"
_FIELDS = ("line", "who", "ratio", "time", "rate", "told")


@dataclass(frozen=True, kw_only=True)
class Quantizer:
    """One kernel: its name, and for ours and torch.compile's the ratio to a copy, with what is told of it."""

    line: str
    recipe: str
    ratio: float
    time: str
    rate: str
    told: str
    compiled: float | None
    compiled_time: str
    compiled_rate: str


def ratio_chart(found: Sequence[Quantizer], room: float, ink: Ink) -> Filled:
    """A line a kernel, from top to bottom, at most `room` pixels high; 1 is the speed of a copy."""
    bars = [(one.line, OURS, one.ratio, one.time, one.rate, one.told) for one in found]
    points = [
        (place, one, (one.line, COMPILED, one.compiled, one.compiled_time, one.compiled_rate, one.told))
        for place, one in enumerate(found)
        if one.compiled is not None
    ]
    compiled = _columns([point for _, _, point in points])
    compiled["y"] = [place for place, _, _ in points]
    compiled["color"] = [mark_of(one.recipe).color for _, one, _ in points]
    compiled["shape"] = [mark_of(one.recipe).shape for _, one, _ in points]
    most = max([1.0, *(bar[2] for bar in bars), *(point[2] for _, _, point in points)])
    zero = {"zero": [0.0] * len(found)}
    named = zero | columns([one.line for one in found], [mark_of(one.recipe) for one in found])
    return _chart(ink).filled(
        {BARS: named | _columns(bars), POINTS: compiled},
        ratios=[0.0, 1.02 * most],
        **Rows(len(found), room, around=88, most=60).holes(),
    )


def _columns(rows: Sequence[tuple[object, ...]]) -> dict[str, list[object]]:
    return {field: [row[place] for row in rows] for place, field in enumerate(_FIELDS)}


@template
def _chart(ink: Ink) -> alt.LayerChart:
    y = row_axis()
    x = alt.X(
        "ratio:Q",
        title="times the speed of a copy (hollow: torch.compile)",
        scale=alt.Scale(domain=several("ratios", [0.0, 1.0]), range=across(64, 44, names=280), nice=False),
        axis=alt.Axis(
            tickCount=6,
            format=".1f",
            domain=False,
            ticks=False,
            labelExpr="datum.value === 1 ? 'a copy = 1' : datum.label",
        ),
    )
    tooltip = [
        alt.Tooltip("line:N", title="quantizes"),
        alt.Tooltip("who:N", title="by"),
        alt.Tooltip("ratio:Q", title="of a copy's speed", format=".3f"),
        alt.Tooltip("time:N", title="time"),
        alt.Tooltip("rate:N", title="least bytes over time"),
        alt.Tooltip("told:N", title="also"),
    ]
    bars, points = alt.Chart(alt.NamedData(BARS)), alt.Chart(alt.NamedData(POINTS))
    hollow = points.mark_point(filled=True, size=80, opacity=1, fill=ink.page, strokeWidth=2)
    stem, point = dots(bars, x, y, tooltip, low="zero", high="ratio", size=95)
    chart = alt.layer(
        reference(1, x, ink),
        stem.encode(opacity=alt.value(0.5)),
        hollow.encode(x=x, y=y, shape=SHAPE, stroke=alt.Stroke("color:N", scale=None), tooltip=tooltip),
        point.encode(opacity=alt.value(1)),
        bars.mark_text(
            align="right", baseline="middle", fontSize=15, fontWeight="bold", color=ink.text
        ).encode(x=alt.value(alt.ExprRef("width")), y=y, text=alt.Text("ratio:Q", format=".2f")),
        *names(bars, y, ink),
    )
    return dressed(chart.properties(height=number("height", 400)), ink)
