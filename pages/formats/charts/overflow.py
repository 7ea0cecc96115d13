"""A run under every scale, and under one of them step by step; the results for numbers too large."""

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import groupby

import altair as alt
import numpy as np

from fp8core.formats import Format
from fp8core.rounding import Overflow
from pages.formats.charts.words import number, power_labels
from pages.kit.charts.finish import dressed
from pages.kit.charts.ink import Ink
from pages.kit.charts.labels import beside
from pages.kit.charts.legible import NARROW, SMALLEST
from pages.kit.charts.template import Filled, by_column, several, template
from pages.kit.charts.template import number as number_hole

_ROW_HEIGHT, _AXIS_HEIGHT = 34, 90
INPUTS = ("max", "+ ½ step", "a bit more", "2 · max", "∞")
_SHORT = json.dumps(dict(zip(INPUTS, ("max", "+½", "more", "2×", "∞"), strict=True)), ensure_ascii=False)
"""Vega expression: the inputs' names where a telephone has no room for them."""
POLICIES = {Overflow.SATURATE: "saturate", Overflow.INF: "to infinity", Overflow.NAN: "to NaN"}
FINITE, INFINITE, NAN, MISSING = "largest value", "infinity", "NaN", "no such code"
CELLS = "cells"
_KEPT = 64
Row = dict[str, object]
LEARNS, LOSES, CLIPPED, OVER = (
    "learns",
    "loses small numbers",
    "is slow: large numbers clipped",
    "is over: no finite loss",
)
_BROKEN = {
    LOSES: "loses\nsmall numbers",
    CLIPPED: "is slow: large\nnumbers clipped",
    OVER: "is over:\nno finite loss",
}
ENDS, HERE, BANDS = "ends", "here", "bands"
_POWERS = [10.0**power for power in range(-6, 4)]


def ends_chart(rows: Sequence[Row], at: int, room: int, ink: Ink) -> Filled:
    """A point a scale: `k`, `loss`, `fate` and `zeros`; a rule where the chosen scale is."""
    losses = [float(str(row["loss"])) for row in rows]
    return _ends(ink).filled(
        {ENDS: by_column(rows), HERE: {"k": [at]}, BANDS: by_column(band_rows(rows))},
        span=[min(losses) / 2, max(losses) * 10],
        height=room,
    )


def band_rows(rows: Sequence[Row]) -> list[Row]:
    """A row for each run of scales with one fate: its ends, and where its name stands."""
    last = rows[-1]["k"]
    return [
        {
            "x0": its[0] - 0.5,
            "x1": its[-1] + 0.5,
            "at": its[-1] + 0.5 if its[-1] == last else its[0] - 0.5,
            "is_last": its[-1] == last,
            "fate": fate,
            "words": _BROKEN.get(fate, fate),
        }
        for fate, run in groupby(rows, key=lambda row: str(row["fate"]))
        for its in [[int(str(row["k"])) for row in run]]
    ]


@template
def _ends(ink: Ink) -> alt.LayerChart:
    x = alt.X(
        "k:Q",
        title="scale of the gradients",
        scale=alt.Scale(nice=False, padding=10),
        axis=alt.Axis(labelExpr=power_labels("datum.value"), tickMinStep=1, grid=False, labelOverlap=True),
    )
    y = alt.Y(
        "loss:Q",
        title="loss in the end",
        scale=alt.Scale(type="log", domain=several("span", [1e-4, 10.0]), nice=False),
        axis=alt.Axis(format="~g", values=_POWERS),
    )
    fates = [LEARNS, LOSES, CLIPPED, OVER]
    bands = alt.Chart(alt.NamedData(BANDS))
    band = bands.transform_filter(alt.datum.fate == LEARNS).mark_rect(color=ink.win, aria=False)
    color = alt.when(alt.datum.fate == LEARNS).then(alt.value(ink.scale)).otherwise(alt.value(ink.lost))
    bold = {"baseline": "top", "fontSize": 15, "fontWeight": "bold", "lineBreak": "\n", "aria": False}
    words = [
        side.encode(x=alt.X("at:Q"), y=alt.value(8), text="words:N", color=color)
        for side in beside(bands, "datum.is_last", dx=8, **bold)
    ]
    learns = alt.when(alt.datum.fate == LEARNS)
    points = (
        alt.Chart(alt.NamedData(ENDS))
        .mark_point(size=90, opacity=1, strokeWidth=2)
        .encode(
            x=x,
            y=y,
            fill=learns.then(alt.value(ink.text)).otherwise(alt.value(ink.lost_area)),
            stroke=learns.then(alt.value(ink.text)).otherwise(alt.value(ink.lost)),
            shape=alt.Shape(
                "fate:N",
                legend=None,
                scale=alt.Scale(domain=fates, range=["circle", "triangle-down", "square", "cross"]),
            ),
            tooltip=[
                alt.Tooltip("fate:N", title="the run"),
                alt.Tooltip("text:N", title="loss in the end"),
                alt.Tooltip("zeros:Q", title="gradients that became 0", format=".1%"),
            ],
        )
    )
    here = alt.Chart(alt.NamedData(HERE)).mark_rule(
        color=ink.text, strokeWidth=1.5, strokeDash=[2, 3], aria=False
    )
    return dressed(
        alt.layer(
            band.encode(x=alt.X("x0:Q"), x2="x1:Q"),
            *words,
            here.encode(x="k:Q"),
            points,
            height=number_hole("height", 500),
        ),
        ink,
    )


