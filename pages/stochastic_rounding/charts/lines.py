"""Shared parts of the charts of stochastic rounding.

They are a color and a dash for each rounding, and a line that follows the pointer with the numbers beside it.
"""

from collections.abc import Mapping, Sequence

import altair as alt
import numpy as np
from numpy.typing import ArrayLike

from pages.kit.charts.ink import Ink
from pages.kit.charts.template import Columns

NEAREST, STOCHASTIC, EXACT = "to nearest", "stochastic", "not rounded"
HEIGHT = 300


def line_color(names: Sequence[str], ink: Ink) -> alt.Color:
    """Colors of the named lines, with a legend above the chart."""
    colors = {NEAREST: ink.lost, STOCHASTIC: ink.text, EXACT: ink.mid}
    return alt.Color(
        "line:N",
        title=None,
        scale=alt.Scale(domain=list(names), range=[colors[name] for name in names]),
        legend=alt.Legend(
            orient="top",
            labelColor=ink.text,
            labelFontSize=14,
            symbolType="stroke",
            symbolStrokeWidth=3,
            symbolSize=300,
        ),
    )


def line_dash(names: Sequence[str]) -> alt.StrokeDash:
    """Dashes, so that color alone need not tell: stochastic solid, nearest dashed, unrounded dotted."""
    dashes = {NEAREST: [7, 3], STOCHASTIC: [1, 0], EXACT: [2, 3]}
    return alt.StrokeDash(
        "line:N",
        title=None,
        scale=alt.Scale(domain=list(names), range=[dashes[name] for name in names]),
    )


def long_columns(x: str, lines: Mapping[str, tuple[ArrayLike, ArrayLike]]) -> Columns:
    """Columns `x`, line and y of named lines, each given by its x and its y."""
    sizes = [np.size(at) for at, _ in lines.values()]
    return {
        x: np.concatenate([np.asarray(at, np.float64) for at, _ in lines.values()]),
        "line": np.repeat(list(lines), sizes),
        "y": np.concatenate([np.asarray(y, np.float64) for _, y in lines.values()]),
    }


def pointer(data: str, x: alt.X, tooltip: list[alt.Tooltip], ink: Ink) -> alt.Chart:
    """A vertical line at the row of `data` nearest the pointer, with its tooltip; all in the browser."""
    near = alt.selection_point(
        name="near", on="pointermove", nearest=True, clear="pointerout", encodings=["x"], empty=False
    )
    return (
        alt.Chart(alt.NamedData(data))
        .mark_rule(color=ink.text, aria=False)
        .encode(x=x, opacity=alt.when(near).then(alt.value(0.7)).otherwise(alt.value(0)), tooltip=tooltip)
        .add_params(near)
    )
