"""A run under every scale: its loss in the end, and the loss step by step under one of them."""

from collections.abc import Sequence

import altair as alt

from pages.kit.charts.finish import dressed
from pages.kit.charts.ink import Ink
from pages.kit.charts.template import Filled, by_column, several, template
from pages.sections.formats.charts.words import power_labels

LEARNS, LOSES, CLIPPED, OVER = (
    "learns",
    "loses small numbers",
    "is slow: large ones clipped",
    "is over: no finite loss",
)
ENDS, HERE, LINES = "ends", "here", "lines"
TALL = 320
_POWERS = [10.0**power for power in range(-6, 4)]
Row = dict[str, object]


def ends_chart(rows: Sequence[Row], at: int, ink: Ink) -> Filled:
    """A point a scale: `k`, `loss`, `fate` and `zeros`; a rule where the chosen scale is."""
    losses = [float(str(row["loss"])) for row in rows]
    return _ends(ink).filled(
        {ENDS: by_column(rows), HERE: {"k": [at]}}, span=[min(losses) / 2, max(losses) * 2]
    )


def steps_chart(rows: Sequence[Row], names: Sequence[str], ink: Ink) -> Filled:
    """A line a run: `step`, `loss` and `who`."""
    return _steps(ink).filled({LINES: by_column(rows)}, names=[*names])


@template
def _ends(ink: Ink) -> alt.LayerChart:
    x = alt.X(
        "k:Q",
        title="scale of the gradients",
        scale=alt.Scale(nice=False, padding=10),
        axis=alt.Axis(labelExpr=power_labels("datum.value"), tickMinStep=1, grid=False, labelOverlap=True),
    )
    y = alt.Y(
        "loss:Q",
        title="loss in the end",
        scale=alt.Scale(type="log", domain=several("span", [1e-4, 10.0]), nice=False),
        axis=alt.Axis(format="~g", values=_POWERS),
    )
    fates = [LEARNS, LOSES, CLIPPED, OVER]
    points = (
        alt.Chart(alt.NamedData(ENDS))
        .mark_point(size=60, filled=True, opacity=1)
        .encode(
            x=x,
            y=y,
            color=alt.Color(
                "fate:N",
                title=None,
                scale=alt.Scale(domain=fates, range=[ink.m, ink.lost, ink.n, ink.k]),
                legend=alt.Legend(orient="bottom", columns=2, labelColor=ink.text, labelLimit=240),
            ),
            shape=alt.Shape(
                "fate:N", scale=alt.Scale(domain=fates, range=["circle", "triangle-up", "square", "cross"])
            ),
            tooltip=[
                alt.Tooltip("fate:N", title="the run"),
                alt.Tooltip("told:N", title="loss in the end"),
                alt.Tooltip("zeros:Q", title="gradients that became 0", format=".1%"),
            ],
        )
    )
    here = alt.Chart(alt.NamedData(HERE)).mark_rule(color=ink.text, strokeWidth=2, aria=False)
    return dressed(alt.layer(here.encode(x="k:Q"), points, height=TALL), ink)


@template
def _steps(ink: Ink) -> alt.LayerChart:
    names = several("names", ["without rounding", "rounded"])
    # Both channels have one legend: Vega merges them, and warns where one has none.
    legend = alt.Legend(orient="bottom", columns=2, labelColor=ink.text, labelLimit=300, symbolType="stroke")
    color = alt.Color(
        "who:N", title=None, scale=alt.Scale(domain=names, range=[ink.soft, ink.lost]), legend=legend
    )
    dash = alt.StrokeDash(
        "who:N", title=None, scale=alt.Scale(domain=names, range=[[6, 4], [1, 0]]), legend=legend
    )
    lines = (
        alt.Chart(alt.NamedData(LINES))
        .mark_line(strokeWidth=2.5)
        .encode(
            x=alt.X("step:Q", title="step", axis=alt.Axis(grid=False)),
            y=alt.Y(
                "loss:Q",
                title="loss",
                scale=alt.Scale(type="log"),
                axis=alt.Axis(format="~g", values=_POWERS),
            ),
            color=color,
            strokeDash=dash,
        )
    )
    return dressed(alt.layer(lines, height=TALL), ink)
