"""The share of gradients that a format loses, over the loss scale."""

from collections.abc import Mapping, Sequence

import altair as alt

from pages.kit.charts.finish import dressed, shape_range
from pages.kit.charts.ink import Ink
from pages.kit.charts.template import Filled, template

_TALL = 330
CURVES, NOW = "curves", "now"
_DASHES = [[1, 0], [8, 3], [2, 2], [8, 3, 2, 3], [5, 5]]


def lost_chart(shares: Mapping[str, Sequence[float]], now: int, ink: Ink) -> Filled:
    """A curve a format; a rule and points at log2 of the reader's loss scale. The curves begin at 0."""
    names = tuple(shares)
    curves = {
        "format": [name for name, along in shares.items() for _ in along],
        "k": [k for along in shares.values() for k in range(len(along))],
        "share": [share for along in shares.values() for share in along],
    }
    here = {"format": list(names), "k": [now] * len(names), "share": [shares[n][now] for n in names]}
    return _chart(names, len(shares[names[0]]) - 1, ink).filled({CURVES: curves, NOW: here})


@template
def _chart(names: tuple[str, ...], most: int, ink: Ink) -> alt.LayerChart:
    legend = alt.Legend(
        orient="bottom", title=None, columns=5, labelColor=ink.text, symbolSize=140, symbolStrokeWidth=0
    )
    colors = [ink.lost, ink.n, ink.m, ink.k, ink.soft][: len(names)]
    x = alt.X(
        "k:Q",
        title="log2 of the loss scale",
        scale=alt.Scale(domain=[0, most], nice=False),
        axis=alt.Axis(tickMinStep=1, tickCount=10, grid=False),
    )
    y = alt.Y(
        "share:Q",
        title="gradients lost",
        scale=alt.Scale(domain=[0, 1]),
        axis=alt.Axis(format="~%", tickCount=5),
    )
    color = alt.Color("format:N", scale=alt.Scale(domain=list(names), range=colors), legend=legend)
    tooltip = [
        alt.Tooltip("format:N", title="format"),
        alt.Tooltip("k:Q", title="log2 of the loss scale"),
        alt.Tooltip("share:Q", title="becomes zero or overflows", format=".2%"),
    ]
    curves = (
        alt.Chart(alt.NamedData(CURVES))
        .mark_line(strokeWidth=2.5)
        .encode(
            x=x,
            y=y,
            color=color,
            strokeDash=alt.StrokeDash(
                "format:N",
                scale=alt.Scale(domain=list(names), range=_DASHES[: len(names)]),
                legend=legend,
            ),
        )
    )
    now = alt.Chart(alt.NamedData(NOW)).encode(x=x)
    rule = now.mark_rule(color=ink.soft, strokeDash=[2, 3], aria=False)
    points = now.mark_point(filled=True, size=130, opacity=1).encode(
        y=y,
        color=color,
        shape=alt.Shape(
            "format:N",
            scale=alt.Scale(domain=list(names), range=shape_range(len(names))),
            legend=legend,
        ),
        tooltip=tooltip,
    )
    return dressed(alt.layer(curves, rule, points).properties(height=_TALL), ink)
