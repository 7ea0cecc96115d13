"""A roofline: speed over operations per byte, under the limits of memory and tensor cores."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby

import altair as alt

from pages.benchmarks.charts.points import Words, intensity_axis, marks, series_points, tooltip, word_columns
from pages.kit.charts.finish import dressed
from pages.kit.charts.ink import Ink
from pages.kit.charts.template import Filled, by_column, number, several, template

_DASHES = {True: [1, 0], False: [6, 4]}
_FEW_OPERATIONS, _MANY_OPERATIONS = 16.0, 32768.0
_LABEL = 0.065
"""Share of the height that a label takes, which is larger on a projector, where the chart is flat."""
_LINE, _NAMES, _CORNER = 16, 3, 6
"""Pixels of a line of the slopes' names, the number of lines, and pixels from them to the corner."""
_SIZE, _OPACITY = 75, 0.95
_TICKS = [digit * 10.0**power for power in range(5) for digit in (1, 2, 5)]


@dataclass(frozen=True, kw_only=True)
class Roof:
    """min(memory · operations per byte, peak): the GPU's highest speed, measured on it or by its datasheet.

    `label` stands on the line, `source` in its tooltip.
    """

    label: str
    gpu: str
    memory_gb_s: float
    tflop_s: float
    is_measured: bool
    source: str

    def at(self, intensity: float) -> float:
        """TFLOP/s at this many operations per byte."""
        return min(self.memory_gb_s * intensity / 1e3, self.tflop_s)

    @property
    def ridge(self) -> float:
        """Operations per byte above which memory is not the limit."""
        return 1e3 * self.tflop_s / self.memory_gb_s


@dataclass(frozen=True, kw_only=True)
class Point:
    """One measurement."""

    series: str
    recipe: str
    is_here: bool
    intensity: float
    tflop_s: float
    words: Words


def roofline(
    points: Sequence[Point], roofs: Sequence[Roof], room: float, ink: Ink, *, is_aside: bool
) -> Filled:
    """Points under the roofs; there is at least one of each. A legend aside needs a wide page."""
    intensities = [point.intensity for point in points]
    ends = min([_FEW_OPERATIONS, *intensities]), max([_MANY_OPERATIONS, *intensities])
    speeds = [point.tflop_s for point in points] + [roof.at(ends[0]) for roof in roofs]
    low = 0.7 * min(speeds)
    high = 1.5 * max([*(roof.tflop_s for roof in roofs), *(point.tflop_s for point in points)])
    datasets, values = {}, {"intensities": list(ends), "speeds": [low, high]}
    if roofs:
        lines, names = _roofs(roofs, ends)
        datasets["roofs"] = by_column(lines)
        datasets["labels"] = by_column(_labels(roofs, ends[1], (high / low) ** _LABEL))
        datasets["names"] = {"text": ["\n".join(["slopes, from left to right:", *names])]}
    if points:
        datasets["points"] = {
            "series": [point.series for point in points],
            "here": [point.is_here for point in points],
            "intensity": intensities,
            "speed": [point.tflop_s for point in points],
            **word_columns([point.words for point in points]),
        }
        values |= marks({point.series: point.recipe for point in points})
    return _chart(ink, has_roofs=bool(roofs), has_points=bool(points), is_aside=is_aside).filled(
        datasets, height=room, **values
    )


