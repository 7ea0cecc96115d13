"""Lines over the steps of a run, and over the layers of a model.

A run that ends in the band of bf16's seeds is gray; others have their recipe's color and a name.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import altair as alt

from pages.kit.charts.curves import Series, curves
from pages.kit.charts.ink import Ink
from pages.kit.charts.legible import axis_title
from pages.kit.charts.named_rows import COLOR, SHAPE, WIDE
from pages.kit.charts.parts import SHAPES, dressed, spread, tips
from pages.kit.charts.recipe_marks import mark_of
from pages.kit.charts.template import Columns, Filled, by_column, number, several, template, text

POINTS, BAND, ENDS, LABELS = "points", "band", "ends", "labels"
# Selections: a clicked end, and the end under the mouse.
OPEN, NEAR = "opened", "near"
OPENERS = "openers"
CHANGED = "changed"  # in the place of a recipe: a run with a change
RELATIVE = "loss above the mean of bf16, %"
HERE, RECORDED = "this session", "recorded"
# Pixels: around the lines, of the labels on a wide and a narrow page, of a label, and of a name in a list.
_AROUND = 64
_ASIDE, _NARROW = 286, 104
_BLOCK, _LINE = 46.0, 22.0


@dataclass(frozen=True, kw_only=True)
class Line:
    """A run, or a mean of runs: percent above bf16 at each step.

    `opens` is the name of the run that a click on its end opens.
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
    opens: str = ""


@dataclass(frozen=True, kw_only=True)
class Band:
    """The range of bf16's seeds at each step, in percent of their mean."""

    steps: Sequence[int]
    low: Sequence[float]
    high: Sequence[float]


@dataclass(frozen=True, kw_only=True)
class Label:
    """Words at the right: a figure with a name and a note, or a name in a list."""

    percent: float
    name: str
    figure: str = ""
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
    steps: int = 1,
) -> Filled:
    """Every line over the band, from the lowest to the highest percent of `reach`, over at least `steps`.

    Another `axis` has other numbers than percent, without a band.
    """
    last = max([steps, *band.steps, *(step for line in lines for step in line.steps[-1:])])
    runs = [(line, _run(line, ink)) for line in lines]
    return _runs(axis == RELATIVE, any(line.opens for line in lines), ink).filled(
        {
            POINTS: by_column(
                [
                    run | {"step": step, "percent": percent}
                    for line, run in runs
                    for step, percent in zip(line.steps, line.percent, strict=True)
                ]
            ),
            BAND: {"step": list(band.steps), "low": list(band.low), "high": list(band.high)},
            ENDS: by_column([run | _end(line, reach) for line, run in runs if line.steps]),
            LABELS: _labels(labels, reach, room - _AROUND),
        },
        along=[0, last],
        reach=list(reach),
        axis=axis_title(axis),
        height=room,
        right=f"width - ({WIDE} ? {_ASIDE} : {_NARROW})" if labels else "width - 12",
    )


def _run(line: Line, ink: Ink) -> dict[str, object]:
    if line.is_quiet:
        color = ink.mid
    elif line.recipe == CHANGED:
        color = ink.lost
    else:
        color = mark_of(line.recipe).color if line.recipe else ink.text
    return {
        "who": line.name,
        "run": f"{line.name} {line.seed} {line.is_here} {line.is_mean}",
        "color": color,
        "wide": 3.0 if line.is_mean else 1.0 if line.is_quiet else 1.5,
        "clear": 1.0 if line.is_mean or line.is_here else 0.6,
        "seed": "mean" if line.is_mean else str(line.seed),
        "from": HERE if line.is_here else RECORDED,
    }


def _end(line: Line, reach: tuple[float, float]) -> dict[str, object]:
    low, high = reach
    return {
        "shape": mark_of(line.recipe).shape if line.recipe else "circle",
        "size": 170 if line.is_mean else 24 if line.is_quiet else 60,
        "step": line.steps[-1],
        "percent": line.percent[-1],
        "drawn": min(max(line.percent[-1], low), high),
        "failure": line.failure or "none",
        "opens": line.opens,
    }


