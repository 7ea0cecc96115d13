"""Rows of recipes: speed over torch's op, and the cost of a scale."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import altair as alt

from pages.benchmarks.charts.points import Words, tooltip, word_columns
from pages.kit.charts.ink import Ink
from pages.kit.charts.named_rows import COLOR, SHAPE, Rows, across, columns, names, row_axis
from pages.kit.charts.parts import dressed
from pages.kit.charts.recipe_marks import mark_of
from pages.kit.charts.template import Filled, by_column, number, several, template, text

Row = dict[str, Any]

MATMUL, QUANTIZE = "matmul", "quantizing"
# Pixels of a line; with less than the least, the points of a group share one line.
_LEAST, _MOST = 11, 26
_AROUND = 87
# Lines above and below a group's points, with its name on a narrow page.
_HEAD, _FOOT = 1.25, 0.3
_FIRST = 1.75  # the line of the first point, below the words at the top
_BARE = 1.4  # lines of a group without an op of torch's
_ROOM = 0.06
_ABOVE = -16  # pixels from a group's first point up to its name on a narrow page
NO_OP = "torch has no such op on this GPU"
_WIDE = "width >= 720"
# Pixels from the left: the end of the names. From the right: the shapes' names, the means, the second part.
_NAMES, _SHAPES, _MEAN, _BF16 = 250, 390, 300, 215


@dataclass(frozen=True, kw_only=True)
class Group:
    """One contender's points with their geometric means; `mean` is None without an op of torch's.

    - dots: name, here, ratio (its speed over torch's op) from low to high, bf16 (over bf16's), words.
    - others: libraries that take no turns with ours: name, ratio, source, and the line of a dot.
    """

    title: str
    recipe: str
    mean: float | None
    mean_bf16: float | None
    dots: tuple[Row, ...]
    others: tuple[Row, ...] = ()


def ratios_chart(groups: Sequence[Group], room: float, ink: Ink) -> Filled:
    """The groups from top to bottom, at most `room` pixels high."""
    is_flat = room < _AROUND + _LEAST * sum(size_of(group) + _HEAD + _FOOT for group in groups)
    rows: dict[str, list[Row]] = {name: [] for name in ("heads", "borders", "points", "bf16", "others")}
    top, above = _FIRST, ()
    for group in groups:
        own = tuple(dot["name"] for dot in group.dots)
        _add(rows, group, top, is_flat=is_flat, is_named=not is_flat and own != above)
        top, above = top + (1.0 if is_flat else size_of(group)) + _FOOT + _HEAD, own
    lines = top - _HEAD / 2
    around = [1.0, *(row[end] for row in rows["points"] for end in ("ratio", "low", "high") if row[end])]
    around += [row["ratio"] for row in rows["others"]]
    bf16 = [1.0, *(row["ratio"] for row in rows["bf16"])]
    margin = _ROOM * (max(around) - min(around)) or _ROOM
    behind = 9 if rows["others"] else 1  # a library's name stands behind its point
    words = {name: word_columns([row.pop("words") for row in rows[name]]) for name in ("points", "bf16")}
    return _ratios(ink).filled(
        {name: by_column(own) | words.get(name, {}) for name, own in rows.items()},
        lines=[lines, 0.0],
        ratios=[min(around) - margin, max(around) + behind * margin],
        bf16=[min(bf16) - _ROOM, max(bf16) + _ROOM],
        height=min(room, _AROUND + lines * _MOST),
        size=64.0 if is_flat else 110.0,
        edge=0.0 if is_flat else 1.0,
        end=f"{_WIDE} ? width - {_MEAN if is_flat else _SHAPES} : width - 56",
    )


def _add(rows: dict[str, list[Row]], group: Group, top: float, *, is_flat: bool, is_named: bool) -> None:
    """Add the rows of a group from the line `top` on; a flat one has all points in that line."""
    size, own = 1.0 if is_flat else size_of(group), mark_of(group.recipe)
    mark, middle = {"color": own.color, "shape": own.shape}, top + size / 2 - 0.5
    has_torch = group.mean is not None
    for line, dot in enumerate(group.dots):
        if has_torch:
            place = {"y": top if is_flat else top + line, "name": dot["name"] if is_named else ""}
            rows["points"].append(mark | dot | place | ({"low": None, "high": None} if is_flat else {}))
        if dot["bf16"]:
            rows["bf16"].append(mark | {"y": middle, "ratio": dot["bf16"], "words": dot["words"]})
    best = max(group.others, key=lambda other: other["ratio"], default=None)
    for other in group.others:
        place = {"y": top if is_flat else top + other["line"], "label": other["name"] * (other is best)}
        rows["others"].append(mark | other | place)
    if rows["heads"]:
        rows["borders"].append({"y": top - _HEAD / 2 - _FOOT})
    rows["heads"].append(
        mark
        | {
            "title": group.title,
            "first": top,
            "y": middle,
            "low": middle - size / 2,
            "high": middle + size / 2,
        }
        | {"mean": group.mean, "figure": f"{group.mean:.2f}" if has_torch else ""}
        | {"none": "" if has_torch else NO_OP, "mean_bf16": group.mean_bf16}
        | {"figure_bf16": "" if group.mean_bf16 is None else f"{group.mean_bf16:.2f}"}
    )


def size_of(group: Group) -> float:
    return float(len(group.dots)) if group.mean is not None else _BARE


@template
def _ratios(ink: Ink) -> alt.LayerChart:
    chart = alt.layer(_beside_torch(ink), _beside_bf16(ink), _words(ink)).resolve_scale(x="independent")
    return dressed(
        chart.properties(height=number("height", 400), padding={"top": 24, "left": 4, "right": 4}), ink
    )


_IF_WIDE, _IF_NARROW = alt.ExprRef(f"{_WIDE} ? 1 : 0"), alt.ExprRef(f"{_WIDE} ? 0 : 1")
_MARKS = {"color": COLOR, "shape": SHAPE}


def _data(name: str) -> alt.Chart:
    return alt.Chart(alt.NamedData(name))


def _one() -> alt.Chart:
    return alt.Chart(alt.Data(values=[{"at": 1}]))


def _y(field: str = "y") -> alt.Y:
    lines = alt.Scale(domain=several("lines", [10.0, 0.0]), nice=False, zero=False)
    return alt.Y(f"{field}:Q", scale=lines, axis=None)


def _ticks(ink: Ink, one: str, condition: str = "true", **look: Any) -> alt.Axis:
    """An axis without a line, its 1 named `one`; it has words under the Vega `condition` only."""
    words = f"{condition} ? datum.value === 1 ? '{one} = 1' : datum.label : ''"
    return alt.Axis(labelExpr=words, domain=False, ticks=False, labelColor=ink.soft, orient="bottom", **look)


def _beside_torch(ink: Ink) -> alt.LayerChart:
    reach = [alt.ExprRef(f"{_WIDE} ? {_NAMES} : 4"), alt.ExprRef(text("end", "width - 56"))]
    scale = alt.Scale(domain=several("ratios", [0.9, 1.1]), range=reach, nice=False, zero=False)
    ticks = _ticks(ink, "torch", tickCount=6, format=".2f", grid=True)

    def x(field: str) -> alt.X:
        return alt.X(f"{field}:Q", scale=scale, axis=ticks, title=None)

    points, heads, others, one = _data("points"), _data("heads"), _data("others"), _one()
    ratio = alt.Tooltip("ratio:Q", title="times as fast as torch's op", format=".3f")
    outline = alt.when(alt.datum.here).then(alt.value(ink.text)).otherwise(alt.value(ink.page))
    size = alt.when(alt.datum.here).then(alt.value(220)).otherwise(alt.value(number("size", 110.0)))
    hollow = others.mark_point(filled=True, opacity=1, size=120, fill=ink.page, strokeWidth=2)
    quiet = heads.mark_text(align="left", baseline="middle", dx=10, fontSize=14, color=ink.soft)
    libraries = others.mark_text(align="left", baseline="middle", dx=10, fontSize=13, color=ink.text)
    above = {"baseline": "bottom", "dy": -4, "fontSize": 13}
    faster = one.mark_text(align="left", dx=8, fontWeight="bold", color=ink.text, **above)
    # On a narrow page it would reach beyond the left edge.
    above["fontSize"] = alt.ExprRef(f"{_WIDE} ? 13 : 1")
    slower = one.mark_text(align="right", dx=-8, color=ink.soft, opacity=_IF_WIDE, **above)
    return alt.layer(
        _data("borders").mark_rule(color=ink.hair, opacity=_IF_WIDE).encode(y=_y()),
        one.mark_rule(color=ink.text, strokeWidth=2, opacity=_IF_WIDE).encode(x=x("at")),
        # A narrow page has the names above the points: the line is beside the points only.
        heads.mark_rule(color=ink.text, strokeWidth=2, opacity=_IF_NARROW).encode(
            x=alt.datum(1, scale=scale, axis=ticks), y=_y("low"), y2="high"
        ),
        heads.mark_rule(color=ink.line, strokeWidth=3).encode(x=x("mean"), y=_y("low"), y2="high"),
        points.mark_rule(strokeWidth=2).encode(x=x("low"), x2="high", y=_y(), color=COLOR),
        points.mark_point(filled=True, opacity=1, strokeWidth=number("edge", 1.0)).encode(
            x=x("ratio"), y=_y(), **_MARKS, stroke=outline, size=size, tooltip=tooltip(ratio)
        ),
        hollow.encode(
            x=x("ratio"),
            y=_y(),
            shape=SHAPE,
            stroke=alt.Stroke("color:N", scale=None),
            tooltip=[alt.Tooltip("name:N", title="library"), ratio, alt.Tooltip("source:N", title="from")],
        ),
        libraries.encode(x=x("ratio"), y=_y(), text="label:N"),
        quiet.encode(x=alt.datum(1, scale=scale, axis=ticks), y=_y(), text="none:N"),
        faster.encode(x=x("at"), y=alt.value(0), text=alt.value("faster than torch →")),
        slower.encode(x=x("at"), y=alt.value(0), text=alt.value("← slower")),
    )


def _beside_bf16(ink: Ink) -> alt.LayerChart:
    reach = [alt.ExprRef(f"width - {_BF16}"), alt.ExprRef("width - 56")]
    scale = alt.Scale(domain=several("bf16", [0.9, 2.0]), range=reach, nice=False, zero=False)
    ticks = _ticks(ink, "bf16", _WIDE, tickCount=3, format="~f", grid=False)

    def x(field: str) -> alt.X:
        return alt.X(f"{field}:Q", scale=scale, axis=ticks, title=None)

    ratio = alt.Tooltip("ratio:Q", title="times as fast as bf16", format=".3f")
    small = _data("bf16").mark_point(filled=True, opacity=alt.ExprRef(f"{_WIDE} ? 0.45 : 0"), size=24)
    return alt.layer(
        _one().mark_rule(color=ink.line, strokeWidth=2, opacity=_IF_WIDE).encode(x=x("at")),
        small.encode(x=x("ratio"), y=_y(), color=COLOR, tooltip=tooltip(ratio)),
        _data("heads")
        .mark_point(filled=True, opacity=_IF_WIDE, size=110)
        .encode(x=x("mean_bf16"), y=_y(), **_MARKS),
    )


def _words(ink: Ink) -> alt.LayerChart:
    heads, bold = _data("heads"), {"fontWeight": "bold"}

    def words(chart: alt.Chart, field: str, at: str, **style: Any) -> alt.Chart:
        mark = {"align": "left", "baseline": "middle", "color": ink.text, "fontSize": 14, **style}
        return chart.mark_text(**mark).encode(text=field, x=alt.value(alt.ExprRef(at)), y=_y())

    def head(words: str, at: str, **style: Any) -> alt.Chart:
        mark = {"align": "right", "baseline": "bottom", "dy": -4, "fontSize": 13, "color": ink.soft, **style}
        at_top = {"x": alt.value(alt.ExprRef(at)), "y": alt.value(0)}
        return _one().mark_text(**mark).encode(**at_top, text=alt.value(words))

    mean, shapes = f"{_WIDE} ? width - {_MEAN} + 62 : width", f"{_WIDE} ? width - {_SHAPES} + 8 : 0"
    large = heads.mark_point(filled=True, size=130, opacity=_IF_WIDE)
    small = heads.mark_point(filled=True, size=100, opacity=_IF_NARROW, yOffset=_ABOVE)
    return alt.layer(
        large.encode(x=alt.value(8), y=_y(), **_MARKS),
        words(heads, "title:N", "24", opacity=_IF_WIDE, **bold),
        small.encode(x=alt.value(8), y=_y("first"), **_MARKS),
        words(heads, "title:N", "22", fontSize=13, dy=_ABOVE, opacity=_IF_NARROW, **bold).encode(
            y=_y("first")
        ),
        words(_data("points"), "name:N", shapes, color=ink.soft, fontSize=11, opacity=_IF_WIDE),
        words(heads, "figure:N", mean, fontSize=20, align="right", **bold),
        words(heads, "figure_bf16:N", f"{_WIDE} ? width : 0", align="right", opacity=_IF_WIDE, **bold),
        head("on average", mean),
        head("times as fast as bf16", "width", opacity=_IF_WIDE),
    )


_TIME = "time, bf16 = 1"


@dataclass(frozen=True, kw_only=True)
class Cost:
    """One contender's times over bf16's; bf16 itself has neither recipe nor words."""

    name: str
    recipe: str | None
    matmul: float
    quantize: float | None
    words: Words | None

    @property
    def whole(self) -> float:
        return self.matmul + (self.quantize or 0.0)


def cost_chart(costs: Sequence[Cost], room: float, ink: Ink) -> Filled:
    bars, words = [], []
    for y, cost in enumerate(costs):
        parts = [(MATMUL, 0.0, cost.matmul)]
        if cost.quantize is not None:
            parts.append((QUANTIZE, cost.matmul, cost.whole))
        for part, start, end in parts:
            bar = {"y": y, "name": cost.name, "part": part, "start": start, "end": end, "share": end - start}
            bars.append(bar)
        words += [cost.words] * len(parts)
    ends = {
        **columns([cost.name for cost in costs], [mark_of(cost.recipe) for cost in costs]),
        "whole": [cost.whole for cost in costs],
        "matmul": [f"{cost.matmul:.2f}" for cost in costs],
        "quantize": ["" if cost.quantize is None else f"+ {cost.quantize:.2f}" for cost in costs],
    }
    rows = Rows(len(costs), room, around=80)
    return _costs(ink).filled(
        {"bars": by_column(bars) | word_columns(words), "ends": ends},
        times=[0.0, max(1.0, *(cost.whole for cost in costs))],
        bar=rows.thick,
        **rows.holes(),
    )


@template
def _costs(ink: Ink) -> alt.LayerChart:
    y = row_axis()
    times = alt.Scale(domain=several("times", [0.0, 1.0]), range=across(160, 112, names=_NAMES), nice=False)
    axis = alt.Axis(tickCount=5, format=".2~f", domain=False, ticks=False, labelColor=ink.soft)
    parts = alt.Scale(domain=[MATMUL, QUANTIZE], range=[ink.dot, ink.scale])
    ends = _data("ends")
    bars = (
        _data("bars")
        .mark_bar(size=number("bar", 24.0), aria=False, stroke=ink.page, strokeWidth=1, cornerRadius=2)
        .encode(
            y=y,
            x=alt.X("start:Q", title=_TIME, scale=times, axis=axis),
            x2="end",
            color=alt.Color("part:N", legend=None, scale=parts),
            tooltip=tooltip(
                alt.Tooltip("name:N", title="recipe"),
                alt.Tooltip("part:N", title="part"),
                alt.Tooltip("share:Q", title=_TIME, format=".3f"),
            ),
        )
    )
    figures = [
        ends.mark_text(
            align="left", baseline="middle", fontSize=14, fontWeight="bold", color=color, dx=dx
        ).encode(y=y, x=alt.X("whole:Q", scale=times), text=field)
        for field, dx, color in (("matmul:N", 8, ink.text), ("quantize:N", 42, ink.scale))
    ]
    rule = _one().mark_rule(color=ink.line, strokeWidth=1.5)
    legend = _one().mark_text(align="right", baseline="top", fontSize=13, color=ink.scale, fontWeight="bold")
    chart = alt.layer(
        rule.encode(x=alt.datum(1.0, scale=times)),
        bars,
        *names(ends, y, ink),
        *figures,
        legend.encode(
            x=alt.value(alt.ExprRef("width")), y=alt.value(0), text=alt.value("+ quantizing A and B")
        ),
    )
    return dressed(chart.properties(height=number("height", 300)), ink)
