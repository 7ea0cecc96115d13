"""Errors of single channels or tokens, a row a recipe."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import altair as alt

from pages.kit.charts.ink import Ink
from pages.kit.charts.named_rows import Rows, across, columns, names, row_axis
from pages.kit.charts.parts import dressed, tips
from pages.kit.charts.recipe_marks import Mark
from pages.kit.charts.template import Filled, by_column, number, several, template, text
from pages.kit.charts.words import percent_text

ROWS, MARKS, WORDS = "rows", "marks", "words"
# Pixels around the chart, of its axis, and of a row at most.
_AROUND, _AXIS, _MOST = 10, 60, 125
TOTAL, LARGE = "all", "outliers"
_LEAST = 1e-5


@dataclass(frozen=True, kw_only=True)
class Spread:
    """Relative errors of the lines that are no outliers: ends, 5th and 95th percentile, median.

    `total` is the error of the whole tensor, `outliers` the median of the outlier lines.
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


def spread_chart(spreads: Sequence[Spread], noun: str, room: float, ink: Ink) -> Filled:
    fields = ("least", "low", "median", "high", "worst")
    rows = [
        {"y": y, "who": one.name, "figure": percent_text(one.worst, 2)}
        | {field: max(getattr(one, field), _LEAST) for field in fields}
        for y, one in enumerate(spreads)
    ]
    marks = [
        {"y": y, "who": one.name, "what": what, "error": max(error, _LEAST)}
        for y, one in enumerate(spreads)
        for what, error in ((TOTAL, one.total), (LARGE, one.outliers))
        if error is not None
    ]
    words = max((_words(y, one) for y, one in enumerate(spreads)), key=_gap)
    errors = [row[name] for row in rows for name in ("least", "worst")] + [mark["error"] for mark in marks]
    labels = columns([one.name for one in spreads], [one.mark for one in spreads])
    return _template(ink).filled(
        {ROWS: by_column(rows) | labels, MARKS: by_column(marks), WORDS: by_column(words)},
        errors=[min(errors) / 1.3, max(errors) * 1.3],
        axis=f"error of a {noun}, ‖e‖ / ‖x‖",
        **Rows(count=len(spreads), room=room - _AROUND, around=_AXIS, most=_MOST).holes(),
    )


def _words(y: int, one: Spread) -> list[dict[str, object]]:
    """The names of the marks of a row, for the row with most room."""
    errors = {"median": one.median, "worst": one.worst, TOTAL: one.total, LARGE: one.outliers}
    marks = sorted((max(error, _LEAST), name) for name, error in errors.items() if error is not None)
    return [
        {"y": y, "word": name, "error": error, "is_lower": number % 2 == 1}
        for number, (error, name) in enumerate(marks)
    ]


def _gap(words: Sequence[dict[str, float]]) -> float:
    errors = sorted(word["error"] for word in words)
    return min((high / low for low, high in pairwise(errors)), default=0.0)


@template
def _template(ink: Ink) -> alt.LayerChart:
    y = row_axis()
    scale = alt.Scale(type="log", domain=several("errors", [0.001, 1.0]), nice=False, range=across(50, 50))
    axis = alt.Axis(format="~%", values=_TICKS, labelOverlap="greedy")
    x = alt.X("least:Q", title=text("axis", "error"), scale=scale, axis=axis)
    color = alt.Color("color:N", scale=None)
    rows = alt.Chart(alt.NamedData(ROWS)).encode(y=y)
    errors = (alt.Tooltip(f"{name}:Q", format=".3~p") for name in ("least", "median", "worst"))
    tooltip = [alt.Tooltip("who:N", title="recipe"), *errors]
    marks = alt.Chart(alt.NamedData(MARKS)).encode(
        x=alt.X("error:Q"),
        y=y,
        tooltip=tips(("who:N", "recipe"), ("what:N", "error of"), ("error:Q", "error", ".3~p")),
    )
    words = alt.Chart(alt.NamedData(WORDS)).encode(x=alt.X("error:Q"), y=y, text="word:N")
    style = {"fontSize": 14, "color": ink.text}
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
            x=alt.X("worst:Q"), text="figure:N"
        ),
        marks.transform_filter(f"datum.what == '{TOTAL}'").mark_tick(thickness=3, size=34, color=ink.text),
        marks.transform_filter(f"datum.what == '{LARGE}'").mark_point(
            size=170, filled=True, opacity=1, color=ink.gold, stroke=ink.text, strokeWidth=1.5, shape="circle"
        ),
        words.transform_filter("!datum.is_lower").mark_text(dy=27, **style),
        words.transform_filter("datum.is_lower").mark_text(dy=44, **style),
        *names(rows, y, ink),
    ]
    return dressed(alt.layer(*layers, height=number("height", 280)), ink)


_TICKS = [float(f"{digit}e{power}") for power in range(-5, 2) for digit in (1, 2, 5)]
