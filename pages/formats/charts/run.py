"""A run under every scale: its loss in the end, and the loss step by step under one of them."""

from collections.abc import Sequence
from itertools import groupby

import altair as alt

from pages.formats.charts.words import power_labels
from pages.kit.charts.finish import dressed
from pages.kit.charts.ink import Ink
from pages.kit.charts.template import Filled, by_column, number, several, template

LEARNS, LOSES, CLIPPED, OVER = (
    "learns",
    "loses small numbers",
    "is slow: large numbers clipped",
    "is over: no finite loss",
)
_BROKEN = {
    LOSES: "loses\nsmall numbers",
    CLIPPED: "is slow: large\nnumbers clipped",
    OVER: "is over:\nno finite loss",
}
ENDS, HERE, BANDS, LINES = "ends", "here", "bands", "lines"
TALL = 320
_POWERS = [10.0**power for power in range(-6, 4)]
Row = dict[str, object]


def ends_chart(rows: Sequence[Row], at: int, room: int, ink: Ink) -> Filled:
    """A point a scale: `k`, `loss`, `fate` and `zeros`; a rule where the chosen scale is."""
    losses = [float(str(row["loss"])) for row in rows]
    return _ends(ink).filled(
        {ENDS: by_column(rows), HERE: {"k": [at]}, BANDS: by_column(band_rows(rows))},
        span=[min(losses) / 2, max(losses) * 10],
        height=room,
    )


def band_rows(rows: Sequence[Row]) -> list[Row]:
    """A row for each run of scales with one fate: its ends, and where its name stands."""
    last = rows[-1]["k"]
    return [
        {
            "x0": its[0] - 0.5,
            "x1": its[-1] + 0.5,
            "at": its[-1] + 0.5 if its[-1] == last else its[0] - 0.5,
            "is_last": its[-1] == last,
            "fate": fate,
            "words": _BROKEN.get(fate, fate),
        }
        for fate, run in groupby(rows, key=lambda row: str(row["fate"]))
        for its in [[int(str(row["k"])) for row in run]]
    ]


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
    bands = alt.Chart(alt.NamedData(BANDS))
    band = bands.transform_filter(alt.datum.fate == LEARNS).mark_rect(color=ink.win, aria=False)
    color = alt.when(alt.datum.fate == LEARNS).then(alt.value(ink.scale)).otherwise(alt.value(ink.lost))
    words = [
        bands.transform_filter(f"{'' if is_last else '!'}datum.is_last")
        .mark_text(
            align="right" if is_last else "left", baseline="top", dx=0 if is_last else 8, fontSize=15,
            fontWeight="bold", lineBreak="\n", aria=False,
        )
        .encode(x=alt.X("at:Q"), y=alt.value(8), text="words:N", color=color)
        for is_last in (True, False)
    ]  # fmt: skip
    learns = alt.when(alt.datum.fate == LEARNS)
    points = (
        alt.Chart(alt.NamedData(ENDS))
        .mark_point(size=90, opacity=1, strokeWidth=2)
        .encode(
            x=x,
            y=y,
            fill=learns.then(alt.value(ink.text)).otherwise(alt.value(ink.lost_area)),
            stroke=learns.then(alt.value(ink.text)).otherwise(alt.value(ink.lost)),
            shape=alt.Shape(
                "fate:N",
                legend=None,
                scale=alt.Scale(domain=fates, range=["circle", "triangle-down", "square", "cross"]),
            ),
            tooltip=[
                alt.Tooltip("fate:N", title="the run"),
                alt.Tooltip("told:N", title="loss in the end"),
                alt.Tooltip("zeros:Q", title="gradients that became 0", format=".1%"),
            ],
        )
    )
    here = alt.Chart(alt.NamedData(HERE)).mark_rule(
        color=ink.text, strokeWidth=1.5, strokeDash=[2, 3], aria=False
    )
    return dressed(
        alt.layer(
            band.encode(x=alt.X("x0:Q"), x2="x1:Q"),
            *words,
            here.encode(x="k:Q"),
            points,
            height=number("height", 500),
        ),
        ink,
    )


@template
def _steps(ink: Ink) -> alt.LayerChart:
    names = several("names", ["without rounding", "rounded"])
    # Both channels have one legend: Vega merges them, and warns where one has none.
    legend = alt.Legend(orient="bottom", columns=2, labelColor=ink.text, labelLimit=300, symbolType="stroke")
    color = alt.Color(
        "who:N", title=None, scale=alt.Scale(domain=names, range=[ink.mid, ink.text]), legend=legend
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
