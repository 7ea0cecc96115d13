"""The end of a run under every scale, and the results for numbers too large."""

import json
import math
from collections.abc import Mapping, Sequence
from functools import lru_cache
from itertools import groupby
from typing import Any

import altair as alt
import numpy as np

from fp8core.formats import Format
from fp8core.rounding import Overflow
from pages.formats.charts.words import number
from pages.kit.charts.ink import Ink
from pages.kit.charts.legible import NARROW
from pages.kit.charts.parts import beside, dressed, halo, tips
from pages.kit.charts.template import Filled, by_column, several, template
from pages.kit.charts.template import number as number_hole
from pages.kit.charts.words import power_labels

_ROW_HEIGHT, _AXIS_HEIGHT = 34, 90
INPUTS = ("max", "+ ½ step", "a bit more", "2 · max", "∞")
# Vega expression: the inputs' names where a telephone has no room for them.
_SHORT = json.dumps(dict(zip(INPUTS, ("max", "+½", "more", "2×", "∞"), strict=True)), ensure_ascii=False)
POLICIES = {Overflow.SATURATE: "saturate", Overflow.INF: "to infinity", Overflow.NAN: "to NaN"}
FINITE, INFINITE, NAN, MISSING = "largest value", "infinity", "NaN", "no such code"
CELLS, ENDS, BANDS = "cells", "ends", "bands"
Row = dict[str, Any]
# Fates of a run, broken into the lines that a band has room for.
LEARNS, LOSES = "learns", "loses small\nnumbers"
CLIPPED, OVER = "is slow: large\nnumbers clipped", "is over: no\nfinite loss"


def ends_chart(rows: Sequence[Row], room: int, ink: Ink) -> Filled:
    losses = [row["loss"] for row in rows]
    return _ends(ink).filled(
        {ENDS: by_column(rows), BANDS: by_column(band_rows(rows))},
        span=[min(losses) / 2, max(losses) * 10],
        height=room,
    )


def band_rows(rows: Sequence[Row]) -> list[Row]:
    """Bands of scales with one fate: their ends, and the place of their names."""
    last = rows[-1]["k"]
    return [
        {"x0": its[0] - 0.5, "x1": its[-1] + 0.5, "at": its[-1] + 0.5 if its[-1] == last else its[0] - 0.5}
        | {"is_last": its[-1] == last, "fate": fate}
        for fate, run in groupby(rows, key=lambda row: row["fate"])
        for its in [[row["k"] for row in run]]
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
        axis=alt.Axis(format="~g", values=[10.0**power for power in range(-6, 4)]),
    )
    shapes = {LEARNS: "circle", LOSES: "triangle-down", CLIPPED: "square", OVER: "cross"}
    shape = alt.Scale(domain=list(shapes), range=list(shapes.values()))
    learns = alt.when(alt.datum.fate == LEARNS)
    ground = learns.then(alt.value(ink.win)).otherwise(alt.value(ink.page))
    bands = alt.Chart(alt.NamedData(BANDS))
    band = bands.transform_filter(alt.datum.fate == LEARNS).mark_rect(color=ink.win)
    color = learns.then(alt.value(ink.scale)).otherwise(alt.value(ink.lost))
    size = alt.ExprRef(f"containerSize()[0] < {NARROW} ? 12 : 15")
    bold = {"baseline": "top", "fontSize": size, "fontWeight": "bold", "lineBreak": "\n", **halo(ink)}
    words = [
        side.encode(x=alt.X("at:Q"), y=alt.value(8), text="fate:N", color=color, stroke=ground)
        for side in beside(bands, "datum.is_last", dx=8, **bold)
    ]
    points = (
        alt.Chart(alt.NamedData(ENDS))
        .mark_point(size=90, opacity=1, strokeWidth=2)
        .encode(
            x=x,
            y=y,
            fill=learns.then(alt.value(ink.text)).otherwise(alt.value(ink.lost_area)),
            stroke=learns.then(alt.value(ink.text)).otherwise(alt.value(ink.lost)),
            shape=alt.Shape("fate:N", legend=None, scale=shape),
            tooltip=tips(
                ("fate:N", "the run"),
                ("text:N", "loss in the end"),
                ("zeros:Q", "gradients that became 0", ".1%"),
            ),
        )
    )
    band = band.encode(x=alt.X("x0:Q"), x2="x1:Q")
    return dressed(alt.layer(band, *words, points, height=number_hole("height", 500)), ink)


@lru_cache(maxsize=64)
def _rows(title: str, format_: Format) -> tuple[Row, ...]:
    rows = []
    for policy, word in POLICIES.items():
        line = f"{title}: {word}"
        if policy not in format_.overflows:
            missing = {"line": line, "came": "", "text": "–", "fate": MISSING}
            rows += [{**missing, "input": name} for name in INPUTS]
            continue
        tie = format_.max + format_.gap_beyond / 2
        values = format_.max, tie, math.nextafter(tie, math.inf), 2 * format_.max, math.inf
        results = format_.decode(format_.encode(np.array(values), overflow=policy)).tolist()
        for name, value, result in zip(INPUTS, values, results, strict=True):
            fate = NAN if math.isnan(result) else FINITE if math.isfinite(result) else INFINITE
            came = number(value, 7) + "+" * (name == INPUTS[2])
            rows.append({"line": line, "came": came, "text": number(result, 6), "fate": fate, "input": name})
    return tuple(rows)


def overflow_chart(formats: Mapping[str, Format], ink: Ink) -> Filled:
    """A line for each format and policy, a column for each input."""
    lines = [f"{title}: {word}" for title in formats for word in POLICIES.values()]
    return _table(ink).filled(
        {CELLS: by_column([row for title, one in formats.items() for row in _rows(title, one)])},
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
        tooltip=tips(("line:N", "format and policy"), ("came:N", "number"), ("text:N", "becomes")),
    )
    came = base.mark_text(dy=-7, size=12, color=ink.soft).encode(text="came:N")
    became = base.mark_text(
        dy=alt.ExprRef("datum.came === '' ? 0 : 7"), size=12, fontWeight="bold", color=ink.text
    ).encode(text="text:N")
    return (
        alt.layer(cells, came, became, height=number_hole("height", _AXIS_HEIGHT))
        .configure_axis(labelColor=ink.text, titleColor=ink.soft)
        .configure_view(stroke=None)
    )
