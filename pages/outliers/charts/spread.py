"""The error of single channels or tokens, a row a recipe, with the error of all of it beside them."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import altair as alt

from pages.kit.charts.finish import dressed
from pages.kit.charts.ink import Ink
from pages.kit.charts.recipe_marks import Mark
from pages.kit.charts.template import Filled, by_column, number, several, template, text
from pages.kit.charts.words import percent_text

ROWS, MARKS, WORDS = "rows", "marks", "words"
_AROUND = 10
TOTAL, LARGE = "all", "outliers"
LEAST_SHOWN = 1e-5


@dataclass(frozen=True, kw_only=True)
class Spread:
    """Relative errors of the lines that are no outliers: the least, the largest, and where most of them lie.

    `total` is the error of the whole tensor, `outliers` the median of the lines that are outliers, if any.
    """

    name: str
    mark: Mark
    least: float
    low: float
    median: float
    high: float
    worst: float
    total: float
    outliers: float | None


def spread_chart(spreads: Sequence[Spread], noun: str, height: float, ink: Ink) -> Filled:
    """A row a recipe: from the least to the worst, a thick part for most of them, and three marks."""
    rows = [
        {
            "who": one.name,
            "color": one.mark.color,
            "shape": one.mark.shape,
            **{
                name: max(getattr(one, name), LEAST_SHOWN)
                for name in ("least", "low", "median", "high", "worst")
            },
            "told": percent_text(one.worst, 2),
        }
        for one in spreads
    ]
    marks = [
        {"who": one.name, "what": what, "error": max(error, LEAST_SHOWN)}
        for one in spreads
        for what, error in ((TOTAL, one.total), (LARGE, one.outliers))
        if error is not None
    ]
    words = max(map(_words, spreads), key=_room)
    errors = [row[name] for row in rows for name in ("least", "worst")] + [mark["error"] for mark in marks]
    return _template(ink).filled(
        {ROWS: by_column(rows), MARKS: by_column(marks), WORDS: by_column(words)},
        names=[one.name for one in spreads],
        errors=[min(errors) / 1.3, max(errors) * 1.3],
        axis=f"error of a {noun}, ‖e‖ / ‖x‖",
        height=height - _AROUND,
    )


def _words(one: Spread) -> list[dict[str, object]]:
    """The names of the marks of a row; one row has them, where they have most room."""
    found = {"median": one.median, "worst": one.worst, TOTAL: one.total, LARGE: one.outliers}
    there = sorted((max(error, LEAST_SHOWN), name) for name, error in found.items() if error is not None)
    return [
        {"who": one.name, "word": name, "error": error, "is_below": place % 2 == 1}
        for place, (error, name) in enumerate(there)
    ]


def _room(words: Sequence[dict[str, float]]) -> float:
    errors = sorted(word["error"] for word in words)
    return min((high / low for low, high in pairwise(errors)), default=0.0)


@template
def _template(ink: Ink) -> alt.LayerChart:
    who = alt.Y(
        "who:N",
        title=None,
        scale=alt.Scale(domain=several("names", ["MXFP8"])),
        axis=alt.Axis(labelLimit=150, ticks=False, domain=False, labelFontSize=15, labelColor=ink.text),
    )
    scale = alt.Scale(
        type="log", domain=several("errors", [0.001, 1.0]), nice=False,
        range=[0, alt.ExprRef("width - 50")],
    )  # fmt: skip
    axis = alt.Axis(format="~%", values=_TICKS, labelOverlap="greedy")
    x = alt.X("least:Q", title=text("axis", "error"), scale=scale, axis=axis)
    color = alt.Color("color:N", scale=None)
    rows = alt.Chart(alt.NamedData(ROWS)).encode(y=who)
    tooltip = [
        alt.Tooltip("who:N", title="recipe"),
        *(
            alt.Tooltip(f"{name}:Q", title=title, format=".3~p")
            for name, title in (("least", "least"), ("median", "median"), ("worst", "worst"))
        ),
    ]
    marks = alt.Chart(alt.NamedData(MARKS)).encode(
        x=alt.X("error:Q"),
        y=who,
        tooltip=[
            alt.Tooltip("who:N", title="recipe"),
            alt.Tooltip("what:N", title="error of"),
            alt.Tooltip("error:Q", title="error", format=".3~p"),
        ],
    )
    words = alt.Chart(alt.NamedData(WORDS)).encode(x=alt.X("error:Q"), y=who, text="word:N")
    said = {"fontSize": 14, "color": ink.text}
    layers = [
        rows.mark_rule(color=ink.line, strokeWidth=2).encode(x=x, x2="worst:Q", tooltip=tooltip),
        rows.mark_bar(opacity=0.35, size=26).encode(
            x=alt.X("low:Q"), x2="high:Q", color=color, tooltip=tooltip
        ),
        rows.mark_point(size=190, filled=True, opacity=1).encode(
            x=alt.X("median:Q"), color=color, shape=alt.Shape("shape:N", scale=None), tooltip=tooltip
        ),
        rows.mark_tick(thickness=3, size=26, color=ink.lost).encode(x=alt.X("worst:Q"), tooltip=tooltip),
        rows.mark_text(align="left", dx=8, color=ink.lost, fontWeight=600, fontSize=15).encode(
            x=alt.X("worst:Q"), text="told:N"
        ),
        marks.transform_filter(f"datum.what == '{TOTAL}'").mark_tick(thickness=3, size=44, color=ink.text),
        marks.transform_filter(f"datum.what == '{LARGE}'").mark_point(
            size=170, filled=True, opacity=1, color=ink.gold, stroke=ink.text, strokeWidth=1.5, shape="circle"
        ),
        words.transform_filter("!datum.is_below").mark_text(dy=-30, **said),
        words.transform_filter("datum.is_below").mark_text(dy=32, **said),
    ]
    return dressed(alt.layer(*layers, height=number("height", 280)), ink)


_TICKS = [float(f"{digit}e{power}") for power in range(-5, 2) for digit in (1, 2, 5)]
