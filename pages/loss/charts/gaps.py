"""Rows of gaps: the ends of runs over the band of bf16's seeds, and our gaps beside published ones."""

from collections.abc import Mapping, Sequence
from typing import Any

import altair as alt

from pages.kit.charts.ink import Ink
from pages.kit.charts.named_rows import WIDE, Rows, across, columns, dots, names, row_axis
from pages.kit.charts.parts import dressed, tips
from pages.kit.charts.recipe_marks import mark_of
from pages.kit.charts.template import Filled, by_column, number, several, template

Row = Mapping[str, Any]
POINTS, BAND, DELTA, ROWS, PAIRS = "points", "band", "delta", "rows", "pairs"


def ends_chart(
    ends: Mapping[str, Sequence[float]],
    recipes: Mapping[str, str],
    band: tuple[float, float],
    delta: float,
    room: float,
    ink: Ink,
) -> Filled:
    """A row for each kind of run, a point for each run, and a dashed line at `delta`; `recipes` by title."""
    values = [value for each in ends.values() for value in each]
    low, high = min([*values, band[0], -delta]), max([*values, band[1], delta])
    edge = 0.04 * (high - low)
    rows = columns(list(ends), [mark_of(recipes.get(title)) for title in ends])
    points = [
        {"y": y, "who": title, "percent": value, "color": color, "shape": shape}
        for y, title, color, shape in zip(*rows.values(), strict=True)
        for value in ends[title]
    ]
    return _ends(ink).filled(
        {
            POINTS: by_column(points),
            BAND: {"low": [band[0]], "high": [band[1]]},
            DELTA: {"percent": [delta], "words": [f"to be shown: {delta:g}%"]},
            ROWS: rows,
        },
        reach=[low - edge, high + edge],
        **Rows(len(ends), room, around=62).holes(),
    )


@template
def _ends(ink: Ink) -> alt.LayerChart:
    scale = alt.Scale(domain=several("reach", [-1.0, 1.0]), range=across(16, 12), nice=False)
    axis = alt.Axis(format="+.3~g", tickCount=8, domain=False, ticks=False)

    def x(field: str) -> alt.X:
        return alt.X(f"{field}:Q", title="last loss above the mean of bf16, %", scale=scale, axis=axis)

    y = row_axis()
    band = alt.Chart(alt.NamedData(BAND)).mark_rect(color=ink.hair)
    delta = alt.Chart(alt.NamedData(DELTA)).encode(x=x("percent"))
    points = dots(
        alt.Chart(alt.NamedData(POINTS)),
        x("percent"),
        y,
        tips(("who:N", "run"), ("percent:Q", "above bf16, %", "+.3f")),
        size=80,
    )
    return dressed(
        alt.layer(
            band.encode(x=x("low"), x2="high:Q"),
            delta.mark_rule(color=ink.lost, strokeDash=[5, 4], strokeWidth=2),
            delta.mark_text(align="left", baseline="bottom", dx=6, dy=-2, fontSize=13, color=ink.lost).encode(
                y=alt.value(0), text="words:N"
            ),
            *(one.encode(opacity=alt.value(0.85)) for one in points),
            *names(alt.Chart(alt.NamedData(ROWS)), y, ink),
            height=number("height", 400),
        ),
        ink,
    )


_LINEAR = 0.5  # percent up to which the axis is nearly linear
_TICKS = [-2, -1, -0.5, 0, 0.5, 1, 2, 4, 8]


def published_chart(pairs: Sequence[Row], room: float, ink: Ink) -> Filled:
    """A published gap in percent, or its bound, beside ours with its interval.

    Fields: title, recipe, published, is_bound, percent, low, high, verdict, is_decided, source.
    """
    rows = {
        **columns([one["title"] for one in pairs], [mark_of(one["recipe"]) for one in pairs]),
        **by_column(pairs),
        "beside": [f"{one['source']}: {one['verdict']}" for one in pairs],
    }
    ends = [*rows["low"], *rows["high"], *rows["published"], 0.0]
    return _published(ink).filled(
        {PAIRS: rows}, reach=[1.1 * min(ends), 1.1 * max(ends)], **Rows(len(pairs), room, around=86).holes()
    )


@template
def _published(ink: Ink) -> alt.LayerChart:
    scale = alt.Scale(
        type="symlog",
        constant=_LINEAR,
        domain=several("reach", [-1.0, 6.0]),
        range=across(290, 12),
        nice=False,
    )
    axis = alt.Axis(values=_TICKS, format="+.3~g", domain=False, ticks=False)
    pairs, y = alt.Chart(alt.NamedData(PAIRS)), row_axis()

    def x(field: str) -> alt.X:
        return alt.X(f"{field}:Q", title="last loss above the mean of bf16, %", scale=scale, axis=axis)

    tooltip = tips(
        ("name:N", "recipe"),
        ("percent:Q", "ours, %", "+.2f"),
        ("published:Q", "published, %", "+.2~g"),
        ("verdict:N", "so"),
        ("source:N", "source"),
    )
    faint = alt.condition("datum.is_decided", alt.value(1.0), alt.value(0.4))
    ours = dots(pairs, x("percent"), y, tooltip, low="low", high="high", width=4)
    hollow = pairs.mark_point(filled=True, shape="circle", size=110, fill=ink.page, stroke=ink.text)
    heads = alt.Chart(alt.Data(values=[{"zero": 0}]))
    # On a narrow page the sign has room below the name of its row.
    words_of_bound = {"baseline": "middle", "fontSize": alt.ExprRef(f"{WIDE} ? 20 : 12"), "color": ink.text}
    right = {"align": "right", "baseline": "middle", "fontSize": 13, "color": ink.soft}
    return dressed(
        alt.layer(
            heads.mark_rule(color=ink.line, strokeWidth=1.5).encode(x=x("zero")),
            *(one.encode(opacity=faint) for one in ours),
            hollow.encode(
                x=x("published"), y=y, tooltip=tooltip, strokeWidth=alt.value(2), opacity=alt.value(1)
            ),
            pairs.transform_filter("datum.is_bound")
            .mark_text(text="‹", dx=-14, **words_of_bound)
            .encode(x=x("published"), y=y),
            *(
                pairs.mark_text(**right, opacity=alt.ExprRef(opacity), dy=dy).encode(
                    x=alt.value(alt.ExprRef("width")), y=y, text=words
                )
                for opacity, dy, words in (
                    (f"{WIDE} ? 1 : 0", 0, "beside:N"),
                    (f"{WIDE} ? 0 : 1", number("above", -20.0), "source:N"),
                )
            ),
            heads.mark_text(align="left", baseline="bottom", dx=6, dy=-6, fontSize=13, color=ink.text).encode(
                x=x("zero"), y=alt.value(0), text=alt.value("○ published,  ▬ ours with its interval")
            ),
            *names(pairs, y, ink),
            height=number("height", 400),
            padding={"top": 24},
        ),
        ink,
    )
