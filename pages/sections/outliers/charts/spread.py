"""The error of single channels or tokens, a line a recipe, with the error of all of it beside them."""

from collections.abc import Sequence
from dataclasses import dataclass

import altair as alt

from pages.kit.charts.finish import dressed
from pages.kit.charts.ink import Ink
from pages.kit.charts.template import Filled, by_column, number, several, template, text

ROWS, MARKS = "rows", "marks"
TALL, AROUND = 44, 100
SMALL, TOTAL, LARGE = "median of the small ones", "all of the tensor", "median of the outliers"
LEAST_SHOWN = 1e-5


@dataclass(frozen=True, kw_only=True)
class Spread:
    """Relative errors of the lines that are no outliers: the least, the largest, and where most of them lie.

    `total` is the error of the whole tensor, `outliers` the median of the lines that are outliers, if any.
    """

    name: str
    least: float
    low: float
    median: float
    high: float
    worst: float
    total: float
    outliers: float | None


def spread_chart(spreads: Sequence[Spread], ink: Ink) -> Filled:
    """A row a recipe: from the least to the worst, a thick part for most of them, and three marks."""
    rows = [
        {
            "who": one.name,
            **{
                name: max(getattr(one, name), LEAST_SHOWN)
                for name in ("least", "low", "median", "high", "worst")
            },
        }
        for one in spreads
    ]
    marks = [
        {"who": one.name, "what": what, "error": max(error, LEAST_SHOWN)}
        for one in spreads
        for what, error in ((SMALL, one.median), (TOTAL, one.total), (LARGE, one.outliers))
        if error is not None
    ]
    errors = [row[name] for row in rows for name in ("least", "worst")] + [mark["error"] for mark in marks]
    return _template(ink).filled(
        {ROWS: by_column(rows), MARKS: by_column(marks)},
        names=[one.name for one in spreads],
        errors=[min(errors) / 1.3, max(errors) * 1.3],
        axis="error of a line, ‖e‖ / ‖x‖",
        height=TALL * len(spreads) + AROUND,
    )


@template
def _template(ink: Ink) -> alt.LayerChart:
    who = alt.Y(
        "who:N",
        title=None,
        scale=alt.Scale(domain=several("names", ["MXFP8"])),
        axis=alt.Axis(labelLimit=150, ticks=False, domain=False),
    )
    scale = alt.Scale(type="log", domain=several("errors", [0.001, 1.0]), nice=False)
    axis = alt.Axis(format="~%", values=_TICKS, labelOverlap="greedy")
    x = alt.X("least:Q", title=text("axis", "error"), scale=scale, axis=axis)
    rows = alt.Chart(alt.NamedData(ROWS)).encode(y=who)
    tooltip = [
        alt.Tooltip("who:N", title="recipe"),
        *(
            alt.Tooltip(f"{name}:Q", title=title, format=".3~p")
            for name, title in (("least", "least"), ("median", "median"), ("worst", "worst"))
        ),
    ]
    whole = rows.mark_rule(color=ink.soft, strokeWidth=2).encode(x=x, x2="worst:Q", tooltip=tooltip)
    most = rows.mark_bar(color=ink.scale, opacity=0.45, size=18).encode(
        x=alt.X("low:Q"), x2="high:Q", tooltip=tooltip
    )
    kinds = alt.Scale(domain=[SMALL, TOTAL, LARGE], range=["circle", "diamond", "cross"])
    shades = alt.Scale(domain=[SMALL, TOTAL, LARGE], range=[ink.scale, ink.text, ink.lost])
    legend = alt.Legend(title=None, orient="bottom", labelColor=ink.text, symbolSize=110, columns=3)
    marks = (
        alt.Chart(alt.NamedData(MARKS))
        .mark_point(size=130, filled=True, opacity=1, strokeWidth=3)
        .encode(
            x=alt.X("error:Q"),
            y=who,
            shape=alt.Shape("what:N", scale=kinds, legend=legend),
            color=alt.Color("what:N", scale=shades, legend=legend),
            tooltip=[
                alt.Tooltip("who:N", title="recipe"),
                alt.Tooltip("what:N", title="error of"),
                alt.Tooltip("error:Q", title="error", format=".3~p"),
            ],
        )
    )
    return dressed(alt.layer(whole, most, marks, height=number("height", 280)), ink)


_TICKS = [float(f"{digit}e{power}") for power in range(-5, 2) for digit in (1, 2, 5)]
