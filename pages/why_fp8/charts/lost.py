"""The share of gradients that a format loses, over the loss scale. The slider works in the browser."""

from collections.abc import Mapping, Sequence

import altair as alt

from pages.kit.charts.finish import dressed, shape_range
from pages.kit.charts.ink import Ink
from pages.kit.charts.template import Filled, number, template

CURVES, K = "curves", "k"
_DASHES = [[1, 0], [8, 3], [2, 2], [8, 3, 2, 3], [5, 5]]


def lost_chart(shares: Mapping[str, Sequence[float]], room: int, ink: Ink) -> Filled:
    """A curve a format over log2 of the loss scale, from 0; a rule and points where the slider is."""
    names = tuple(shares)
    curves = {
        "format": [name for name, along in shares.items() for _ in along],
        "at": [k for along in shares.values() for k in range(len(along))],
        "share": [share for along in shares.values() for share in along],
    }
    return _chart(names, len(shares[names[0]]) - 1, ink).filled({CURVES: curves}, height=room)


@template
def _chart(names: tuple[str, ...], most: int, ink: Ink) -> alt.LayerChart:
    legend = alt.Legend(
        orient="top", title=None, columns=5, labelColor=ink.text, symbolSize=140, symbolStrokeWidth=0
    )
    colors = [ink.mid, ink.line, ink.series[4], ink.text, ink.series[10]][: len(names)]
    x = alt.X(
        "at:Q",
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
    slider = alt.param(
        name=K,
        value=0,
        bind=alt.binding_range(min=0, max=most, step=1, name="log2 of the loss scale "),
    )
    every = alt.Chart(alt.NamedData(CURVES)).encode(x=x, y=y, color=color)
    curves = every.mark_line(strokeWidth=2.5, aria=False).encode(
        strokeDash=alt.StrokeDash(
            "format:N",
            scale=alt.Scale(domain=list(names), range=_DASHES[: len(names)]),
            legend=legend,
        ),
    )
    now = every.transform_filter(f"datum.at == {K}")
    rule = (
        now.transform_filter(alt.datum.format == names[0])
        .mark_rule(strokeDash=[2, 3], strokeWidth=1.5, aria=False)
        .encode(y=alt.value(0), y2=alt.value(alt.ExprRef("height")), color=alt.value(ink.text))
    )
    points = now.mark_point(filled=True, size=130, opacity=1).encode(
        shape=alt.Shape(
            "format:N",
            scale=alt.Scale(domain=list(names), range=shape_range(len(names))),
            legend=legend,
        ),
        tooltip=[
            alt.Tooltip("format:N", title="format"),
            alt.Tooltip("at:Q", title="log2 of the loss scale"),
            alt.Tooltip("share:Q", title="becomes zero or overflows", format=".2%"),
        ],
    )
    layers = (curves, rule, points, *_figures(now, most, ink))
    return dressed(alt.layer(*layers, height=number("height", 500)).add_params(slider), ink)


def _figures(now: alt.Chart, most: int, ink: Ink) -> list[alt.Chart]:
    """The share at each point, on the side that has room; none at the ends."""
    said = now.transform_calculate(right=f"datum.at > {most - 4}", words="format(datum.share, '.0%')")
    return [
        said.transform_filter(f"{'' if right else '!'}datum.right")
        .transform_filter("0.02 < datum.share && datum.share < 0.98")
        .mark_text(
            align="right" if right else "left", dx=-10 if right else 10, dy=-10, fontSize=14, aria=False
        )
        .encode(text="words:N", color=alt.value(ink.text))
        for right in (True, False)
    ]
