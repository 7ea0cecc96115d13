"""Shared parts of the charts of stochastic rounding: a color and a dash for each rounding."""

from collections.abc import Mapping, Sequence

import altair as alt
import numpy as np
from numpy.typing import ArrayLike

from pages.kit.charts.curves import Series
from pages.kit.charts.ink import Ink
from pages.kit.charts.template import Columns

NEAREST, STOCHASTIC, EXACT = "to nearest", "stochastic", "not rounded"
HEIGHT = 300


def roundings(names: Sequence[str], ink: Ink) -> Series:
    """The named roundings with a legend: stochastic solid, to nearest dashed, not rounded dotted."""
    looks = {NEAREST: (ink.lost, [7, 3]), STOCHASTIC: (ink.text, [1, 0]), EXACT: (ink.mid, [2, 3])}
    return Series(
        names=names,
        colors=[looks[name][0] for name in names],
        dashes=[looks[name][1] for name in names],
        field="line",
        legend=alt.Legend(
            orient="top",
            labelColor=ink.text,
            labelFontSize=14,
            symbolType="stroke",
            symbolStrokeWidth=3,
            symbolSize=300,
        ),
    )


def long_columns(x: str, lines: Mapping[str, tuple[ArrayLike, ArrayLike]]) -> Columns:
    """Columns `x`, line and y of named lines, each given by its x and its y."""
    sizes = [np.size(at) for at, _ in lines.values()]
    return {
        x: np.concatenate([np.asarray(at, np.float64) for at, _ in lines.values()]),
        "line": np.repeat(list(lines), sizes),
        "y": np.concatenate([np.asarray(y, np.float64) for _, y in lines.values()]),
    }
