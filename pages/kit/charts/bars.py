"""Horizontal bars and histograms."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import altair as alt

from pages.kit.charts.ink import Ink
from pages.kit.charts.legible import axis_title
from pages.kit.charts.parts import WORDS, dressed, tips, without_names, words_of
from pages.kit.charts.template import Filled, by_column, number, several, template, text

_AXIS = 130  # pixels of the axis and the legend
_OF_LINE, _THICK = 0.43, 56  # a bar's share of its line, and the most pixels of one
_ABOVE = 9  # pixels from a bar to the middle of the words above it
_NAMED = 14  # pixels of a bar that is tall enough for words inside
_ROOM = 1.02
# Pixels of a letter of a name, and around it: a piece that is narrower has no name inside
_LETTER, _SIDES = 8, 6
PIECES, ENDS = "pieces", "ends"


@dataclass(frozen=True, kw_only=True)
class Bar:
    name: str
    pieces: Mapping[str, float]
    label: str

    @property
    def size(self) -> float:
        return sum(self.pieces.values())


def bars(
    lines: Sequence[Bar], names: Mapping[str, str], axis: str, room: int, ink: Ink, colors: Sequence[str] = ()
) -> Filled:
    """Draw bars from top to bottom in `room` pixels.

    `names`: each kind of piece, in the order of pieces and legend, with its words inside where they fit.
    `colors`: of the kinds, where they have a meaning.
    """
    longest = max(line.size for line in lines) or 1.0
    bar = min((room - _AXIS) / len(lines) * _OF_LINE, _THICK)
    pieces = []
    for line in lines:
        start = 0.0
        for kind, name in names.items():
            if (size := line.pieces.get(kind, 0.0)) > 0:
                places = {"start": start, "end": start + size, "wide": size / longest / _ROOM}
                inside = name if bar >= _NAMED else ""
                pieces.append({"line": line.name, "kind": kind, "size": size, "inside": inside, **places})
                start += size
    ends = [{"line": line.name, "end": line.size, WORDS: words_of(line.name, line.label)} for line in lines]
    return _chart(tuple(names), tuple(colors), ink).filled(
        {PIECES: by_column(pieces), ENDS: by_column(ends)},
        lines=[line.name for line in lines],
        kinds=[kind for kind in names if any(piece["kind"] == kind for piece in pieces)],
        across=[0.0, _ROOM * longest],
        axis=axis,
        height=room,
        bar=bar,
        above=-bar / 2 - _ABOVE,
    )


@template
def _chart(kinds: tuple[str, ...], colors: tuple[str, ...], ink: Ink) -> alt.LayerChart:
    y = alt.Y(
        "line:N",
        title=None,
        scale=alt.Scale(domain=several("lines", ["MI300X, fp8"])),
        axis=without_names(),
    )
    across = alt.Scale(domain=several("across", [0.0, 1.0]), nice=False)
    colors = colors or (ink.dot, ink.ramp[4], ink.ramp[2], ink.line, ink.hair)
    words = alt.when(f"indexof({list(kinds[:2])}, datum.kind) >= 0")
    pieces = alt.Chart(alt.NamedData(PIECES)).encode(y=y)
    bars_layer = pieces.mark_bar(size=number("bar", 20), stroke=ink.page, strokeWidth=1).encode(
        x=alt.X("start:Q", title=text("axis", "MiB"), scale=across, axis=alt.Axis(tickCount=5, format=",~f")),
        x2="end",
        color=alt.Color(
            "kind:N",
            title=None,
            scale=alt.Scale(domain=list(kinds), range=colors[: len(kinds)]),
            legend=alt.Legend(
                orient="bottom",
                columns=5,
                values=several("kinds", [kinds[0]]),
                labelColor=ink.text,
                labelLimit=220,
            ),
        ),
        tooltip=tips(("line:N", "bar"), ("kind:N", "piece"), ("size:Q", "size", ",.4~g")),
    )
    inside = (
        pieces.transform_calculate(middle="(datum.start + datum.end) / 2")
        .transform_filter(f"datum.wide * containerSize()[0] > length(datum.inside) * {_LETTER} + {_SIDES}")
        .mark_text(fontSize=14)
        .encode(
            x=alt.X("middle:Q", scale=across),
            text="inside:N",
            color=words.then(alt.value(ink.page)).otherwise(alt.value(ink.text)),
        )
    )
    label_layer = (
        alt.Chart(alt.NamedData(ENDS))
        .mark_text(
            align="left", baseline="middle", dy=number("above", -20), fontSize=14, color=ink.text, clip=False
        )
        .encode(y=y, x=alt.value(0), text=f"{WORDS}:N")
    )
    return dressed(alt.layer(bars_layer, inside, label_layer).properties(height=number("height", 400)), ink)


PARTS = "parts"
_TOOLBAR = 10
_END_LETTER = 8  # pixels of a letter of the words at the end of a bar
_LABEL = "words_wide"
_NARROW = "containerSize()[0] < 480"  # a telephone has a group's name above its bars


@dataclass(frozen=True, kw_only=True)
class Part:
    group: str
    series: str
    share: float
    color: str
    words: str


def grouped(parts: Sequence[Part], axis: str, height: float, ink: Ink) -> Filled:
    """Draw a group's bars side by side, named by the words at their ends."""
    return _grouped_chart(ink).filled(
        {PARTS: by_column([vars(part) for part in parts])},
        groups=list(dict.fromkeys(part.group for part in parts)),
        series=list(dict.fromkeys(part.series for part in parts)),
        ends=[0.0, max((part.share for part in parts), default=0.0) or 1.0],
        axis=axis_title(axis),
        height=height - _TOOLBAR,
        label=_END_LETTER * max(map(len, (part.words for part in parts)), default=0) + _END_LETTER,
    )


