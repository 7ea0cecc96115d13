"""Speed relative to torch's op, around a line at 1: a point a shape, in groups of one recipe each.

At the right, the same GEMMs relative to bf16. A page that is narrow has the first part only.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import altair as alt

from pages.kit.charts.finish import dressed
from pages.kit.charts.ink import Ink
from pages.kit.charts.recipe_marks import mark_of
from pages.kit.charts.template import Filled, number, several, template, text
from pages.sections.benchmarks.charts.facts import TimedGemm, fact_columns, tooltip

_LEAST, _MOST = 11, 26
"""Pixels of a line at most; with less than the least, the points of a group share a line."""
_AROUND = 87
_SIZE, _SMALL = 150.0, 64.0
_HEAD, _FOOT = 1.25, 0.3
"""Lines above and below a group's points: the name stands there where the page is narrow."""
_BARE = 1.4
"""Lines of a group that has no op of torch's beside it."""
_ROOM = 0.06
_WIDE = "width >= 720"
_NAMES, _SHAPES, _MEAN, _BF16 = 250, 390, 300, 215
"""Pixels: the first part begins at the names' end and ends at the shapes'; from the right edge: the ends of
the shapes' names and of the means, and the beginning of the second part."""


@dataclass(frozen=True, kw_only=True)
class Dot:
    """One measurement: its speed relative to torch's op between `low` and `high`, and to bf16.

    Neither is there where nothing was timed beside it. It was recorded, or made here.
    """

    name: str
    is_here: bool
    ratio: float | None
    low: float | None
    high: float | None
    bf16: float | None
    facts: TimedGemm


@dataclass(frozen=True, kw_only=True)
class Other:
    """A library that is not timed here, in the line of the point with this number."""

    line: int
    name: str
    ratio: float
    told: str


@dataclass(frozen=True, kw_only=True)
class Group:
    """One contender's points, the geometric means of `averaged` of them, and what is quoted beside them."""

    title: str
    recipe: str
    mean: float | None
    mean_bf16: float | None
    averaged: int
    dots: tuple[Dot, ...]
    others: tuple[Other, ...] = ()


def ratios_chart(groups: Sequence[Group], room: float, ink: Ink) -> Filled:
    """The groups from top to bottom, at most `room` pixels high."""
    is_flat = room < _AROUND + _LEAST * sum(size_of(group) + _HEAD + _FOOT for group in groups)
    top, points, heads, others, borders = _HEAD, [], [], [], []
    names: tuple[str, ...] = ()
    for group in groups:
        named = tuple(dot.name for dot in group.dots)
        borders.append(top - _HEAD / 2 - _FOOT)
        size = 1.0 if is_flat else size_of(group)
        for place, dot in enumerate(group.dots if group.mean is not None else ()):
            y = top if is_flat else top + place
            points.append((group, dot, y, "" if named == names or is_flat else dot.name))
        others += [(group, other, top if is_flat else top + other.line) for other in group.others]
        heads.append((group, top - 1.05, top + size / 2 - 0.5, size))
        top += size + _FOOT + _HEAD
        names = named
    lines = top - _HEAD / 2
    seen = [value for _, dot, _, _ in points for value in (dot.low, dot.high)]
    seen += [1.0, *(other.ratio for _, other, _ in others)]
    bf16 = [dot.bf16 for group in groups for dot in group.dots if dot.bf16 is not None]
    margin = _ROOM * (max(seen) - min(seen)) or _ROOM
    return _chart(ink).filled(
        {
            "points": {
                **_marks([group.recipe for group, _, _, _ in points]),
                "y": [y for _, _, y, _ in points],
                "name": [name for _, _, _, name in points],
                "here": [dot.is_here for _, dot, _, _ in points],
                "ratio": [dot.ratio for _, dot, _, _ in points],
                "low": [None if is_flat else dot.low for _, dot, _, _ in points],
                "high": [None if is_flat else dot.high for _, dot, _, _ in points],
                **fact_columns([dot.facts for _, dot, _, _ in points]),
            },
            "heads": {
                **_marks([group.recipe for group, *_ in heads]),
                "title": [group.title for group, *_ in heads],
                "above": [above for _, above, _, _ in heads],
                "y": [y for _, _, y, _ in heads],
                "low": [y - size / 2 for _, _, y, size in heads],
                "high": [y + size / 2 for _, _, y, size in heads],
                "mean": [group.mean for group, *_ in heads],
                "figure": ["" if group.mean is None else f"{group.mean:.2f}" for group, *_ in heads],
                "mean_bf16": [group.mean_bf16 for group, *_ in heads],
                "averaged": [group.averaged for group, *_ in heads],
                "none": ["" if group.mean is not None else NO_OP for group, *_ in heads],
            },
            "bf16": {
                **_marks([group.recipe for group, *_ in heads for dot in group.dots if dot.bf16]),
                "y": [y for group, _, y, _ in heads for dot in group.dots if dot.bf16],
                "ratio": [dot.bf16 for group, *_ in heads for dot in group.dots if dot.bf16],
                **fact_columns([dot.facts for group, *_ in heads for dot in group.dots if dot.bf16]),
            },
            "others": {
                **_marks([group.recipe for group, _, _ in others]),
                "y": [y for _, _, y in others],
                "name": [other.name for _, other, _ in others],
                "label": [other.name if other is _best(group) else "" for group, other, _ in others],
                "ratio": [other.ratio for _, other, _ in others],
                "told": [other.told for _, other, _ in others],
            },
            "borders": {"y": borders[1:]},
        },
        lines=[lines, 0.0],
        ratios=[min(seen) - margin, max(seen) + (8 if others and is_flat else 4 if others else 1) * margin],
        bf16=[min([1.0, *bf16]) - _ROOM, max([1.0, *bf16]) + _ROOM],
        height=min(room, _AROUND + lines * _MOST),
        size=_SMALL if is_flat else _SIZE,
        edge=0.0 if is_flat else 1.0,
        end=f"{_WIDE} ? width - {_MEAN if is_flat else _SHAPES} : width - 56",
    )


