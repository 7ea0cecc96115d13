"""The mean of the rounded value over x, with the band in which single draws scatter, and nearest's stairs."""

import altair as alt
import numpy as np
from numpy.typing import NDArray

from fp8core.experiments.rounding_sweep import Sweep
from pages.kit.charts.ink import Ink
from pages.sections.stochastic.charts.lines import (
    EXACT,
    HEIGHT,
    NEAREST,
    STOCHASTIC,
    Spec,
    filled,
    line_color,
    line_dash,
    long_rows,
    pointer,
)

_NAMES = (STOCHASTIC, NEAREST, EXACT)


def mean_chart(s: Sweep, values: NDArray[np.float64], name: str, ink: Ink) -> Spec:
    """The chart. `values`, the format's own, are the ticks of both axes."""
    ticks = alt.Axis(values=values.tolist(), format=".5~g", gridColor=ink.line, gridOpacity=0.6)
    scale = alt.Scale(domain=[float(values[0]), float(values[-1])], nice=False, zero=False)
    x = alt.X("x:Q", title=f"x (ticks: the values of {name})", axis=ticks, scale=scale)
    y = {"title": "mean of round(x)", "axis": ticks, "scale": scale}
    middles = (values[1:] + values[:-1]) / 2
    stairs_x = np.concatenate([values[:1], np.repeat(middles, 2), values[-1:]])
    band_rows = [
        {"x": float(at), "low": float(mean - spread), "high": float(mean + spread)}
        for at, mean, spread in zip(s.x, s.mean, s.deviation, strict=True)
    ]
    band = (
        alt.Chart(alt.Data(name="band"))
        .mark_area(color=ink.good, opacity=0.2, clip=True, aria=False)
        .encode(x=x, y=alt.Y("low:Q", **y), y2="high:Q")
    )
    ends = [float(values[0]), float(values[-1])]
    rows = (
        long_rows("x", ends, {EXACT: ends})
        + long_rows("x", stairs_x.tolist(), {NEAREST: np.repeat(values, 2).tolist()})
        + long_rows("x", s.x.tolist(), {STOCHASTIC: s.mean.tolist()})
    )
    lines = (
        alt.Chart(alt.Data(name="lines"))
        .mark_line(strokeWidth=2.5, clip=True)
        .encode(
            x=x, y=alt.Y("y:Q", **y), color=line_color(_NAMES, ink), strokeDash=line_dash(_NAMES), order="x:Q"
        )
    )
    chart = (
        alt.layer(band, lines, pointer("told", x, _tooltip(), ink))
        .properties(width="container", height=HEIGHT + 80)
        .configure_view(stroke=None)
    )
    return filled(chart, band=band_rows, lines=rows, told=_told(s))


def _told(s: Sweep) -> list[dict[str, object]]:
    columns = zip(s.x, s.nearest, s.chance, s.mean, s.deviation, strict=True)
    return [
        {"x": float(x), "nearest": float(near), "chance": float(p), "mean": float(mean), "sd": float(spread)}
        for x, near, p, mean, spread in columns
    ]


def _tooltip() -> list[alt.Tooltip]:
    return [
        alt.Tooltip("x:Q", format=".5~g"),
        alt.Tooltip("nearest:Q", title="nearest", format=".5~g"),
        alt.Tooltip("chance:Q", title="chance to go up", format=".4~g"),
        alt.Tooltip("mean:Q", title="stochastic, mean", format=".5~g"),
        alt.Tooltip("sd:Q", title="± standard deviation", format=".3~g"),
    ]