@template
def _grouped_chart(ink: Ink) -> alt.LayerChart:
    gap = alt.ExprRef(f"{_NARROW} ? 0.3 : 0.15")
    scale = alt.Scale(domain=several("groups", ["MXFP8"]), paddingInner=gap, paddingOuter=0.2)
    beside = alt.Axis(
        labelExpr=f"{_NARROW} ? '' : datum.label",
        labelLimit=180,
        labelFontSize=14,
        labelColor=ink.text,
        ticks=False,
        domain=False,
    )
    group = alt.Y("group:N", title=None, scale=scale, axis=beside)
    above = (
        alt.Chart(alt.NamedData(PARTS))
        .transform_aggregate(groupby=["group"])
        .transform_calculate(name=f"{_NARROW} ? datum.group : ''")
        .mark_text(align="left", baseline="bottom", x=0, dy=-3, fontSize=14, fontWeight=600, color=ink.text)
        .encode(y=alt.Y("group:N", scale=scale, bandPosition=0), text="name:N")
    )
    reach = [0, alt.ExprRef(f"width - min({_LABEL}, width / 2)")]
    x = alt.X(
        "share:Q",
        scale=alt.Scale(domain=several("ends", [0.0, 1.0]), nice=False, range=reach),
        axis=alt.Axis(title=text("axis", "share"), format="~%", tickCount=5),
    )
    base = alt.Chart(alt.NamedData(PARTS)).encode(
        y=group,
        tooltip=tips(("group:N", "row"), ("series:N", "bar"), ("share:Q", "share", ".3~p")),
    )
    places = alt.Scale(domain=several("series", ["a series"]), paddingInner=0.15, paddingOuter=0)
    offset = alt.YOffset("series:N", scale=places)
    # A bar that leaves a part of its band would be shifted by that part of its group, and its words not.
    thick = alt.RelativeBandSize(band=1)
    chart = alt.layer(
        above,
        base.mark_bar(minBandSize=2, cornerRadiusEnd=2, height=thick).encode(
            x=x, color=alt.Color("color:N", scale=None), yOffset=offset
        ),
        base.mark_text(align="left", dx=6, fontSize=14, color=ink.text, aria=False).encode(
            x=alt.X("share:Q"), text="words:N", yOffset=offset
        ),
        height=number("height", 280),
    )
    return dressed(chart.add_params(alt.param(name=_LABEL, value=number("label", 160))), ink)


def histogram(
    bins: alt.Chart, tooltip: Sequence[alt.Tooltip], ink: Ink, *, lost: str, less: str = "false", **mark: Any
) -> alt.Chart:
    """Bars with x, x2, y and y2.

    Vega expressions: a bar is hollow where `lost` is true, and has fewer bits where `less` is.
    """
    is_lost = alt.when(lost)
    return bins.mark_rect(strokeWidth=0.8, **mark).encode(
        fill=is_lost.then(alt.value(ink.lost_area))
        .when(less)
        .then(alt.value(ink.mid))
        .otherwise(alt.value(ink.dot)),
        stroke=is_lost.then(alt.value(ink.lost)).otherwise(alt.value(ink.page)),
        tooltip=list(tooltip),
    )
