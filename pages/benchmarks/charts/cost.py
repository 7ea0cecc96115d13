"""The cost of a scale: a bar a recipe, the matmul first, then the quantization; bf16 is 1."""

from collections.abc import Sequence
from dataclasses import dataclass

import altair as alt

from pages.benchmarks.charts.points import Words, tooltip, word_columns
from pages.kit.charts.finish import dressed
from pages.kit.charts.ink import Ink
from pages.kit.charts.named_rows import across, columns, names, row_axis
from pages.kit.charts.recipe_marks import mark_of
from pages.kit.charts.template import Filled, by_column, number, several, template
from pages.kit.charts.timings import MATMUL, QUANTIZE

_STEP, _AROUND, _THICKEST = 76, 80, 32.0
_LETTERS = 9
"""Pixels from a bar's middle up to its name on a narrow page."""
_ONE, _TITLE = 1.0, "time, bf16 = 1"
_NAMES, _FIGURES, _NARROW_FIGURES = 250, 160, 112


@dataclass(frozen=True, kw_only=True)
class Cost:
    """One contender's times, over those of bf16. Quantization is missing where it is not
    timed. The recipe is None for bf16.
    """

    name: str
    recipe: str | None
    matmul: float
    quantize: float | None
    words: Words | None

    @property
    def whole(self) -> float:
        return self.matmul + (self.quantize or 0.0)


def cost_chart(costs: Sequence[Cost], room: float, ink: Ink) -> Filled:
    """Bars from top to bottom, at most `room` pixels high."""
    bars, words = [], []
    for y, cost in enumerate(costs):
        parts = [(MATMUL, 0.0, cost.matmul)]
        if cost.quantize is not None:
            parts.append((QUANTIZE, cost.matmul, cost.whole))
        for part, start, end in parts:
            bar = {"y": y, "name": cost.name, "part": part, "start": start, "end": end, "share": end - start}
            bars.append(bar)
            words.append(cost.words)
    ends = {
        **columns([cost.name for cost in costs], [mark_of(cost.recipe) for cost in costs]),
        "whole": [cost.whole for cost in costs],
        "matmul": [f"{cost.matmul:.2f}" for cost in costs],
        "quantize": ["" if cost.quantize is None else f"+ {cost.quantize:.2f}" for cost in costs],
    }
    height = min(room, len(costs) * _STEP + _AROUND)
    bar = min(_THICKEST, 0.45 * (height - _AROUND) / len(costs))
    return _chart(ink).filled(
        {"bars": by_column(bars) | word_columns(words), "ends": ends},
        lines=[len(costs) - 0.4, -0.65],
        times=[0.0, max(*(cost.whole for cost in costs), _ONE)],
        height=height,
        bar=bar,
        above=-bar / 2 - _LETTERS,
    )


@template
def _chart(ink: Ink) -> alt.LayerChart:
    y = row_axis()
    reach = across(_FIGURES, _NARROW_FIGURES, names=_NAMES)
    times = alt.Scale(domain=several("times", [0.0, 1.0]), range=reach, nice=False)
    axis = alt.Axis(tickCount=5, format=".2~f", domain=False, ticks=False, labelColor=ink.soft)
    ends = alt.Chart(alt.NamedData("ends"))
    colors = alt.Scale(domain=[MATMUL, QUANTIZE], range=[ink.dot, ink.scale])
    bars = (
        alt.Chart(alt.NamedData("bars"))
        .mark_bar(size=number("bar", 24.0), aria=False, stroke=ink.page, strokeWidth=1, cornerRadius=2)
        .encode(
            y=y,
            x=alt.X("start:Q", title=_TITLE, scale=times, axis=axis),
            x2="end",
            color=alt.Color("part:N", legend=None, scale=colors),
            tooltip=tooltip(
                alt.Tooltip("name:N", title="recipe"),
                alt.Tooltip("part:N", title="part"),
                alt.Tooltip("share:Q", title=_TITLE, format=".3f"),
            ),
        )
    )
    figures = [
        ends.mark_text(
            align="left", baseline="middle", fontSize=14, fontWeight="bold", color=color, dx=dx
        ).encode(y=y, x=alt.X("whole:Q", scale=times), text=field)
        for field, dx, color in (("matmul:N", 8, ink.text), ("quantize:N", 42, ink.scale))
    ]
    rule = alt.Chart(alt.Data(values=[{}])).mark_rule(color=ink.line, strokeWidth=1.5, aria=False)
    legend = (
        alt.Chart(alt.Data(values=[{"words": "+ quantizing A and B"}]))
        .mark_text(align="right", baseline="top", fontSize=13, color=ink.scale, fontWeight="bold")
        .encode(x=alt.value(alt.ExprRef("width")), y=alt.value(0), text="words:N")
    )
    chart = alt.layer(
        rule.encode(x=alt.datum(_ONE, scale=times)), bars, *names(ends, y, ink), *figures, legend
    )
    return dressed(chart.properties(height=number("height", 300)), ink)
