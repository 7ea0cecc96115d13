"""Points over operations per byte: a roofline, and GEMMs of random shapes."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

import altair as alt

from pages.kit.charts.ink import Ink
from pages.kit.charts.legible import NARROW
from pages.kit.charts.parts import dressed, halo, tips
from pages.kit.charts.recipe_marks import mark_of
from pages.kit.charts.template import Filled, by_column, number, several, template

# A timed GEMM in words, by the titles of its tooltip.
Words = Mapping[str, str]
TITLES = (
    *("GEMM", "M × N × K", "median (20th to 80th percentile)", "speed"),
    *("times as fast as", "kernel", "measured with", "from"),
)
RANDOM_TITLES = ("GEMM", "M × N × K", "ours", "torch's best", "kernel", "slower than the best blocks", "from")


@dataclass(frozen=True, kw_only=True)
class Point:
    """One GEMM; its speed is in TFLOP/s or over torch's best."""

    series: str
    recipe: str
    is_here: bool
    intensity: float
    speed: float
    words: Words


def word_columns(words: Sequence[Words | None], titles: Sequence[str] = TITLES) -> dict[str, list[Any]]:
    return {f"words_{place}": [one and one[title] for one in words] for place, title in enumerate(titles)}


def tooltip(*first: alt.Tooltip, titles: Sequence[str] = TITLES) -> list[alt.Tooltip]:
    return [*first, *(alt.Tooltip(f"words_{place}:N", title=title) for place, title in enumerate(titles))]


def _columns(points: Sequence[Point], titles: Sequence[str]) -> dict[str, list[Any]]:
    fields = {"series": "series", "here": "is_here", "intensity": "intensity", "speed": "speed"}
    columns = {name: [getattr(point, field) for point in points] for name, field in fields.items()}
    return columns | word_columns([point.words for point in points], titles)


def _series(points: Sequence[Point]) -> dict[str, list[str]]:
    recipes = {point.series: point.recipe for point in points}
    every = [mark_of(recipe) for recipe in recipes.values()]
    colors, shapes = [one.color for one in every], [one.shape for one in every]
    return {"series": list(recipes), "colors": colors, "shapes": shapes}


def _intensity_axis() -> alt.X:
    return alt.X(
        "intensity:Q",
        title=["operations per byte:", "2 · M · N · K / bytes of codes, scales and D"],
        scale=alt.Scale(type="log", base=2, domain=several("intensities", [1.0, 4096.0]), nice=False),
        axis=alt.Axis(values=[2.0**power for power in range(20)], format=",~f", grid=True, labelOverlap=True),
    )


def _points(
    x: alt.X, y: alt.Y, ink: Ink, words: Sequence[alt.Tooltip], *, size: float, is_aside: bool
) -> alt.Chart:
    """Points with their recipes' marks; a click in the legend shows one series alone."""
    series = several("series", ["Per tensor, hybrid"])
    colors = alt.Scale(domain=series, range=several("colors", ["#000000"]))
    shapes = alt.Scale(domain=series, range=several("shapes", ["circle"]))
    position = {"orient": "right", "columns": 1} if is_aside else {"orient": "top", "columns": 4}
    legend = alt.Legend(**position, labelLimit=260, labelColor=ink.text, symbolSize=90)
    choice = alt.selection_point(name="picked", fields=["series"], bind="legend")
    return (
        alt.Chart(alt.NamedData("points"))
        .mark_point(filled=True)
        .encode(
            x=x,
            y=y,
            color=alt.Color("series:N", title=None, scale=colors, legend=legend),
            shape=alt.Shape("series:N", title=None, scale=shapes, legend=legend),
            size=alt.when(alt.datum.here).then(alt.value(3 * size)).otherwise(alt.value(size)),
            stroke=alt.when(alt.datum.here).then(alt.value(ink.text)).otherwise(alt.value(None)),
            opacity=alt.when(choice).then(alt.value(0.9)).otherwise(alt.value(0.08)),
            tooltip=words,
        )
        .add_params(choice)
    )


# Room above and below the points, and at their sides: one point alone has a power of two beside it.
_ROOM, _SIDES = 1.15, 1.5
_RATIO_TICKS = [0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.8, 1, 1.25, 1.5, 2, 3, 4, 6, 8, 10, 20]


