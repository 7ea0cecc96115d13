"""Curves over the outlier's magnitude, without and with a rotation, panel below panel on one axis."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import altair as alt
import numpy as np

from pages.kit.charts.curves import Series, line, pointer
from pages.kit.charts.ink import Ink
from pages.kit.charts.panels import END, ROOM, inside_axis, panel_title
from pages.kit.charts.panels import panels as below_one_another
from pages.kit.charts.template import Columns, template

HEIGHT, ALONE = 120, 240
WITHOUT, WITH = "as it is", "rotated"
NOW, CROSSINGS = "now", "_crossings"
_LOG_TICKS = [10.0**e for e in range(-12, 3)] + [3 * 10.0**e for e in range(-12, 3)]


@dataclass(frozen=True)
class Curve:
    """Values over the magnitudes, and the places where the two curves cross."""

    without: Sequence[float]
    with_: Sequence[float]
    crossings: Sequence[float] = ()


def data_sets(at: Sequence[float], panels: Mapping[str, Curve], now: float) -> dict[str, Columns]:
    """The named data of `curves`: each panel's two curves and crossings, and the reader's magnitude."""
    sets: dict[str, Columns] = {NOW: {"magnitude": [float(now)]}}
    for name, panel in panels.items():
        sets[name] = {"magnitude": at, WITHOUT: panel.without, WITH: panel.with_}
        sets[name + CROSSINGS] = {"magnitude": np.array(panel.crossings, np.float64)}
    return sets


@template
def curves(
    ends: tuple[float, float],
    panels: tuple[tuple[str, str], ...],
    percents: tuple[tuple[str, tuple[float, float] | None], ...],
    ink: Ink,
) -> alt.VConcatChart:
    """A panel for each name and title in `panels`, magnitudes between `ends`.

    Panels in `percents` have a linear axis over the domain given, or from 0 as far as the data go. The others
    have a logarithmic axis.
    """
    titles, percent = dict(panels), dict(percents)
    last = list(titles)[-1]
    height = HEIGHT if len(titles) > 1 else ALONE
    charts = [
        _panel(name, title, _magnitude(ends, name == last), _value(name, percent), height, ink)
        for name, title in titles.items()
    ]
    return below_one_another(charts, ink, spacing=8)


def _magnitude(ends: tuple[float, float], last: bool) -> alt.X:
    return alt.X(
        "magnitude:Q",
        scale=alt.Scale(
            type="log",
            base=2,
            domain=[ends[0] / (ends[1] / ends[0]) ** ROOM, ends[1] * (ends[1] / ends[0]) ** END],
            nice=False,
        ),
        axis=alt.Axis(title="outlier's magnitude", grid=False, values=[2**i for i in range(8)], format="d")
        if last
        else None,
    )


def _value(name: str, percent: Mapping[str, Sequence[float] | None]) -> alt.Y:
    if name not in percent:
        scale = alt.Scale(type="log", nice=False, padding=8)
        return alt.Y("value:Q", scale=scale, axis=inside_axis(format="~g", values=_LOG_TICKS))
    domain = percent[name]
    scale = alt.Scale(zero=True) if domain is None else alt.Scale(domain=list(domain))
    return alt.Y("value:Q", scale=scale, axis=inside_axis(format="~%", tickCount=3))


def _panel(name: str, title: str, x: alt.X, y: alt.Y, height: int, ink: Ink) -> alt.LayerChart:
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
        .encode(x=x, y=y)
    )
    tooltip = [
        alt.Tooltip(f"{field}:Q", title=field, format=".3~g") for field in ("magnitude", WITHOUT, WITH)
    ]
    return alt.layer(
        _marker(NOW, x, ink.scale, [2, 3]),
        _marker(name + CROSSINGS, x, ink.lost, [8, 4]),
        line(values, series),
        pointer(alt.Chart(alt.NamedData(name)), x, tooltip, ink, name=f"near_{name}"),
        height=height,
        title=panel_title(title, ink),
    )


def _marker(name: str, x: alt.X, color: str, dash: list[int]) -> alt.Chart:
    return (
        alt.Chart(alt.NamedData(name))
        .mark_rule(color=color, strokeDash=dash, strokeWidth=1.5, aria=False)
        .encode(x=x, tooltip=[alt.Tooltip("magnitude:Q", title="magnitude", format=".3~g")])
    )