def _best(group: Group) -> Other:
    return max(group.others, key=lambda other: other.ratio)


NO_OP = "torch has no such op on this GPU"


def size_of(group: Group) -> float:
    """The lines of a group's points."""
    return float(len(group.dots)) if group.mean is not None else _BARE


def _marks(recipes: Sequence[str]) -> dict[str, list[str]]:
    marks = [mark_of(name) for name in recipes]
    return {"color": [one.color for one in marks], "shape": [one.shape for one in marks]}


@template
def _chart(ink: Ink) -> alt.LayerChart:
    lines = alt.Scale(domain=several("lines", [10.0, 0.0]), nice=False, zero=False)
    first = alt.Scale(
        domain=several("ratios", [0.9, 1.1]),
        range=[
            alt.ExprRef(f"{_WIDE} ? {_NAMES} : 4"),
            alt.ExprRef(text("end", "width - 56")),
        ],
        nice=False,
        zero=False,
    )
    second = alt.Scale(
        domain=several("bf16", [0.9, 2.0]),
        range=[alt.ExprRef(f"width - {_BF16}"), alt.ExprRef("width - 56")],
        nice=False,
        zero=False,
    )
    wide, narrow = alt.ExprRef(f"{_WIDE} ? 1 : 0"), alt.ExprRef(f"{_WIDE} ? 0 : 1")

    def y(field: str = "y") -> alt.Y:
        return alt.Y(f"{field}:Q", scale=lines, axis=None)

    def x(field: str, scale: alt.Scale, axis: alt.Axis | None) -> alt.X:
        return alt.X(f"{field}:Q", scale=scale, axis=axis, title=None)

    def data(name: str) -> alt.Chart:
        return alt.Chart(alt.NamedData(name))

    def words(chart: alt.Chart, field: str, at: str, **style: object) -> alt.Chart:
        mark = {"align": "left", "baseline": "middle", "color": ink.text, "fontSize": 14, **style}
        return chart.mark_text(**mark).encode(text=field, x=alt.value(alt.ExprRef(at)))

    marks = {
        "color": alt.Color("color:N", scale=None),
        "shape": alt.Shape("shape:N", scale=None),
    }
    ticks = alt.Axis(
        tickCount=6,
        format=".2f",
        grid=True,
        domain=False,
        ticks=False,
        labelColor=ink.soft,
        labelExpr="datum.value === 1 ? 'torch = 1' : datum.label",
    )
    ticks2 = alt.Axis(
        orient="bottom",
        tickCount=3,
        format="~f",
        grid=False,
        domain=False,
        ticks=False,
        labelColor=ink.soft,
        labelExpr=f"{_WIDE} ? datum.value === 1 ? 'bf16 = 1' : datum.label : ''",
    )
    one = alt.Chart(alt.Data(values=[{"at": 1, "first": 0}]))
    points, heads, others, bf16 = (data(name) for name in ("points", "heads", "others", "bf16"))
    ratio = alt.Tooltip("ratio:Q", title="times as fast as torch's op", format=".3f")
    left = alt.layer(
        data("borders").mark_rule(color=ink.hair, aria=False).encode(y=y()),
        one.mark_rule(color=ink.text, strokeWidth=2, aria=False).encode(x=x("at", first, ticks)),
        heads.mark_rule(color=ink.line, strokeWidth=3, aria=False).encode(
            x=x("mean", first, ticks), y=y("low"), y2="high"
        ),
        points.mark_rule(strokeWidth=2, aria=False).encode(
            x=x("low", first, ticks), x2="high", y=y(), color=marks["color"]
        ),
        points.mark_point(filled=True, opacity=1, strokeWidth=number("edge", 1.0)).encode(
            x=x("ratio", first, ticks),
            y=y(),
            **marks,
            stroke=alt.when(alt.datum.here).then(alt.value(ink.text)).otherwise(alt.value(ink.page)),
            size=alt.when(alt.datum.here).then(alt.value(220)).otherwise(alt.value(number("size", _SIZE))),
            tooltip=tooltip(ratio),
        ),
        others.mark_point(filled=True, opacity=1, size=120, fill=ink.page, strokeWidth=2).encode(
            x=x("ratio", first, ticks),
            y=y(),
            shape=marks["shape"],
            stroke=alt.Stroke("color:N", scale=None),
            tooltip=[alt.Tooltip("name:N", title="library"), ratio, alt.Tooltip("told:N", title="from")],
        ),
        others.mark_text(align="left", baseline="middle", dx=10, fontSize=13, color=ink.text).encode(
            x=x("ratio", first, ticks), y=y(), text="label:N"
        ),
        heads.mark_text(align="left", baseline="middle", dx=10, fontSize=14, color=ink.soft).encode(
            x=alt.datum(1, scale=first, axis=ticks), y=y(), text="none:N"
        ),
        one.mark_text(
            align="left", dx=8, dy=-4, baseline="bottom", fontSize=13, fontWeight="bold", color=ink.text
        ).encode(x=x("at", first, ticks), y=alt.value(0), text=alt.value("faster than torch →")),
        one.mark_text(
            align="right", dx=-8, dy=-4, baseline="bottom", fontSize=13, color=ink.soft, opacity=wide
        ).encode(x=x("at", first, ticks), y=alt.value(0), text=alt.value("← slower")),
    )
    right = alt.layer(
        one.mark_rule(color=ink.line, strokeWidth=2, aria=False, opacity=wide).encode(
            x=x("at", second, ticks2)
        ),
        bf16.mark_point(filled=True, opacity=alt.ExprRef(f"{_WIDE} ? 0.45 : 0"), size=24).encode(
            x=x("ratio", second, ticks2),
            y=y(),
            color=marks["color"],
            tooltip=tooltip(alt.Tooltip("ratio:Q", title="times as fast as bf16", format=".3f")),
        ),
        heads.mark_point(filled=True, opacity=wide, size=110).encode(
            x=x("mean_bf16", second, ticks2), y=y(), **marks
        ),
    )
    named = alt.layer(
        heads.mark_point(filled=True, size=130, opacity=wide).encode(x=alt.value(8), y=y(), **marks),
        words(heads, "title:N", "24", fontWeight="bold", opacity=wide).encode(y=y()),
        heads.mark_point(filled=True, size=110, opacity=narrow).encode(x=alt.value(8), y=y("above"), **marks),
        words(heads, "title:N", "22", fontSize=13, fontWeight="bold", opacity=narrow).encode(y=y("above")),
        words(
            points,
            "name:N",
            f"{_WIDE} ? width - {_SHAPES} + 8 : 0",
            color=ink.soft,
            fontSize=12,
            opacity=wide,
        ).encode(y=y()),
        words(
            heads,
            "mean:Q",
            f"{_WIDE} ? width - {_MEAN} + 62 : width",
            fontSize=20,
            fontWeight="bold",
            align="right",
        ).encode(y=y(), text="figure:N"),
        words(
            heads, "mean_bf16:Q", f"{_WIDE} ? width : 0", fontWeight="bold", align="right", opacity=wide
        ).encode(y=y(), text=alt.Text("mean_bf16:Q", format=".2f")),
        *(
            words(one, "first:Q", at, fontSize=13, baseline="bottom", dy=-4, **style).encode(
                y=alt.value(0), text=alt.value(said)
            )
            for said, at, style in (
                (
                    "on average",
                    f"{_WIDE} ? width - {_MEAN} + 62 : width",
                    {"align": "right", "color": ink.soft},
                ),
                ("times as fast as bf16", "width", {"align": "right", "opacity": wide, "color": ink.soft}),
            )
        ),
    )
    chart = alt.layer(left, right, named).resolve_scale(x="independent")
    return dressed(
        chart.properties(height=number("height", 400), padding={"top": 24, "left": 4, "right": 4}), ink
    )
