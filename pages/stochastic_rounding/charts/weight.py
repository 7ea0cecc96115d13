"""The path of a weight, step by step, when every step is rounded."""

from dataclasses import dataclass

import altair as alt
import numpy as np
from numpy.typing import NDArray

from fp8core.experiments.weight_updates import Walk
from pages.kit.charts.curves import line, pointer
from pages.kit.charts.ink import Ink
from pages.kit.charts.template import Filled, several, template
from pages.stochastic_rounding.charts.lines import (
    EXACT,
    HEIGHT,
    NEAREST,
    STOCHASTIC,
    long_columns,
    roundings,
)

SINGLE_RUNS = 4
_POINTS = 200
_NAMES = (STOCHASTIC, NEAREST, EXACT)


@dataclass(frozen=True, kw_only=True)
class DrawnWalk:
    """The weight at `step`, evenly spread from the first to the last.

    `mean` and `deviation` are over all stochastic runs; `runs` [SINGLE_RUNS, steps] are the first of them.
    """

    step: NDArray[np.int64]
    exact: NDArray[np.float64]
    nearest: NDArray[np.float64]
    mean: NDArray[np.float64]
    deviation: NDArray[np.float64]
    runs: NDArray[np.float64]


def drawn(walk: Walk) -> DrawnWalk:
    """As many steps of a walk as the picture can show."""
    step = np.unique(np.linspace(0, walk.exact.size - 1, _POINTS).round().astype(int))
    stochastic = walk.stochastic(step)
    return DrawnWalk(
        step=step,
        exact=walk.exact[step],
        nearest=walk.nearest[step],
        mean=stochastic.mean(axis=0),
        deviation=stochastic.std(axis=0),
        runs=stochastic[:SINGLE_RUNS].copy(),
    )


def weight_chart(walk: DrawnWalk, ink: Ink) -> Filled:
    """Nearest, the truth, the mean of all stochastic runs, and the first few of those runs as thin lines."""
    at = walk.step
    series = {EXACT: walk.exact, STOCHASTIC: walk.mean, NEAREST: walk.nearest}
    every = np.concatenate([*series.values(), walk.runs.ravel()])
    told = {
        "step": at,
        "exact": walk.exact,
        "nearest": walk.nearest,
        "mean": walk.mean,
        "sd": walk.deviation,
    }
    return _chart(ink).filled(
        {
            "runs": long_columns("step", {str(number): (at, run) for number, run in enumerate(walk.runs)}),
            "lines": long_columns("step", {name: (at, line) for name, line in series.items()}),
            "told": told,
        },
        steps=[int(at[0]), int(at[-1])],
        weights=[float(every.min()), float(every.max())],
    )


@template
def _chart(ink: Ink) -> alt.LayerChart:
    steps = alt.Scale(domain=several("steps", [0, 1]), nice=False)
    weights = alt.Scale(domain=several("weights", [0.0, 1.0]), nice=True, zero=False)
    x = alt.X("step:Q", title="step", scale=steps, axis=alt.Axis(grid=False))
    y = alt.Y("y:Q", title="weight w", scale=weights, axis=alt.Axis(gridOpacity=0.5))
    runs = (
        alt.Chart(alt.NamedData("runs"))
        .mark_line(color=ink.text, strokeWidth=1, opacity=0.35, interpolate="step-after", aria=False)
        .encode(x=x, y=y, detail="line:N")
    )
    lines = line(alt.Chart(alt.NamedData("lines")).encode(x=x, y=y), roundings(_NAMES, ink))
    tooltip = [
        alt.Tooltip("step:Q", format=","),
        alt.Tooltip("exact:Q", title="not rounded", format=".5~g"),
        alt.Tooltip("nearest:Q", title="to nearest", format=".5~g"),
        alt.Tooltip("mean:Q", title="stochastic, mean", format=".5~g"),
        alt.Tooltip("sd:Q", title="± between runs", format=".3~g"),
    ]
    told = pointer(alt.Chart(alt.NamedData("told")), x, tooltip, ink)
    return alt.layer(runs, lines, told).properties(width="container", height=HEIGHT + 40)
