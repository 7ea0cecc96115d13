"""The path of a weight, step by step, when every step is rounded."""

import altair as alt
import numpy as np

from fp8core.experiments.weight_updates import Walk
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

SINGLE_RUNS = 4
_POINTS = 200
_NAMES = (STOCHASTIC, NEAREST, EXACT)


def weight_chart(walk: Walk, ink: Ink) -> Spec:
    """Nearest, the truth, the mean of all stochastic runs, and the first few of those runs as thin lines."""
    steps = np.unique(np.linspace(0, walk.exact.size - 1, _POINTS).round().astype(int))
    at, mean = steps.tolist(), walk.stochastic.mean(axis=0)
    x = alt.X("step:Q", title="step", scale=alt.Scale(nice=False), axis=alt.Axis(grid=False))
    y = alt.Y("y:Q", title="weight w", scale=alt.Scale(zero=False), axis=alt.Axis(gridOpacity=0.5))
    thin = long_rows("step", at, {str(run): walk.stochastic[run, steps] for run in range(SINGLE_RUNS)})
    runs = (
        alt.Chart(alt.Data(name="runs"))
        .mark_line(color=ink.good, strokeWidth=1, opacity=0.45, interpolate="step-after", aria=False)
        .encode(x=x, y=y, detail="line:N")
    )
    series = {EXACT: walk.exact[steps], STOCHASTIC: mean[steps], NEAREST: walk.nearest[steps]}
    lines = (
        alt.Chart(alt.Data(name="lines"))
        .mark_line(strokeWidth=2.5)
        .encode(x=x, y=y, color=line_color(_NAMES, ink), strokeDash=line_dash(_NAMES))
    )
    spread = walk.stochastic.std(axis=0)
    told = [
        {
            "step": step,
            "exact": float(walk.exact[step]),
            "nearest": float(walk.nearest[step]),
            "mean": float(mean[step]),
            "sd": float(spread[step]),
        }
        for step in at
    ]
    tooltip = [
        alt.Tooltip("step:Q", format=","),
        alt.Tooltip("exact:Q", title="not rounded", format=".5~g"),
        alt.Tooltip("nearest:Q", title="to nearest", format=".5~g"),
        alt.Tooltip("mean:Q", title="stochastic, mean", format=".5~g"),
        alt.Tooltip("sd:Q", title="± between runs", format=".3~g"),
    ]
    chart = alt.layer(runs, lines, pointer("told", x, tooltip, ink)).properties(
        width="container", height=HEIGHT + 40
    )
    return filled(chart, runs=thin, lines=long_rows("step", at, series), told=told)
