"""The benefit of promotion: the error of a sum against how often its partial sums are promoted."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import altair as alt

from pages.kit.charts.finish import finished
from pages.kit.charts.ink import Ink
from pages.sections.accumulation.charts.curves import rms_axis

Spec = dict[str, Any]
TALL = 320
SHAPES = ["circle", "square"]


@dataclass(frozen=True, kw_only=True)
class Price:
    """One interval: its error, and the additions it costs in 1000 floating-point operations."""

    numbers: str
    every: int
    rms: float
    additions: float


def cost_chart(prices: Sequence[Price], ink: Ink) -> Spec:
    """A line for each kind of numbers, K itself (one chain) at the right end."""
    kinds = list(dict.fromkeys(price.numbers for price in prices))
    intervals = sorted({price.every for price in prices})
    rows = [
        {
            "numbers": price.numbers,
            "every": price.every,
            "label": _name(price.every, intervals),
            "rms": price.rms,
            "additions": price.additions,
        }
        for price in prices
    ]
    legend = alt.Legend(title=None, orient="top", labelColor=ink.text, symbolSize=110)
    colors = alt.Scale(domain=kinds, range=[ink.bad, ink.good])
    last = f"datum.value == {intervals[-1]} ? 'never' : format(datum.value, ',d')"
    base = alt.Chart(alt.Data(values=rows)).encode(
        x=alt.X(
            "every:Q",
            title="promoted after so many products",
            scale=alt.Scale(type="log", base=2, nice=False, padding=12),
            axis=alt.Axis(values=intervals, labelExpr=last, grid=False),
        ),
        y=rms_axis("rms", [price.rms for price in prices]),
        color=alt.Color("numbers:N", scale=colors, legend=legend),
    )
    lines = base.mark_line(strokeWidth=2.5, aria=False)
    points = base.mark_point(size=110, filled=True, opacity=1).encode(
        shape=alt.Shape("numbers:N", scale=alt.Scale(domain=kinds, range=SHAPES), legend=legend),
        tooltip=[
            alt.Tooltip("numbers:N", title="numbers"),
            alt.Tooltip("label:N", title="promoted after"),
            alt.Tooltip("rms:Q", title="rms error", format=".3~%"),
            alt.Tooltip("additions:Q", title="additions in 1000 FLOP", format=".3~g"),
        ],
    )
    return finished(alt.layer(lines, points).properties(height=TALL), ink)


def _name(every: int, intervals: Sequence[int]) -> str:
    return "never: one chain" if every == intervals[-1] else f"{every:,} products"
