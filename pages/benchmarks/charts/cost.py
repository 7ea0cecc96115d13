"""The cost of a scale: a bar a recipe, the matmul first, then the quantization; one contender is 1."""

from collections.abc import Sequence
from dataclasses import dataclass

import altair as alt

from pages.benchmarks.charts.facts import TimedGemm, fact_columns, tooltip
from pages.kit.charts.finish import dressed
from pages.kit.charts.ink import Ink
from pages.kit.charts.recipe_marks import mark_of
from pages.kit.charts.template import Filled, number, several, template, text
from pages.kit.charts.timings import MATMUL, QUANTIZE

_STEP, _AROUND = 76, 80
_LETTERS = 9
"""Pixels from a bar's middle up to its name on a narrow page."""
_ONE = 1.0
_WIDE = "width >= 600"
_NAMES, _FIGURES = 250, 160


@dataclass(frozen=True, kw_only=True)
class Cost:
    """One contender's times, relative to the contender that is 1. Quantization is missing where it is not
    timed. The recipe is None for bf16.
    """

    name: str
    recipe: str | None
    matmul: float
    quantize: float | None
    facts: TimedGemm | None

    @property
    def whole(self) -> float:
        return self.matmul + (self.quantize or 0.0)


def cost_chart(costs: Sequence[Cost], unit: str, room: float, ink: Ink) -> Filled:
    """Bars from top to bottom, at most `room` pixels high; `unit` names what is 1."""
    parts = [(place, cost, *part) for place, cost in enumerate(costs) for part in _parts(cost)]
    marks = [mark_of(cost.recipe) for cost in costs]
    bars = {
        "y": [place for place, *_ in parts],
        "name": [cost.name for _, cost, *_ in parts],
        "part": [part for _, _, part, _, _ in parts],
        "start": [start for _, _, _, start, _ in parts],
        "end": [end for _, _, _, _, end in parts],
        "share": [end - start for _, _, _, start, end in parts],
        **fact_columns([cost.facts for _, cost, *_ in parts]),
    }
    ends = {
        "y": list(range(len(costs))),
        "name": [cost.name for cost in costs],
        "color": [mark.color for mark in marks],
        "shape": [mark.shape for mark in marks],
        "whole": [cost.whole for cost in costs],
        "matmul": [f"{cost.matmul:.2f}" for cost in costs],
        "quantize": ["" if cost.quantize is None else f"+ {cost.quantize:.2f}" for cost in costs],
    }
    height = min(room, len(costs) * _STEP + _AROUND)
    step = (height - _AROUND) / len(costs)
    return _chart(ink).filled(
        {"bars": bars, "ends": ends},
        lines=[len(costs) - 0.4, -0.65],
        times=[0.0, max(*(cost.whole for cost in costs), _ONE)],
        title=f"time, {unit} = 1",
        height=height,
        bar=min(32.0, 0.45 * step),
        above=-min(32.0, 0.45 * step) / 2 - _LETTERS,
    )


@template
def _chart(ink: Ink) -> alt.LayerChart:
    lines = alt.Scale(domain=several("lines", [5.0, -0.5]), nice=False, zero=False)
    times = alt.Scale(
        domain=several("times", [0.0, 1.0]),
        range=[alt.ExprRef(f"{_WIDE} ? {_NAMES} : 4"), alt.ExprRef(f"width - ({_WIDE} ? {_FIGURES} : 112)")],
        nice=False,
    )
    y = alt.Y("y:Q", scale=lines, axis=None)
    title = text("title", "time, bf16 = 1")
    axis = alt.Axis(tickCount=5, format=".2~f", domain=False, ticks=False, labelColor=ink.soft)
    wide, narrow = alt.ExprRef(f"{_WIDE} ? 1 : 0"), alt.ExprRef(f"{_WIDE} ? 0 : 1")
    ends = alt.Chart(alt.NamedData("ends"))
    bar, above = number("bar", 24.0), number("above", -20.0)
    colors = alt.Scale(domain=[MATMUL, QUANTIZE], range=[ink.dot, ink.scale])
    marks = {"color": alt.Color("color:N", scale=None), "shape": alt.Shape("shape:N", scale=None)}
    bars = (
        alt.Chart(alt.NamedData("bars"))
        .mark_bar(size=bar, aria=False, stroke=ink.page, strokeWidth=1, cornerRadius=2)
        .encode(
            y=y,
            x=alt.X("start:Q", title=title, scale=times, axis=axis),
            x2="end",
            color=alt.Color("part:N", legend=None, scale=colors),
            tooltip=tooltip(
                alt.Tooltip("name:N", title="recipe"),
                alt.Tooltip("part:N", title="part"),
                alt.Tooltip("share:Q", title=title, format=".3f"),
            ),
        )
    )

    def words(field: str, at: alt.X, **style: object) -> alt.Chart:
        mark = {"align": "left", "baseline": "middle", "fontSize": 14, "color": ink.text, **style}
        return ends.mark_text(**mark).encode(y=y, x=at, text=field)

    end = alt.X("whole:Q", scale=times)
    bold = {"fontWeight": "bold"}
    rule = alt.Chart(alt.Data(values=[{}])).mark_rule(color=ink.line, strokeWidth=1.5, aria=False)
    chart = alt.layer(
        rule.encode(x=alt.datum(_ONE, scale=times)),
        bars,
        ends.mark_point(filled=True, size=130, opacity=wide).encode(x=alt.value(8), y=y, **marks),
        words("name:N", alt.value(24), opacity=wide, **bold),
        ends.mark_point(filled=True, size=90, opacity=narrow, yOffset=above).encode(
            x=alt.value(8), y=y, **marks
        ),
        words("name:N", alt.value(20), opacity=narrow, dy=above, fontSize=13),
        words("matmul:N", end, dx=8, **bold),
        words("quantize:N", end, dx=42, color=ink.scale, **bold),
        alt.Chart(alt.Data(values=[{"words": "+ quantizing A and B"}]))
        .mark_text(align="right", baseline="top", fontSize=13, color=ink.scale, fontWeight="bold")
        .encode(x=alt.value(alt.ExprRef("width")), y=alt.value(0), text="words:N"),
    )
    return dressed(chart.properties(height=number("height", 300)), ink)


def _parts(cost: Cost) -> list[tuple[str, float, float]]:
    """The bars of a contender: its parts, from where to where each reaches."""
    parts = [(MATMUL, 0.0, cost.matmul)]
    if cost.quantize is not None:
        parts.append((QUANTIZE, cost.matmul, cost.whole))
    return parts
