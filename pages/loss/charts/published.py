"""Our gaps beside published ones: a row for each published gap, on an axis that is linear near 0."""

from collections.abc import Sequence
from dataclasses import dataclass

import altair as alt

from pages.kit.charts.finish import dressed
from pages.kit.charts.ink import Ink
from pages.kit.charts.named_rows import WIDE, Rows, across, columns, dots, names, row_axis
from pages.kit.charts.recipe_marks import mark_of
from pages.kit.charts.template import Filled, number, several, template

PAIRS, ROWS = "pairs", "rows"
_LINEAR = 0.5
"""Percent up to which the axis is nearly linear."""
_TICKS = [-2, -1, -0.5, 0, 0.5, 1, 2, 4, 8]


@dataclass(frozen=True, kw_only=True)
class Pair:
    """A published gap in percent, or its upper bound, and our interval for one of its recipes."""

    title: str
    recipe: str
    published: float
    is_bound: bool
    percent: float
    error: float
    verdict: str
    is_decided: bool
    source: str


def published_chart(pairs: Sequence[Pair], room: float, ink: Ink) -> Filled:
    """A row for each pair."""
    marks = [mark_of(one.recipe) for one in pairs]
    rows = {
        **columns([one.title for one in pairs], marks),
        "published": [one.published for one in pairs],
        "bound": [one.is_bound for one in pairs],
        "percent": [one.percent for one in pairs],
        "low": [one.percent - one.error for one in pairs],
        "high": [one.percent + one.error for one in pairs],
        "verdict": [one.verdict for one in pairs],
        "decided": [one.is_decided for one in pairs],
        "source": [one.source for one in pairs],
    }
    ends = [*rows["low"], *rows["high"], *rows["published"], 0.0]
    return _template(ink).filled(
        {PAIRS: rows},
        reach=[1.1 * min(ends), 1.1 * max(ends)],
        **Rows(len(pairs), room, around=86).holes(),
    )


@template
def _template(ink: Ink) -> alt.LayerChart:
    scale = alt.Scale(
        type="symlog",
        constant=_LINEAR,
        domain=several("reach", [-1.0, 6.0]),
        range=across(150, 12),
        nice=False,
    )
    axis = alt.Axis(values=_TICKS, format="+.3~g", domain=False, ticks=False)
    title = "loss above bf16, %"
    pairs, y = alt.Chart(alt.NamedData(PAIRS)), row_axis()

    def x(field: str) -> alt.X:
        return alt.X(f"{field}:Q", title=title, scale=scale, axis=axis)

    tooltip = [
        alt.Tooltip("name:N", title="recipe"),
        alt.Tooltip("percent:Q", title="ours, %", format="+.2f"),
        alt.Tooltip("published:Q", title="published, %", format="+.2~g"),
        alt.Tooltip("verdict:N", title="so"),
        alt.Tooltip("source:N", title="source"),
    ]
    faint = alt.condition("datum.decided", alt.value(1.0), alt.value(0.4))
    ours = dots(pairs, x("percent"), y, tooltip, low="low", high="high", width=4)
    hollow = pairs.mark_point(filled=True, shape="circle", size=110, fill=ink.page, stroke=ink.text)
    heads = alt.Chart(alt.Data(values=[{"zero": 0}]))
    return dressed(
        alt.layer(
            heads.mark_rule(color=ink.line, strokeWidth=1.5, aria=False).encode(x=x("zero")),
            *(one.encode(opacity=faint) for one in ours),
            hollow.encode(
                x=x("published"), y=y, tooltip=tooltip, strokeWidth=alt.value(2), opacity=alt.value(1)
            ),
            pairs.transform_filter("datum.bound")
            .mark_text(
                text="‹",
                dx=-14,
                color=ink.text,
                baseline="middle",
                fontSize=alt.ExprRef(f"{WIDE} ? 20 : 12"),  # room below the name of a row on a narrow page
            )
            .encode(x=x("published"), y=y),
            pairs.mark_text(
                align="right",
                baseline="middle",
                fontSize=13,
                color=ink.soft,
                opacity=alt.ExprRef(f"{WIDE} ? 1 : 0"),
            ).encode(x=alt.value(alt.ExprRef("width")), y=y, text="verdict:N"),
            heads.mark_text(align="left", baseline="bottom", dx=6, dy=-6, fontSize=13, color=ink.text).encode(
                x=x("zero"), y=alt.value(0), text=alt.value("○ published,  ▬ ours with its interval")
            ),
            *names(pairs, y, ink),
            height=number("height", 400),
            padding={"top": 24},
        ),
        ink,
    )