def any_shape_chart(points: Sequence[Point], room: float, ink: Ink, *, is_aside: bool) -> Filled:
    """The speed of each GEMM over torch's best, around 1. A legend aside needs a wide page."""
    ratios = [1.0, *(point.speed for point in points)]
    intensities = [point.intensity for point in points]
    return _any_shape(ink, is_aside).filled(
        {"points": _columns(points, RANDOM_TITLES)},
        intensities=[min(intensities) / _SIDES, max(intensities) * _SIDES],
        ratios=[min(ratios) / _ROOM, max(ratios) * _ROOM],
        height=room,
        **_series(points),
    )


@template
def _any_shape(ink: Ink, is_aside: bool) -> alt.LayerChart:
    title = "times as fast as torch's best"
    y = alt.Y(
        "speed:Q",
        title=title,
        scale=alt.Scale(type="log", domain=several("ratios", [0.5, 2.0]), nice=False),
        axis=alt.Axis(values=_RATIO_TICKS, format="~g", labelOverlap=True),
    )
    words = tooltip(
        alt.Tooltip("speed:Q", title=title, format=".3f"),
        alt.Tooltip("intensity:Q", title="operations per byte", format=",.0f"),
        titles=RANDOM_TITLES,
    )
    points = _points(_intensity_axis(), y, ink, words, size=50, is_aside=is_aside)
    equal = alt.Chart(alt.Data(values=[{}])).mark_rule(color=ink.text, strokeWidth=1.5)
    chart = alt.layer(equal.encode(y=alt.datum(1.0)), points)
    return dressed(chart.properties(height=number("height", 500)), ink)


_FEW_OPERATIONS, _MANY_OPERATIONS = 16.0, 32768.0
_LABEL = 0.065  # a label's share of the height on a projector, where the chart is flattest
# Pixels of a line of the slopes' names, the number of lines, and pixels from them to the corner.
_LINE, _NAMES, _CORNER = 16, 3, 6
_SPEED_TICKS = [digit * 10.0**power for power in range(5) for digit in (1, 2, 5)]


@dataclass(frozen=True, kw_only=True)
class Roof:
    """min(memory · operations per byte, peak), measured or by the GPU's datasheet."""

    label: str
    gpu: str
    memory_gb_s: float
    tflop_s: float
    is_measured: bool
    source: str

    def at(self, intensity: float) -> float:
        return min(self.memory_gb_s * intensity / 1e3, self.tflop_s)

    @property
    def ridge(self) -> float:
        """Operations per byte above which memory is not the limit."""
        return 1e3 * self.tflop_s / self.memory_gb_s


def roofline(
    points: Sequence[Point], roofs: Sequence[Roof], room: float, ink: Ink, *, is_aside: bool
) -> Filled:
    """Points under the roofs, at least one of either."""
    intensities = [point.intensity for point in points]
    ends = min([_FEW_OPERATIONS, *intensities]), max([_MANY_OPERATIONS, *intensities])
    speeds = [point.speed for point in points]
    low = 0.7 * min([*speeds, *(roof.at(ends[0]) for roof in roofs)])
    high = 1.5 * max([*speeds, *(roof.tflop_s for roof in roofs)])
    lines, names = _roofs(roofs, ends)
    return _roofline(ink, is_aside).filled(
        {
            "roofs": by_column(lines),
            "labels": by_column(_labels(roofs, ends[1], (high / low) ** _LABEL)),
            "names": by_column([{"text": "\n".join(["slopes, from left to right:", *names])}] * bool(names)),
            "points": _columns(points, TITLES),
        },
        intensities=list(ends),
        speeds=[low, high],
        height=room,
        **_series(points),
    )


def _roofs(roofs: Sequence[Roof], ends: tuple[float, float]) -> tuple[list[dict[str, object]], list[str]]:
    """A slope for each memory and a flat line for each peak; and the memories' names, the fastest first."""
    lines, names = [], []

    def add(roof: Roof, label: str, start: float, end: float) -> None:
        line = {"intensity": start, "speed": roof.at(start), "end": end, "end_speed": roof.at(end)}
        lines.append(line | {"label": label, "measured": roof.is_measured, "source": roof.source})

    fastest_first = sorted(roofs, key=lambda roof: (-roof.memory_gb_s, -roof.tflop_s))
    for memory_gb_s, members in groupby(fastest_first, key=lambda roof: roof.memory_gb_s):
        highest, *others = members
        name = f"{highest.gpu}: {memory_gb_s:,.0f} GB/s"
        names.append(f"{name}, {'measured, solid' if highest.is_measured else 'datasheet, dashed'}")
        add(highest, f"memory, {name}", min(ends[0], highest.ridge), min(highest.ridge, ends[1]))
        for roof in (highest, *others):
            peak = f"{roof.label}, {roof.gpu}: {roof.tflop_s:,.0f} TFLOP/s"
            add(roof, peak, min(roof.ridge, ends[1]), ends[1])
    return lines, names