def _labels(labels: Sequence[Label], reach: tuple[float, float], tall: float) -> Columns:
    low, high = reach
    pixel = (high - low) / tall
    labels = sorted(labels, key=lambda label: -label.percent)
    targets = [(high - label.percent) / pixel for label in labels]
    sizes = [_BLOCK if label.figure else _LINE for label in labels]
    rows = [
        {"place": high - pixel * at, "figure": label.figure, "name": label.name, "note": label.note}
        | {"listed": not label.figure, "color": mark.color, "shape": mark.shape}
        for label, at in zip(labels, spread(targets, sizes, tall), strict=True)
        for mark in [mark_of(label.recipe)]
    ]
    return by_column(rows)


@template
def _runs(is_relative: bool, is_open: bool, ink: Ink) -> alt.LayerChart:
    right = alt.ExprRef(text("right", "width - 250"))
    along = alt.Scale(domain=several("along", [0.0, 1.0]), range=[0, right], nice=False)
    steps = alt.Axis(tickMinStep=1, tickCount=7, grid=False, labelExpr="datum.index ? datum.label : 'step 0'")
    x = alt.X("step:Q", title=None, scale=along, axis=steps)
    reach = alt.Scale(domain=several("reach", [-1.0, 1.0]), nice=False)
    axis = alt.Axis(format="+.3~g" if is_relative else ".3~g", tickCount=7, domain=False, ticks=False)

    def y(field: str) -> alt.Y:
        return alt.Y(f"{field}:Q", title=text("axis", RELATIVE), scale=reach, axis=axis)

    tooltip = tips(
        ("who:N", "run"),
        ("seed:N", "seed"),
        ("from:N", "from"),
        ("step:Q", "step"),
        ("percent:Q", "above bf16, %" if is_relative else "loss", "+.3f"),
    )
    band = alt.Chart(alt.NamedData(BAND)).mark_area(color=ink.hair, clip=True)
    zero = alt.Chart(alt.Data(values=[{"percent": 0}])).mark_rule(color=ink.line, strokeWidth=1, clip=True)
    lines = alt.Chart(alt.NamedData(POINTS)).encode(x=x, y=y("percent"), color=COLOR, detail="run:N")
    origin = alt.Scale(domain=[RECORDED, HERE], range=[[1, 0], [6, 3]])
    ends = alt.Chart(alt.NamedData(ENDS)).encode(x=x, y=y("drawn"), color=COLOR)
    chart = alt.layer(
        band.encode(x=x, y=y("low"), y2="high:Q"),
        zero.encode(y=y("percent"), x=alt.value(0), x2=alt.value(right)),
        lines.mark_line(clip=True).encode(
            strokeDash=alt.StrokeDash("from:N", scale=origin, legend=None),
            strokeWidth=alt.StrokeWidth("wide:Q", scale=None),
            opacity=alt.Opacity("clear:Q", scale=None),
        ),
        lines.mark_point(size=30, filled=True, opacity=0.01, clip=True).encode(tooltip=tooltip),
        ends.mark_point(filled=True, opacity=1).encode(
            shape=SHAPE, size=alt.Size("size:Q", scale=None), tooltip=tooltip
        ),
        ends.transform_filter("datum.failure != 'none'")
        .mark_text(text="✕", dy=-14, fontSize=17, fontWeight="bold")
        .encode(tooltip=[*tooltip, alt.Tooltip("failure:N", title="why it ended")]),
        *_words(y("place"), ink),
        *(_openers(ends, right, tooltip, ink) if is_open else ()),
        height=number("height", 400),
    )
    return dressed(chart, ink)


def _openers(ends: alt.Chart, right: alt.ExprRef, tooltip: list[alt.Tooltip], ink: Ink) -> list[alt.Chart]:
    """A place to click around each end, with a ring under the mouse, and a hint."""
    near = alt.selection_point(name=NEAR, on="pointerover", clear="pointerout", empty=False, fields=["run"])
    clicks = alt.selection_point(
        name=OPEN, on="click", toggle="true", clear=False, empty=False, fields=["opens"]
    )
    hint = alt.Chart(alt.Data(values=[{"words": "click an end: its run"}]))
    return [
        hint.mark_text(align="right", fontSize=13, color=ink.soft, dx=-12).encode(
            x=alt.value(right), y=alt.value(26), text="words:N"
        ),
        ends.properties(name=OPENERS)
        .mark_circle(size=420, fillOpacity=0, strokeWidth=2, opacity=1, cursor="pointer")
        .encode(
            color=alt.value(ink.page),
            stroke=alt.when(near).then(alt.value(ink.text)).otherwise(alt.value("transparent")),
            tooltip=tooltip,
        )
        .add_params(clicks, near),
    ]


