"""A roofline: speed over operations per byte, under the limits of memory and tensor cores."""

import json
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import product

import altair as alt

from pages.benchmarks.charts.points import Words, intensity_axis, marks, series_points, tooltip, word_columns
from pages.kit.charts.finish import dressed
from pages.kit.charts.ink import Ink
from pages.kit.charts.template import Filled, by_column, number, several, template, text

_DASHES = {True: [1, 0], False: [6, 4]}
_FEW_OPERATIONS, _MANY_OPERATIONS = 16.0, 32768.0
_LABEL = 0.065
"""Share of the height that a label takes, which is larger on a projector, where the chart is flat."""
_ASIDE, _PLACES = 92, 3
"""Pixels from one place of a label to the next one further left, and how many there are."""
_LINE, _FLAT_LABEL = 16, 24
"""Pixels of a line of the slopes' names, and of the label of the lowest peak above them."""
_CORNER = 6
_POINT_AT_THEM = ["Point at a slope for its name."]
_SIZE, _OPACITY = 75, 0.95
_TICKS = [digit * 10.0**power for power in range(5) for digit in (1, 2, 5)]


@dataclass(frozen=True, kw_only=True)
class Roof:
    """min(memory · operations per byte, peak): a GPU's highest speed, measured on it or by datasheet.

    `label` stands on the line, `gpu` and `source` in its tooltip.
    """

    rate: str
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


_Datum = dict[str, object]
_Shared = dict[tuple[bool, float], list[Roof]]
"""Roofs that share a memory's or a peak's speed, measured or by datasheet: they share its line."""


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
        slopes: _Shared = {}
        flats: _Shared = {}
        for roof in roofs:
            slopes.setdefault((roof.is_measured, roof.memory_gb_s), []).append(roof)
            flats.setdefault((roof.is_measured, roof.tflop_s), []).append(roof)
        datasets["roofs"] = by_column(_slopes(slopes, ends) + _flats(flats, ends[1]))
        datasets["labels"] = by_column(_labels(flats, ends[1], (high / low) ** _LABEL))
        below = math.log(min(roof.tflop_s for roof in roofs) / low) / math.log(high / low)
        values |= _names_below(_slope_names(slopes), below)
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
    marks = (
        alt.Chart(alt.NamedData("roofs"))
        .mark_rule(aria=False)
        .encode(
            x=x,
            y=y,
            x2="end",
            y2="end_speed",
            color=color,
            size=alt.when(alt.datum.measured).then(alt.value(2.4)).otherwise(alt.value(1.5)),
            strokeDash=alt.StrokeDash(
                "measured:N",
                legend=None,
                scale=alt.Scale(domain=list(_DASHES), range=list(_DASHES.values())),
            ),
            tooltip=[alt.Tooltip("label:N", title="at most"), alt.Tooltip("source:N", title="from")],
        )
    )
    texts = [
        alt.Chart(alt.NamedData("labels"))
        .transform_filter((alt.datum.below == is_below) & (alt.datum.aside == aside))
        .mark_text(
            align="right",
            baseline="top" if is_below else "bottom",
            dx=-4 - _ASIDE * aside,
            dy=3 if is_below else -3,
        )
        .encode(x=x, y=y, text="label:N", color=color)
        for is_below, aside in product((False, True), range(_PLACES))
    ]
    names = alt.Chart(alt.Data(values=[{}])).mark_text(
        align="right",
        baseline="top",
        text=alt.ExprRef(text("slopes", "['slopes, from left to right:']")),
        x=alt.ExprRef(f"width - {_CORNER}"),
        y=alt.ExprRef(text("slopes_y", "0")),
        lineHeight=_LINE,
        color=ink.soft,
        aria=False,
    )
    return [marks, names, *texts]