def _labels(roofs: Sequence[Roof], right: float, height: float) -> list[dict[str, object]]:
    """A label for each peak: above its line, or below it if another line or label is near above.

    `height` is the ratio of the speeds at a label's edges. Measured labels make way for datasheets' labels.
    """
    spans: list[tuple[float, float]] = []
    labels = []
    for roof in sorted(roofs, key=lambda roof: (roof.is_measured, -roof.tflop_s)):
        low, high = roof.tflop_s, roof.tflop_s * height
        is_below = any(low < other.tflop_s < high for other in roofs)
        is_below = is_below or any(low < top and bottom < high for bottom, top in spans)
        spans.append((low / height, low) if is_below else (low, high))
        label = {"label": roof.label, "intensity": right, "speed": roof.tflop_s}
        labels.append(label | {"measured": roof.is_measured, "below": is_below})
    return labels


@template
def _roofline(ink: Ink, is_aside: bool) -> alt.LayerChart:
    x = _intensity_axis()
    y = alt.Y(
        "speed:Q",
        title="TFLOP/s",
        scale=alt.Scale(type="log", domain=several("speeds", [1.0, 1000.0]), nice=False),
        axis=alt.Axis(values=_SPEED_TICKS, format=",~f", labelOverlap=True),
    )
    words = tooltip(
        alt.Tooltip("speed:Q", title="TFLOP/s", format=",.0f"),
        alt.Tooltip("intensity:Q", title="operations per byte", format=",.0f"),
    )
    points = _points(x, y, ink, words, size=75, is_aside=is_aside)
    return dressed(alt.layer(*_lines(x, y, ink), points).properties(height=number("height", 500)), ink)


def _lines(x: alt.X, y: alt.Y, ink: Ink) -> list[alt.Chart]:
    color = alt.when(alt.datum.measured).then(alt.value(ink.text)).otherwise(alt.value(ink.soft))
    dashes = alt.Scale(domain=[True, False], range=[[1, 0], [6, 4]])
    rules = (
        alt.Chart(alt.NamedData("roofs"))
        .mark_rule(aria=False)
        .encode(
            x=x,
            y=y,
            x2="end",
            y2="end_speed",
            color=color,
            size=alt.when(alt.datum.measured).then(alt.value(2.4)).otherwise(alt.value(1.5)),
            strokeDash=alt.StrokeDash("measured:N", legend=None, scale=dashes),
            tooltip=tips(("label:N", "at most"), ("source:N", "from")),
        )
    )
    is_narrow = f"containerSize()[0] < {NARROW}"
    labels = [
        alt.Chart(alt.NamedData("labels"))
        .transform_filter(alt.datum.below == is_below)
        .transform_calculate(words=f"{is_narrow} ? split(datum.label, ' ')[0] : datum.label")
        .mark_text(
            align="right",
            baseline="top" if is_below else "bottom",
            dx=-4,
            dy=3 if is_below else -3,
            **halo(ink),
        )
        .encode(x=x, y=y, text="words:N", color=color)
        for is_below in (False, True)
    ]
    names = (
        alt.Chart(alt.NamedData("names"))
        # On a telephone the memory's speed without its GPU.
        .transform_calculate(words=f"{is_narrow} ? replace(datum.text, /.+: (?=[0-9])/g, '') : datum.text")
        .mark_text(
            align="right", baseline="top", lineBreak="\n", lineHeight=_LINE, color=ink.soft, **halo(ink)
        )
        .encode(
            x=alt.value(alt.ExprRef(f"width - {_CORNER}")),
            y=alt.value(alt.ExprRef(f"height - {_CORNER + _NAMES * _LINE}")),
            text="words:N",
        )
    )
    return [rules, names, *labels]
