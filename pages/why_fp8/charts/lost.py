"""The share of gradients that a format loses, over the loss scale. The slider works in the browser."""

from collections.abc import Mapping, Sequence

import altair as alt

from pages.kit.charts.curves import Series, line
from pages.kit.charts.finish import dressed, shape_range
from pages.kit.charts.ink import Ink
from pages.kit.charts.labels import beside
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
    series = Series(
        names=names,
        colors=[ink.mid, ink.line, ink.series[4], ink.text, ink.series[10]][: len(names)],
        shapes=shape_range(len(names)),
        dashes=_DASHES[: len(names)],
        field="format",
        legend=alt.Legend(orient="top", columns=5, labelColor=ink.text, symbolSize=140, symbolStrokeWidth=0),
    )
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
    slider = alt.param(
        name=K,
        value=0,
        bind=alt.binding_range(min=0, max=most, step=1, name="log2 of the loss scale "),
    )
    every = alt.Chart(alt.NamedData(CURVES)).encode(x=x, y=y)
    now = every.transform_filter(f"datum.at == {K}")
    rule = (
        now.transform_filter(alt.datum.format == names[0])
        .mark_rule(strokeDash=[2, 3], strokeWidth=1.5, aria=False)
        .encode(y=alt.value(0), y2=alt.value(alt.ExprRef("height")), color=alt.value(ink.text))
    )
    points = now.mark_point(filled=True, size=130, opacity=1).encode(
        color=series.color(),
        shape=series.shape(),
        tooltip=[
            alt.Tooltip("format:N", title="format"),
            alt.Tooltip("at:Q", title="log2 of the loss scale"),
            alt.Tooltip("share:Q", title="becomes zero or overflows", format=".2%"),
        ],
    )
    layers = (line(every, series, aria=False), rule, points, *_figures(now, most, ink))
    return dressed(alt.layer(*layers, height=number("height", 500)).add_params(slider), ink)


def _figures(now: alt.Chart, most: int, ink: Ink) -> list[alt.Chart]:
    """The share at each point, on the side that has room; none at the ends."""
    middle = now.transform_filter("0.02 < datum.share && datum.share < 0.98")
    words = beside(middle, f"datum.at > {most - 4}", dy=-10, fontSize=14, color=ink.text, aria=False)
    return [side.encode(text=alt.Text("share:Q", format=".0%")) for side in words]