def inputs(format_: Format) -> tuple[float, ...]:
    """The numbers that INPUTS names."""
    tie = format_.max + format_.gap_beyond / 2
    return format_.max, tie, math.nextafter(tie, math.inf), 2 * format_.max, math.inf


def overflow_rows(formats: Mapping[str, Format]) -> list[Row]:
    """One row a cell."""
    return [row for title, format_ in formats.items() for row in _rows_of(title, format_)]


@lru_cache(maxsize=_KEPT)
def _rows_of(title: str, format_: Format) -> tuple[Row, ...]:
    return tuple(
        {"line": line, "input": name, **cell}
        for policy, line in _lines(title).items()
        for name, cell in zip(INPUTS, _cells(format_, policy), strict=True)
    )


def _lines(title: str) -> dict[Overflow, str]:
    return {policy: f"{title}: {word}" for policy, word in POLICIES.items()}


def _cells(format_: Format, policy: Overflow) -> Iterator[Row]:
    if policy not in format_.overflows:
        yield from ({"came": "", "text": "–", "fate": MISSING} for _ in INPUTS)
        return
    came = inputs(format_)
    became = format_.decode(format_.encode(np.array(came), overflow=policy)).tolist()
    for name, x, value in zip(INPUTS, came, became, strict=True):
        fate = NAN if math.isnan(value) else FINITE if math.isfinite(value) else INFINITE
        more = "+" if name == INPUTS[2] else ""
        yield {"came": number(x, 7) + more, "text": number(value, 6), "fate": fate}


def overflow_chart(formats: Mapping[str, Format], ink: Ink) -> Filled:
    """A table: a line for each format and policy, a column for each input; results in words and color."""
    lines = [line for title in formats for line in _lines(title).values()]
    return _table(ink).filled(
        {CELLS: by_column(overflow_rows(formats))},
        lines=lines,
        height=len(lines) * _ROW_HEIGHT + _AXIS_HEIGHT,
    )


@template
def _table(ink: Ink) -> alt.LayerChart:
    base = alt.Chart(alt.NamedData(CELLS)).encode(
        x=alt.X(
            "input:N",
            title=None,
            axis=alt.Axis(
                orient="top",
                labelAngle=0,
                labelExpr=f"containerSize()[0] < {NARROW} ? ({_SHORT})[datum.label] : datum.label",
                ticks=False,
                domain=False,
                labelLimit=120,
                labelOverlap=False,
            ),
            scale=alt.Scale(domain=list(INPUTS), paddingInner=0.05, paddingOuter=0),
        ),
        y=alt.Y(
            "line:N",
            title=None,
            axis=alt.Axis(ticks=False, domain=False, labelLimit=220),
            scale=alt.Scale(domain=several("lines", ["E4M3: saturate"]), paddingInner=0.08, paddingOuter=0),
        ),
    )
    fates = alt.Scale(
        domain=[FINITE, INFINITE, NAN, MISSING], range=[ink.win, ink.lost_area, ink.lost_area, ink.hair]
    )
    cells = base.mark_rect().encode(
        color=alt.Color("fate:N", scale=fates, legend=None),
        tooltip=[
            alt.Tooltip("line:N", title="format and policy"),
            alt.Tooltip("came:N", title="number"),
            alt.Tooltip("text:N", title="becomes"),
        ],
    )
    came = base.mark_text(dy=-7, size=SMALLEST, color=ink.soft, aria=False).encode(text="came:N")
    became = base.mark_text(
        dy=alt.ExprRef("datum.came === '' ? 0 : 7"), size=12, fontWeight="bold", color=ink.text, aria=False
    ).encode(text="text:N")
    return (
        alt.layer(cells, came, became, height=number_hole("height", _AXIS_HEIGHT))
        .configure_axis(labelColor=ink.text, titleColor=ink.soft)
        .configure_view(stroke=None)
    )
