"""Losses of runs relative to bf16's, over the steps, with the band of bf16's own seeds behind them."""

from collections.abc import Sequence
from dataclasses import dataclass

import altair as alt

from pages.kit.charts.finish import color_range, dressed, shape_range
from pages.kit.charts.ink import Ink
from pages.kit.charts.legible import axis_title
from pages.kit.charts.template import Columns, Filled, number, several, template, text

POINTS, BAND, ENDS = "points", "band", "ends"
TALL = 340
_MANY = 12
_LONG = "a recipe with a long title"
RELATIVE = "loss above bf16, %"
HERE, RECORDED = "this session", "recorded"


@dataclass(frozen=True, kw_only=True)
class Line:
    """A run: its recipe's title, its seed, and percent above bf16 at each step.

    `failure` is the sentence on why it ended early; empty where it did not. `is_here`: it is of this session.
    """

    name: str
    seed: int
    steps: Sequence[int]
    percent: Sequence[float]
    failure: str = ""
    is_here: bool = False


@dataclass(frozen=True, kw_only=True)
class Band:
    """The range of bf16's seeds at each step, in percent of their mean."""

    steps: Sequence[int]
    low: Sequence[float]
    high: Sequence[float]


def curves_chart(
    lines: Sequence[Line], band: Band, reach: tuple[float, float], ink: Ink, *, axis: str = RELATIVE
) -> Filled:
    """Every line over the band; `reach` is the lowest and the highest percent that is drawn.

    Another `axis` draws other numbers than percent, without a band.
    """
    names, is_relative = list(dict.fromkeys(line.name for line in lines)) or [_LONG], axis == RELATIVE
    last = max([*band.steps, *(step for line in lines for step in line.steps[-1:])], default=1)
    band_columns = {"step": list(band.steps), "low": list(band.low), "high": list(band.high)}
    return _template(is_relative, ink).filled(
        {POINTS: _points(lines), BAND: band_columns, ENDS: _ends(lines, reach)},
        names=names,
        along=[0, last],
        reach=list(reach),
        axis=axis_title(axis),
        height=TALL + 26 * len(names),
    )


def _points(lines: Sequence[Line]) -> Columns:
    rows = [
        (line, step, percent)
        for line in lines
        for step, percent in zip(line.steps, line.percent, strict=True)
    ]
    return {
        "who": [line.name for line, _, _ in rows],
        "run": [f"{line.name} {line.seed} {line.is_here}" for line, _, _ in rows],
        "seed": [line.seed for line, _, _ in rows],
        "from": [HERE if line.is_here else RECORDED for line, _, _ in rows],
        "step": [step for _, step, _ in rows],
        "percent": [percent for _, _, percent in rows],
    }


def _ends(lines: Sequence[Line], reach: tuple[float, float]) -> Columns:
    """The last point of each run, within the picture; the mark of one that failed."""
    low, high = reach
    last = [(line, line.steps[-1], line.percent[-1]) for line in lines if line.steps]
    return {
        "who": [line.name for line, _, _ in last],
        "seed": [line.seed for line, _, _ in last],
        "from": [HERE if line.is_here else RECORDED for line, _, _ in last],
        "step": [step for _, step, _ in last],
        "percent": [percent for _, _, percent in last],
        "drawn": [min(max(percent, low), high) for _, _, percent in last],
        "failure": [line.failure or "none" for line, _, _ in last],
    }


@template
def _template(is_relative: bool, ink: Ink) -> alt.LayerChart:
    names = several("names", [_LONG])
    legend = alt.Legend(
        orient="bottom", columns=3, labelLimit=300, labelColor=ink.text, symbolSize=100, symbolOpacity=1
    )
    color = alt.Color(
        "who:N", title=None, legend=legend, scale=alt.Scale(domain=names, range=color_range(_MANY, ink))
    )
    shape = alt.Shape(
        "who:N", title=None, legend=legend, scale=alt.Scale(domain=names, range=shape_range(_MANY))
    )
    x = alt.X(
        "step:Q",
        title="step",
        scale=alt.Scale(domain=several("along", [0.0, 1.0]), nice=False),
        axis=alt.Axis(tickMinStep=1, tickCount=8, grid=False),
    )
    reach = alt.Scale(domain=several("reach", [-1.0, 1.0]), nice=False)
    axis = alt.Axis(format="+.3~g" if is_relative else ".3~g", tickCount=7)
    y = alt.Y("percent:Q", title=text("axis", RELATIVE), scale=reach, axis=axis)
    tooltip = [
        alt.Tooltip("who:N", title="run"),
        alt.Tooltip("seed:Q", title="seed"),
        alt.Tooltip("from:N", title="from"),
        alt.Tooltip("step:Q", title="step"),
        alt.Tooltip("percent:Q", title="above bf16, %" if is_relative else "loss", format="+.3f"),
    ]
    band = (
        alt.Chart(alt.NamedData(BAND))
        .mark_area(color=ink.soft, opacity=0.28, clip=True, aria=False)
        .encode(x=x, y=alt.Y("low:Q", scale=reach, axis=axis, title=text("axis", RELATIVE)), y2="high:Q")
    )
    zero = (
        alt.Chart(alt.Data(values=[{"percent": 0}]))
        .mark_rule(color=ink.text, strokeWidth=1, aria=False)
        .encode(y=y)
    )
    lines = alt.Chart(alt.NamedData(POINTS)).encode(x=x, y=y, color=color, detail="run:N")
    dash = alt.StrokeDash(
        "from:N", scale=alt.Scale(domain=[RECORDED, HERE], range=[[1, 0], [6, 3]]), legend=None
    )
    ends = alt.Chart(alt.NamedData(ENDS)).encode(
        x=x, y=alt.Y("drawn:Q", scale=reach, axis=axis, title=text("axis", RELATIVE)), color=color
    )
    fallen = ends.transform_filter("datum.failure != 'none'")
    return dressed(
        alt.layer(
            band,
            zero,
            lines.mark_line(strokeWidth=2, clip=True, aria=False).encode(strokeDash=dash),
            lines.mark_point(size=30, filled=True, opacity=0.01, clip=True).encode(tooltip=tooltip),
            ends.mark_point(size=80, filled=True, opacity=1).encode(shape=shape, tooltip=tooltip),
            fallen.mark_text(text="✕", dy=-14, fontSize=17, fontWeight="bold").encode(
                tooltip=[*tooltip, alt.Tooltip("failure:N", title="why it ended")]
            ),
            height=number("height", TALL),
        ),
        ink,
    )
