"""Losses of runs relative to bf16's, over the steps, with the band of bf16's own seeds behind them.

What ends in the band has no order: it is gray. The others have their recipe's color, and their names stand at
their ends.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import altair as alt

from pages.kit.charts.finish import dressed
from pages.kit.charts.ink import Ink
from pages.kit.charts.labels import spread
from pages.kit.charts.legible import axis_title
from pages.kit.charts.recipe_marks import mark_of
from pages.kit.charts.template import Columns, Filled, number, several, template, text

POINTS, BAND, ENDS, LABELS = "points", "band", "ends", "labels"
_AROUND = 64
CHANGED = "changed"
"""Stands for a recipe: what a change has made of one."""
RELATIVE = "loss above the mean of bf16, %"
HERE, RECORDED = "this session", "recorded"
_WIDE = "width >= 600"
_ASIDE, _NARROW = 286, 104
"""Pixels at the right for the labels, on a wide and on a narrow page."""
_BLOCK, _LINE = 46.0, 22.0
"""Pixels of a label with a large figure, and of a line of a list."""


@dataclass(frozen=True, kw_only=True)
class Line:
    """A run: its title, its seed, and percent above bf16 at each step.

    `recipe` gives the color; a run that is `quiet` is gray. A `mean` of runs is thicker. `failure` is the
    sentence on why it ended early; empty where it did not. `is_here`: it is of this session.
    """

    name: str
    seed: int
    steps: Sequence[int]
    percent: Sequence[float]
    recipe: str = ""
    failure: str = ""
    is_here: bool = False
    is_quiet: bool = False
    is_mean: bool = False


@dataclass(frozen=True, kw_only=True)
class Band:
    """The range of bf16's seeds at each step, in percent of their mean."""

    steps: Sequence[int]
    low: Sequence[float]
    high: Sequence[float]


@dataclass(frozen=True, kw_only=True)
class Label:
    """Words at the right, beside `percent`: a figure, a name and what is said of it, or a name of a list."""

    percent: float
    figure: str
    name: str
    note: str = ""
    recipe: str = ""


def curves_chart(
    lines: Sequence[Line],
    band: Band,
    reach: tuple[float, float],
    room: float,
    ink: Ink,
    *,
    labels: Sequence[Label] = (),
    axis: str = RELATIVE,
) -> Filled:
    """Every line over the band; `reach` is the lowest and the highest percent that is drawn.

    Another `axis` draws other numbers than percent, without a band.
    """
    is_relative = axis == RELATIVE
    last = max([*band.steps, *(step for line in lines for step in line.steps[-1:])], default=1)
    band_columns = {"step": list(band.steps), "low": list(band.low), "high": list(band.high)}
    return _template(is_relative, ink).filled(
        {
            POINTS: _points(lines, ink),
            BAND: band_columns,
            ENDS: _ends(lines, reach, ink),
            LABELS: _labels(labels, reach, room - _AROUND),
        },
        along=[0, last],
        reach=list(reach),
        axis=axis_title(axis),
        height=room,
        right=f"width - ({_WIDE} ? {_ASIDE} : {_NARROW})" if labels else "width - 12",
    )


def _color(line: Line, ink: Ink) -> str:
    if line.is_quiet:
        return ink.mid
    if line.recipe == CHANGED:
        return ink.lost
    return mark_of(line.recipe).color if line.recipe else ink.text


def _points(lines: Sequence[Line], ink: Ink) -> Columns:
    rows = [
        (line, step, percent)
        for line in lines
        for step, percent in zip(line.steps, line.percent, strict=True)
    ]
    return {
        "who": [line.name for line, _, _ in rows],
        "run": [f"{line.name} {line.seed} {line.is_here} {line.is_mean}" for line, _, _ in rows],
        "color": [_color(line, ink) for line, _, _ in rows],
        "wide": [3.0 if line.is_mean else 1.0 if line.is_quiet else 1.5 for line, _, _ in rows],
        "clear": [1.0 if line.is_mean or line.is_here else 0.6 for line, _, _ in rows],
        "seed": ["mean" if line.is_mean else str(line.seed) for line, _, _ in rows],
        "from": [HERE if line.is_here else RECORDED for line, _, _ in rows],
        "step": [step for _, step, _ in rows],
        "percent": [percent for _, _, percent in rows],
    }


def _ends(lines: Sequence[Line], reach: tuple[float, float], ink: Ink) -> Columns:
    """The last point of each run, within the picture; the mark of one that failed."""
    low, high = reach
    last = [(line, line.steps[-1], line.percent[-1]) for line in lines if line.steps]
    return {
        "who": [line.name for line, _, _ in last],
        "color": [_color(line, ink) for line, _, _ in last],
        "shape": [mark_of(line.recipe).shape if line.recipe else "circle" for line, _, _ in last],
        "size": [170 if line.is_mean else 24 if line.is_quiet else 60 for line, _, _ in last],
        "seed": ["mean" if line.is_mean else str(line.seed) for line, _, _ in last],
        "from": [HERE if line.is_here else RECORDED for line, _, _ in last],
        "step": [step for _, step, _ in last],
        "percent": [percent for _, _, percent in last],
        "drawn": [min(max(percent, low), high) for _, _, percent in last],
        "failure": [line.failure or "none" for line, _, _ in last],
    }


def _labels(labels: Sequence[Label], reach: tuple[float, float], tall: float) -> Columns:
    """The labels from top to bottom, none over another one."""
    low, high = reach
    pixel = (high - low) / tall
    ordered = sorted(labels, key=lambda label: -label.percent)
    wanted = [(high - label.percent) / pixel for label in ordered]
    sizes = [_BLOCK if label.figure else _LINE for label in ordered]
    marks = [mark_of(label.recipe) for label in ordered]
    return {
        "place": [high - pixel * at for at in spread(wanted, sizes, tall)],
        "figure": [label.figure for label in ordered],
        "name": [label.name for label in ordered],
        "note": [label.note for label in ordered],
        "listed": [not label.figure for label in ordered],
        "color": [mark.color for mark in marks],
        "shape": [mark.shape for mark in marks],
    }