def _slopes(slopes: _Shared, ends: tuple[float, float]) -> list[_Datum]:
    """A line for each memory, up to the highest peak that it feeds."""
    lines = []
    for (_, memory_gb_s), shared in slopes.items():
        highest = max(shared, key=lambda roof: roof.tflop_s)
        start, end = min(ends[0], highest.ridge), min(highest.ridge, ends[1])
        name = f"memory, {_gpus(shared)}: {memory_gb_s:,.0f} GB/s"
        lines.append(_line(name, shared, (start, highest.at(start)), (end, highest.at(end))))
    return lines


def _slope_names(slopes: _Shared) -> list[str]:
    """The names of the memories, the fastest first: its slope lies furthest left."""
    fastest_first = sorted(slopes.items(), key=lambda one: -one[0][1])
    lines = ["slopes, from left to right:"]
    for (is_measured, memory_gb_s), shared in fastest_first:
        kind = "measured, solid" if is_measured else "datasheet, dashed"
        lines.append(f"{_gpus(shared)}: {memory_gb_s:,.0f} GB/s, {kind}")
    return lines


def _names_below(names: Sequence[str], share: float) -> dict[str, str]:
    """Words and place of the slopes' names in the empty corner, where they fit into the share of the height
    below the lowest peak; else the way to find them.
    """
    fits = f"height * {share:.3f} > {len(names) * _LINE + _FLAT_LABEL}"
    return {
        "slopes": f"{fits} ? {json.dumps(names, ensure_ascii=False)} : {json.dumps(_POINT_AT_THEM)}",
        "slopes_y": f"height - {_CORNER} - {_LINE} * ({fits} ? {len(names)} : 1)",
    }


def _flats(flats: _Shared, right: float) -> list[_Datum]:
    """A line for each peak, from the first ridge on."""
    lines = []
    for (_, tflop_s), shared in flats.items():
        start = min(min(roof.ridge for roof in shared), right)
        name = f"{shared[0].rate}, {_gpus(shared)}: {tflop_s:,.0f} TFLOP/s"
        lines.append(_line(name, shared, (start, tflop_s), (right, tflop_s)))
    return lines


def _labels(flats: _Shared, right: float, height: float) -> list[_Datum]:
    """A label for each peak: above its line, or below where another line would run through it or another
    label has that place, or else aside. `height` is the ratio of the speeds at a label's edges.

    Datasheets come first, so that a measured label makes way for theirs.
    """
    taken: list[list[tuple[float, float]]] = [[] for _ in range(_PLACES)]
    labels = []
    for (is_measured, tflop_s), shared in sorted(flats.items(), key=lambda one: (one[0][0], -one[0][1])):
        above, below = (tflop_s, tflop_s * height), (tflop_s / height, tflop_s)
        whole = [side for side in (above, below) if not any(side[0] < peak < side[1] for _, peak in flats)]
        places = list(product(range(_PLACES), whole or [below]))
        free = (place for place in places if not _meets(place[1], taken[place[0]]))
        aside, side = next(free, places[-1])
        taken[aside].append(side)
        labels.append(
            {
                "label": " and ".join(dict.fromkeys(roof.label for roof in shared)),
                "intensity": right,
                "speed": tflop_s,
                "measured": is_measured,
                "below": side is below,
                "aside": aside,
            }
        )
    return labels


def _line(name: str, shared: Sequence[Roof], start: tuple[float, float], end: tuple[float, float]) -> _Datum:
    return {
        "label": name,
        "measured": shared[0].is_measured,
        "source": "; ".join(dict.fromkeys(roof.source for roof in shared)),
        "intensity": start[0],
        "speed": start[1],
        "end": end[0],
        "end_speed": end[1],
    }


def _meets(span: tuple[float, float], others: Iterable[tuple[float, float]]) -> bool:
    return any(span[0] < high and low < span[1] for low, high in others)


def _gpus(roofs: Sequence[Roof]) -> str:
    return " and ".join(dict.fromkeys(roof.gpu for roof in roofs))
