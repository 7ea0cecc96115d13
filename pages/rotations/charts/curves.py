"""Curves over the outlier's magnitude, without and with a rotation, in panels over one axis."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import altair as alt

from pages.kit.charts.curves import Series, line, pointer
from pages.kit.charts.ink import Ink
from pages.kit.charts.parts import END, inside_axis, panel_title
from pages.kit.charts.parts import panels as below_one_another
from pages.kit.charts.template import Columns, Filled, template

HEIGHT, ALONE = 120, 240
WITHOUT, WITH = "as it is", "rotated"
_ROOM = 0.08  # share of the width that the horizontal axis leaves free for the labels
NOW = "now"
TITLES = {
    "total": "Error of all elements: error energy / signal energy",
    "rest": "Error of the other elements alone: their error energy / their energy",
    "zeros": "Share of the codes that are zero",
    "product": "Relative error of the quantized product, ‖D̂ − ABᵀ‖ / ‖ABᵀ‖",
}
KINDS = (("total", "rest", "zeros"), ("total", "zeros"), ("product",))
# Linear axes; the others are logarithmic.
_PERCENTS = {"zeros": alt.Scale(domain=[0, 1]), "product": alt.Scale(zero=True)}
_LOG_TICKS = [10.0**e for e in range(-12, 3)] + [3 * 10.0**e for e in range(-12, 3)]


@dataclass(frozen=True)
class Curve:
    """Values over the magnitudes."""

    without: Sequence[float]
    with_: Sequence[float]


def curves_chart(at: Sequence[float], panels: Mapping[str, Curve], now: float, ink: Ink) -> Filled:
    datasets: dict[str, Columns] = {NOW: {"magnitude": [float(now)]}}
    for name, panel in panels.items():
        datasets[name] = {"magnitude": at, WITHOUT: panel.without, WITH: panel.with_}
    # All kinds are built at once: a reader who changes the other elements does not wait.
    kinds = {kind: _curves(kind, (at[0], at[-1]), ink) for kind in KINDS}
    return kinds[tuple(panels)].filled(datasets)


@template
def _curves(names: tuple[str, ...], ends: tuple[float, float], ink: Ink) -> alt.VConcatChart:
    height = HEIGHT if len(names) > 1 else ALONE
    charts = [_panel(name, _magnitude(ends, name == names[-1]), height, ink) for name in names]
    return below_one_another(charts, ink, spacing=8)


def _magnitude(ends: tuple[float, float], is_last: bool) -> alt.X:
    low, high = ends
    span = high / low
    title = "outlier's magnitude (dotted: yours)"
    axis = alt.Axis(title=title, grid=False, values=[2**i for i in range(8)], format="d")
    return alt.X(
        "magnitude:Q",
        scale=alt.Scale(type="log", base=2, domain=[low / span**_ROOM, high * span**END], nice=False),
        axis=axis if is_last else None,
    )


def _value(name: str) -> alt.Y:
    if name in _PERCENTS:
        return alt.Y("value:Q", scale=_PERCENTS[name], axis=inside_axis(format="~%", tickCount=3))
    scale = alt.Scale(type="log", nice=False, padding=8)
    return alt.Y("value:Q", scale=scale, axis=inside_axis(format="~g", values=_LOG_TICKS))


def _panel(name: str, x: alt.X, height: int, ink: Ink) -> alt.LayerChart:
    series = Series(
        names=[WITHOUT, WITH],
        colors=[ink.mid, ink.text],
        dashes=[[6, 3], [1, 0]],
        legend=alt.Legend(orient="top", symbolType="stroke", symbolStrokeWidth=3, symbolSize=400),
    )
    values = (
        alt.Chart(alt.NamedData(name))
        .transform_fold([WITHOUT, WITH], as_=["who", "value"])
        .transform_filter("isValid(datum.value) && datum.value >= 0")
        .encode(x=x, y=_value(name))
    )
    tooltip = [
        alt.Tooltip(f"{field}:Q", title=field, format=".3~g") for field in ("magnitude", WITHOUT, WITH)
    ]
    return alt.layer(
        _marker(x, ink.scale),
        line(values, series),
        pointer(alt.Chart(alt.NamedData(name)), x, tooltip, ink, name=f"near_{name}"),
        height=height,
        title=panel_title(TITLES[name], ink),
    )


def _marker(x: alt.X, color: str) -> alt.Chart:
    return (
        alt.Chart(alt.NamedData(NOW))
        .mark_rule(color=color, strokeDash=[2, 3], strokeWidth=1.5, aria=False)
        .encode(x=x, tooltip=[alt.Tooltip("magnitude:Q", title="magnitude", format=".3~g")])
    )
