"""Speed of quantizing kernels over that of a copy: a mark each, and a hollow one for torch.compile."""

from collections.abc import Sequence
from dataclasses import dataclass

import altair as alt

from pages.kit.charts.finish import dressed
from pages.kit.charts.ink import Ink
from pages.kit.charts.named_rows import SHAPE, Rows, across, dots, names, reference, row_axis
from pages.kit.charts.recipe_marks import mark_of
from pages.kit.charts.template import Filled, number, several, template

OURS, COMPILED = "this project", "torch.compile"
BARS, POINTS = "bars", "points"


@dataclass(frozen=True, kw_only=True)
class Quantizer:
    """A timed kernel: its row, what it quantizes, by whom, its speed over a copy's, and its words."""

    y: int
    name: str
    recipe: str
    who: str
    ratio: float
    time: str
    rate: str
    note: str


def ratio_chart(ours: Sequence[Quantizer], peers: Sequence[Quantizer], room: float, ink: Ink) -> Filled:
    """A row a kernel, from top to bottom, at most `room` pixels high; 1 is the speed of a copy."""
    most = max([1.0, *(one.ratio for one in (*ours, *peers))])
    return _chart(ink).filled(
        {BARS: _columns(ours), POINTS: _columns(peers)},
        ratios=[0.0, 1.02 * most],
        **Rows(len(ours), room, around=88, most=60).holes(),
    )


def _columns(kernels: Sequence[Quantizer]) -> dict[str, list[object]]:
    marks = [mark_of(one.recipe) for one in kernels]
    fields = {name: [getattr(one, name) for one in kernels] for name in Quantizer.__dataclass_fields__}
    return fields | {
        "zero": [0.0] * len(kernels),
        "color": [mark.color for mark in marks],
        "shape": [mark.shape for mark in marks],
    }


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
        alt.Tooltip("name:N", title="quantizes"),
        alt.Tooltip("who:N", title="by"),
        alt.Tooltip("ratio:Q", title="of a copy's speed", format=".3f"),
        alt.Tooltip("time:N", title="time"),
        alt.Tooltip("rate:N", title="least bytes over time"),
        alt.Tooltip("note:N", title="also"),
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
