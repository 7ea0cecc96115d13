"""Tokens a second over the context, a curve for each way to store weights and cache."""

from collections.abc import Mapping, Sequence

import altair as alt

from pages.kit.charts.finish import dressed, shape_range
from pages.kit.charts.ink import Ink
from pages.kit.charts.template import Filled, number, several, template

_TALL = 340
_DASHES = [[1, 0], [8, 3], [2, 3]]
CURVES, NOW = "curves", "now"


def tokens_chart(rates: Mapping[str, Sequence[float]], powers: Sequence[int], now: int, ink: Ink) -> Filled:
    """Tokens a second at contexts of 2^powers; a rule and points at the reader's own context."""
    names = tuple(rates)
    curves = {
        "way": [name for name in names for _ in powers],
        "context": [1 << power for _ in names for power in powers],
        "rate": [rate for name in names for rate in rates[name]],
    }
    place = list(powers).index(now)
    here = {
        "way": list(names),
        "context": [1 << now] * len(names),
        "rate": [rates[name][place] for name in names],
    }
    every = curves["rate"]
    return _chart(names, tuple(powers), ink).filled(
        {CURVES: curves, NOW: here}, rates=[0.8 * min(every), 1.25 * max(every)], ticks=6
    )


@template
def _chart(names: tuple[str, ...], powers: tuple[int, ...], ink: Ink) -> alt.LayerChart:
    legend = alt.Legend(
        orient="bottom", title=None, columns=3, labelColor=ink.text, symbolSize=140, symbolStrokeWidth=0
    )
    colors = [ink.soft, ink.m, ink.k]
    x = alt.X(
        "context:Q",
        title="context: tokens of each sequence so far",
        scale=alt.Scale(type="log", base=2, domain=[1 << powers[0], 1 << powers[-1]], nice=False),
        axis=alt.Axis(
            values=[1 << power for power in powers[::2]], format=",d", labelOverlap=True, grid=False
        ),
    )
    y = alt.Y(
        "rate:Q",
        title="tokens a second at most",
        scale=alt.Scale(type="log", domain=several("rates", [1.0, 1e4]), nice=False),
        axis=alt.Axis(format=",.3~r", tickCount=number("ticks", 6), labelOverlap=True),
    )
    color = alt.Color("way:N", scale=alt.Scale(domain=list(names), range=colors), legend=legend)
    tooltip = [
        alt.Tooltip("way:N", title="stored"),
        alt.Tooltip("context:Q", title="context", format=",d"),
        alt.Tooltip("rate:Q", title="tokens a second at most", format=",.4~r"),
    ]
    curves = (
        alt.Chart(alt.NamedData(CURVES))
        .mark_line(strokeWidth=2.5)
        .encode(
            x=x,
            y=y,
            color=color,
            strokeDash=alt.StrokeDash(
                "way:N", scale=alt.Scale(domain=list(names), range=_DASHES), legend=legend
            ),
        )
    )
    now = alt.Chart(alt.NamedData(NOW)).encode(x=x)
    rule = now.mark_rule(color=ink.soft, strokeDash=[2, 3], aria=False)
    points = now.mark_point(filled=True, size=130, opacity=1).encode(
        y=y,
        color=color,
        shape=alt.Shape(
            "way:N", scale=alt.Scale(domain=list(names), range=shape_range(len(names))), legend=legend
        ),
        tooltip=tooltip,
    )
    return dressed(alt.layer(curves, rule, points).properties(height=_TALL), ink)