_MARKS = {"color": alt.Color("color:N", scale=None), "shape": alt.Shape("shape:N", scale=None)}


@template
def _template(is_relative: bool, ink: Ink) -> alt.LayerChart:
    right = alt.ExprRef(text("right", "width - 250"))
    along = alt.Scale(domain=several("along", [0.0, 1.0]), range=[0, right], nice=False)
    steps = alt.Axis(tickMinStep=1, tickCount=7, grid=False, labelExpr="datum.index ? datum.label : 'step 0'")
    x = alt.X("step:Q", title=None, scale=along, axis=steps)
    reach = alt.Scale(domain=several("reach", [-1.0, 1.0]), nice=False)
    axis = alt.Axis(format="+.3~g" if is_relative else ".3~g", tickCount=7, domain=False, ticks=False)

    def y(field: str) -> alt.Y:
        return alt.Y(f"{field}:Q", title=text("axis", RELATIVE), scale=reach, axis=axis)

    band = alt.Chart(alt.NamedData(BAND)).mark_area(color=ink.hair, clip=True, aria=False)
    zero = alt.Chart(alt.Data(values=[{"percent": 0}])).mark_rule(color=ink.line, strokeWidth=1, aria=False)
    chart = alt.layer(
        band.encode(x=x, y=y("low"), y2="high:Q"),
        zero.encode(y=y("percent"), x=alt.value(0), x2=alt.value(right)),
        *_runs(x, y("percent"), y("drawn"), is_relative),
        *_words(y("place"), _MARKS, ink),
        height=number("height", 400),
    )
    return dressed(chart, ink)


def _runs(x: alt.X, y: alt.Y, end: alt.Y, is_relative: bool) -> list[alt.Chart]:
    """The lines of the runs, and their ends."""
    tooltip = [
        alt.Tooltip("who:N", title="run"),
        alt.Tooltip("seed:N", title="seed"),
        alt.Tooltip("from:N", title="from"),
        alt.Tooltip("step:Q", title="step"),
        alt.Tooltip("percent:Q", title="above bf16, %" if is_relative else "loss", format="+.3f"),
    ]
    lines = alt.Chart(alt.NamedData(POINTS)).encode(x=x, y=y, color=_MARKS["color"], detail="run:N")
    origin = alt.Scale(domain=[RECORDED, HERE], range=[[1, 0], [6, 3]])
    ends = alt.Chart(alt.NamedData(ENDS)).encode(x=x, y=end, color=_MARKS["color"])
    fallen = ends.transform_filter("datum.failure != 'none'")
    return [
        lines.mark_line(clip=True, aria=False).encode(
            strokeDash=alt.StrokeDash("from:N", scale=origin, legend=None),
            strokeWidth=alt.StrokeWidth("wide:Q", scale=None),
            opacity=alt.Opacity("clear:Q", scale=None),
        ),
        lines.mark_point(size=30, filled=True, opacity=0.01, clip=True).encode(tooltip=tooltip),
        ends.mark_point(filled=True, opacity=1).encode(
            shape=_MARKS["shape"], size=alt.Size("size:Q", scale=None), tooltip=tooltip
        ),
        fallen.mark_text(text="✕", dy=-14, fontSize=17, fontWeight="bold").encode(
            tooltip=[*tooltip, alt.Tooltip("failure:N", title="why it ended")]
        ),
    ]


def _words(y: alt.Y, marks: dict[str, alt.Color | alt.Shape], ink: Ink) -> list[alt.Chart]:
    """The labels: a large figure, then its name. On a narrow page the name stands below the figure."""
    labels = alt.Chart(alt.NamedData(LABELS))

    def words(field: str, wide: str, narrow: str, **style: object) -> alt.Chart:
        at = alt.value(alt.ExprRef(f"width - ({_WIDE} ? {wide} : {narrow})"))
        mark = {"align": "left", "baseline": "middle", "color": ink.text, **style}
        return labels.mark_text(**mark).encode(x=at, y=y, text=field)

    size = alt.ExprRef(f"{_WIDE} ? 24 : 18")
    listed = labels.transform_filter("datum.listed")
    at = alt.value(alt.ExprRef(f"width - ({_WIDE} ? 264 : 88)"))
    return [
        words("figure:N", "270", "94", fontSize=size, fontWeight="bold", dy=alt.ExprRef(f"{_WIDE} ? 0 : -9")),
        listed.mark_point(filled=True, size=60, opacity=1).encode(x=at, y=y, **marks),
        listed.mark_text(align="left", baseline="middle", fontSize=13, color=ink.text).encode(
            x=alt.value(alt.ExprRef(f"width - ({_WIDE} ? 252 : 78)")), y=y, text="name:N"
        ),
        labels.transform_filter("!datum.listed")
        .mark_text(
            align="left",
            baseline="middle",
            fontSize=alt.ExprRef(f"{_WIDE} ? 15 : 13"),
            fontWeight="bold",
            color=ink.text,
            dy=alt.ExprRef(f"{_WIDE} ? -9 : 9"),
        )
        .encode(x=alt.value(alt.ExprRef(f"width - ({_WIDE} ? 166 : 94)")), y=y, text="name:N"),
        words(
            "note:N", "166", "94", fontSize=13, color=ink.soft, dy=9, opacity=alt.ExprRef(f"{_WIDE} ? 1 : 0")
        ),
    ]