def _roofs(roofs: Sequence[Roof], ends: tuple[float, float]) -> tuple[list[dict[str, object]], list[str]]:
    """A slope for each memory, up to the highest peak that it feeds, and a flat line for each peak.

    The names are those of the memories, the fastest first: its slope lies furthest left.
    """
    lines, names = [], []

    def add(roof: Roof, label: str, start: float, end: float) -> None:
        line = {"intensity": start, "speed": roof.at(start), "end": end, "end_speed": roof.at(end)}
        lines.append(line | {"label": label, "measured": roof.is_measured, "source": roof.source})

    fastest_first = sorted(roofs, key=lambda roof: (-roof.memory_gb_s, -roof.tflop_s))
    for memory_gb_s, shared in groupby(fastest_first, key=lambda roof: roof.memory_gb_s):
        highest, *others = shared
        name = f"{highest.gpu}: {memory_gb_s:,.0f} GB/s"
        names.append(f"{name}, {'measured, solid' if highest.is_measured else 'datasheet, dashed'}")
        add(highest, f"memory, {name}", min(ends[0], highest.ridge), min(highest.ridge, ends[1]))
        for roof in (highest, *others):
            peak = f"{roof.label}, {roof.gpu}: {roof.tflop_s:,.0f} TFLOP/s"
            add(roof, peak, min(roof.ridge, ends[1]), ends[1])
    return lines, names


def _labels(roofs: Sequence[Roof], right: float, height: float) -> list[dict[str, object]]:
    """A label for each peak: above its line, or below where another line or label is near above.

    `height` is the ratio of the speeds at a label's edges. Datasheets come first, so that a measured label
    makes way for theirs.
    """
    taken: list[tuple[float, float]] = []
    labels = []
    for roof in sorted(roofs, key=lambda roof: (roof.is_measured, -roof.tflop_s)):
        low, high = roof.tflop_s, roof.tflop_s * height
        is_below = any(low < other.tflop_s < high for other in roofs)
        is_below = is_below or any(low < top and bottom < high for bottom, top in taken)
        taken.append((low / height, low) if is_below else (low, high))
        label = {"label": roof.label, "intensity": right, "speed": roof.tflop_s}
        labels.append(label | {"measured": roof.is_measured, "below": is_below})
    return labels


@template
def _chart(ink: Ink, *, has_roofs: bool, has_points: bool, is_aside: bool) -> alt.LayerChart:
    x = intensity_axis((16.0, 32768.0))
    y = alt.Y(
        "speed:Q",
        title="TFLOP/s",
        scale=alt.Scale(type="log", domain=several("speeds", [1.0, 1000.0]), nice=False),
        axis=alt.Axis(values=_TICKS, format=",~f", labelOverlap=True),
    )
    layers = _lines(x, y, ink) if has_roofs else []
    if has_points:
        words = tooltip(
            alt.Tooltip("speed:Q", title="TFLOP/s", format=",.0f"),
            alt.Tooltip("intensity:Q", title="operations per byte", format=",.0f"),
        )
        layers.append(series_points(x, y, ink, words, size=_SIZE, opacity=_OPACITY, is_aside=is_aside))
    return dressed(alt.layer(*layers).properties(height=number("height", 500)), ink)


def _lines(x: alt.X, y: alt.Y, ink: Ink) -> list[alt.Chart]:
    """The roofs' lines with their labels."""
    color = alt.when(alt.datum.measured).then(alt.value(ink.text)).otherwise(alt.value(ink.soft))
    dashes = alt.Scale(domain=list(_DASHES), range=list(_DASHES.values()))
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
            tooltip=[alt.Tooltip("label:N", title="at most"), alt.Tooltip("source:N", title="from")],
        )
    )
    labels = [
        alt.Chart(alt.NamedData("labels"))
        .transform_filter(alt.datum.below == is_below)
        .mark_text(align="right", baseline="top" if is_below else "bottom", dx=-4, dy=3 if is_below else -3)
        .encode(x=x, y=y, text="label:N", color=color)
        for is_below in (False, True)
    ]
    names = (
        alt.Chart(alt.NamedData("names"))
        .mark_text(
            align="right", baseline="top", lineBreak="\n", lineHeight=_LINE, color=ink.soft, aria=False
        )
        .encode(
            x=alt.value(alt.ExprRef(f"width - {_CORNER}")),
            y=alt.value(alt.ExprRef(f"height - {_CORNER + _NAMES * _LINE}")),
            text="text:N",
        )
    )
    return [rules, names, *labels]
