"""The mean of the rounded value over x, with the band in which single draws scatter, and nearest's stairs."""

import altair as alt
import numpy as np
from numpy.typing import NDArray

from fp8core.experiments.rounding_sweep import Sweep
from pages.kit.charts.curves import line, pointer
from pages.kit.charts.ink import Ink
from pages.kit.charts.template import Filled, several, template, text
from pages.stochastic_rounding.charts.lines import (
    EXACT,
    HEIGHT,
    NEAREST,
    STOCHASTIC,
    long_columns,
    roundings,
)

_NAMES = (STOCHASTIC, NEAREST, EXACT)


def mean_chart(s: Sweep, values: NDArray[np.float64], name: str, ink: Ink) -> Filled:
    """The chart. `values`, the format's own, are the ticks of both axes."""
    ends = [float(values[0]), float(values[-1])]
    middles = (values[1:] + values[:-1]) / 2
    stairs_x = np.concatenate([values[:1], np.repeat(middles, 2), values[-1:]])
    lines = {EXACT: (ends, ends), NEAREST: (stairs_x, np.repeat(values, 2)), STOCHASTIC: (s.x, s.mean)}
    return _chart(ink).filled(
        {
            "band": {"x": s.x, "low": s.mean - s.deviation, "high": s.mean + s.deviation},
            "lines": long_columns("x", lines),
            "told": {"x": s.x, "nearest": s.nearest, "chance": s.chance, "mean": s.mean, "sd": s.deviation},
        },
        title=f"x (ticks: the values of {name})",
        values=values.tolist(),
        ends=ends,
    )


@template
def _chart(ink: Ink) -> alt.LayerChart:
    ticks = alt.Axis(values=several("values", [0.0, 1.0]), format=".5~g", gridColor=ink.line, gridOpacity=0.6)
    scale = alt.Scale(domain=several("ends", [0.0, 1.0]), nice=False, zero=False)
    x = alt.X("x:Q", title=text("title", "x (ticks: the values of e2m1)"), axis=ticks, scale=scale)
    y = {"title": "mean of round(x)", "axis": ticks, "scale": scale}
    band = (
        alt.Chart(alt.NamedData("band"))
        .mark_area(color=ink.text, opacity=0.12, clip=True, aria=False)
        .encode(x=x, y=alt.Y("low:Q", **y), y2="high:Q")
    )
    lines = alt.Chart(alt.NamedData("lines")).encode(x=x, y=alt.Y("y:Q", **y), order="x:Q")
    return (
        alt.layer(
            band,
            line(lines, roundings(_NAMES, ink), clip=True),
            pointer(alt.Chart(alt.NamedData("told")), x, _tooltip(), ink),
        )
        .properties(width="container", height=HEIGHT + 80)
        .configure_view(stroke=None)
    )


def _tooltip() -> list[alt.Tooltip]:
    return [
        alt.Tooltip("x:Q", format=".5~g"),
        alt.Tooltip("nearest:Q", title="nearest", format=".5~g"),
        alt.Tooltip("chance:Q", title="chance to go up", format=".4~g"),
        alt.Tooltip("mean:Q", title="stochastic, mean", format=".5~g"),
        alt.Tooltip("sd:Q", title="± standard deviation", format=".3~g"),
    ]
