"""The benefit of promotion: the error of a sum against how often its partial sums are promoted."""

from collections.abc import Sequence
from dataclasses import dataclass

import altair as alt

from pages.accumulation.charts.curves import rms_axis, rms_domain
from pages.kit.charts.finish import dressed
from pages.kit.charts.ink import Ink
from pages.kit.charts.template import Filled, number, several, template, text

PRICES = "prices"
SHAPES = ["circle", "square"]


@dataclass(frozen=True, kw_only=True)
class Price:
    """One interval: its error, and the additions it costs in 1000 floating-point operations."""

    numbers: str
    every: int
    rms: float
    additions: float


def cost_chart(prices: Sequence[Price], room: int, ink: Ink) -> Filled:
    """A line for each kind of numbers, K itself (one chain) at the right end."""
    intervals = sorted({price.every for price in prices})
    last = intervals[-1]
    columns = {
        "numbers": [price.numbers for price in prices],
        "every": [price.every for price in prices],
        "label": [
            "never: one chain" if price.every == last else f"{price.every:,} products" for price in prices
        ],
        "rms": [price.rms for price in prices],
        "additions": [price.additions for price in prices],
        "is_last": [price.every == last for price in prices],
    }
    return _template(ink).filled(
        {PRICES: columns},
        kinds=list(dict.fromkeys(columns["numbers"])),
        intervals=intervals,
        span=[intervals[0], last],
        never=f"datum.value == {last} ? 'never' : format(datum.value, ',d')",
        errors=rms_domain(columns["rms"]),
        height=room,
    )


@template
def _template(ink: Ink) -> alt.LayerChart:
    kinds = several("kinds", ["Same sign", "Zero mean"])
    colors = alt.Scale(domain=kinds, range=[ink.text, ink.mid])
    base = alt.Chart(alt.NamedData(PRICES)).encode(
        x=alt.X(
            "every:Q",
            title="promoted after so many products",
            scale=alt.Scale(type="log", base=2, nice=False, padding=12, domain=several("span", [32.0, 64.0])),
            axis=alt.Axis(values=several("intervals", [32.0]), labelExpr=text("never", "1"), grid=False),
        ),
        y=rms_axis("rms", "errors"),
        color=alt.Color("numbers:N", scale=colors, legend=None),
    )
    lines = base.mark_line(strokeWidth=2.5, aria=False)
    points = base.mark_point(size=110, filled=True, opacity=1).encode(
        shape=alt.Shape("numbers:N", scale=alt.Scale(domain=kinds, range=SHAPES), legend=None),
        tooltip=[
            alt.Tooltip("numbers:N", title="numbers"),
            alt.Tooltip("label:N", title="promoted after"),
            alt.Tooltip("rms:Q", title="rms error", format=".3~%"),
            alt.Tooltip("additions:Q", title="additions in 1000 FLOP", format=".3~g"),
        ],
    )
    last = base.transform_filter("datum.is_last")
    names = last.mark_text(align="right", dx=-14, dy=-14, fontSize=15, fontWeight="bold", aria=False).encode(
        text="numbers:N", color=alt.value(ink.text)
    )
    return dressed(alt.layer(lines, points, names, height=number("height", 500)), ink)
