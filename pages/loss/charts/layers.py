"""A statistic of every layer: a line for each copy of x, w and dy, or for each of y, dx and dw."""

from collections.abc import Mapping, Sequence

import altair as alt

from pages.kit.charts.curves import Series, curves
from pages.kit.charts.finish import color_range, dressed, shape_range
from pages.kit.charts.ink import Ink
from pages.kit.charts.legible import axis_title
from pages.kit.charts.template import Filled, number, several, template, text

POINTS = "points"
_MANY = 6
_LONG = "dy in Wgrad"


def layers_chart(
    layers: Sequence[str],
    numbers: Mapping[str, Sequence[float | None]],
    axis: str,
    room: float,
    ink: Ink,
    *,
    is_log: bool,
) -> Filled:
    """The numbers of each name in `found`, one a layer. None, and 0 on a logarithmic axis, have no point."""
    rows = [
        (name, layer, index, value)
        for name, values in numbers.items()
        for index, (layer, value) in enumerate(zip(layers, values, strict=True))
        if value is not None and (value > 0 or not is_log)
    ]
    columns = {
        "who": [name for name, _, _, _ in rows],
        "layer": [layer for _, layer, _, _ in rows],
        "place": [index for _, _, index, _ in rows],
        "value": [value for _, _, _, value in rows],
    }
    return _template(is_log, ink).filled(
        {POINTS: columns}, names=list(numbers), layers=list(layers), axis=axis_title(axis), height=room
    )


@template
def _template(is_log: bool, ink: Ink) -> alt.LayerChart:
    names = several("names", [_LONG])
    legend = alt.Legend(
        orient="top", columns=6, labelLimit=200, labelColor=ink.text, symbolSize=100, symbolOpacity=1
    )
    x = alt.X(
        "layer:N",
        title="layer: its block, and its name",
        sort=None,
        scale=alt.Scale(domain=several("layers", ["0.qkv"])),
        axis=alt.Axis(labelAngle=-90, labelOverlap="parity", grid=False),
    )
    scale = alt.Scale(type="log", nice=False, padding=10) if is_log else alt.Scale(zero=True)
    axis = alt.Axis(tickCount=6, format="~e" if is_log else ".3~g")
    y = alt.Y("value:Q", title=text("axis", "underflows%"), scale=scale, axis=axis)
    tooltip = [
        alt.Tooltip("layer:N", title="layer"),
        alt.Tooltip("who:N", title="of"),
        alt.Tooltip("value:Q", title="value", format=".4~g"),
    ]
    series = Series(names=names, colors=color_range(_MANY, ink), shapes=shape_range(_MANY), legend=legend)
    base = alt.Chart(alt.NamedData(POINTS)).encode(x=x, y=y)
    marks = curves(base, series, tooltip, width=1.5, size=55)
    return dressed(alt.layer(*marks, height=number("height", 400)), ink)