def _words(y: alt.Y, ink: Ink) -> list[alt.Chart]:
    """A large figure, then its name; on a narrow page the name stands below."""
    labels = alt.Chart(alt.NamedData(LABELS))
    listed = labels.transform_filter("datum.listed")

    def at(wide: int, narrow: int) -> alt.X:
        return alt.value(alt.ExprRef(f"width - ({WIDE} ? {wide} : {narrow})"))

    def either(wide: int, narrow: int) -> alt.ExprRef:
        return alt.ExprRef(f"{WIDE} ? {wide} : {narrow}")

    def words(data: alt.Chart, field: str, x: alt.X, **style: object) -> alt.Chart:
        mark = {"align": "left", "baseline": "middle", "color": ink.text, "fontSize": 13, **style}
        return data.mark_text(**mark).encode(x=x, y=y, text=f"{field}:N")

    bold = {"fontWeight": "bold"}
    others = labels.transform_filter("!datum.listed")
    return [
        words(labels, "figure", at(270, 94), fontSize=either(24, 18), dy=either(0, -9), **bold),
        listed.mark_point(filled=True, size=60, opacity=1).encode(
            x=at(264, 88), y=y, color=COLOR, shape=SHAPE
        ),
        words(listed, "name", at(252, 78)),
        words(others, "name", at(166, 94), fontSize=either(15, 13), dy=either(-9, 9), **bold),
        words(labels, "note", at(166, 94), color=ink.soft, dy=9, opacity=either(1, 0)),
    ]


_MANY = 6


def layers_chart(
    layers: Sequence[str],
    numbers: Mapping[str, Sequence[float | None]],
    axis: str,
    room: float,
    ink: Ink,
    *,
    is_log: bool,
) -> Filled:
    """A line a name, a point a layer; None and, on a logarithmic axis, 0 have no point."""
    rows = [
        {"who": name, "layer": layer, "value": value}
        for name, values in numbers.items()
        for layer, value in zip(layers, values, strict=True)
        if value is not None and (value > 0 or not is_log)
    ]
    return _layers(is_log, ink).filled(
        {POINTS: by_column(rows)},
        names=list(numbers),
        layers=list(layers),
        axis=axis_title(axis),
        height=room,
    )


@template
def _layers(is_log: bool, ink: Ink) -> alt.LayerChart:
    names = several("names", ["dy in Wgrad"])
    legend = alt.Legend(
        orient="top", columns=_MANY, labelLimit=200, labelColor=ink.text, symbolSize=100, symbolOpacity=1
    )
    x = alt.X(
        "layer:N",
        title="layer: its block, and its name",
        sort=None,
        scale=alt.Scale(domain=several("layers", ["0.qkv"])),
        axis=alt.Axis(labelAngle=-90, labelOverlap="parity", grid=False),
    )
    scale = alt.Scale(type="log", nice=False, padding=10) if is_log else alt.Scale(zero=True)
    axis = alt.Axis(tickCount=6, format="~e" if is_log else ".3~g")
    y = alt.Y("value:Q", title=text("axis", "underflows%"), scale=scale, axis=axis)
    tooltip = tips(("layer:N", "layer"), ("who:N", "of"), ("value:Q", "value", ".4~g"))
    series = Series(names=names, colors=ink.series[:_MANY], shapes=SHAPES[:_MANY], legend=legend)
    base = alt.Chart(alt.NamedData(POINTS)).encode(x=x, y=y)
    marks = curves(base, series, tooltip, width=1.5, size=55)
    return dressed(alt.layer(*marks, height=number("height", 400)), ink)
